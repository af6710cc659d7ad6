"""The API server: the only package that imports kubernetes, and only when a call is made."""
