"""What pods would rather have: kept where that costs nothing, after all have their places. See docs/fit.md, "Preferences"."""
