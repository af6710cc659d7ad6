"""Figures: how fast, how cheap, how small. `make bench` prints one JSON object a line; nothing here is a timed test."""
