"""What Spillway saw, decided and remembers: frozen values, no input or output."""
