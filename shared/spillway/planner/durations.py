"""Durations as Go writes them, which annotations of other autoscalers carry: `15m`, `1h30m`, `1.5h`."""

import re

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST_S = 2**63 / 1e9  # Go counts nanoseconds in 64 bits
_LONGEST_TEXT = 100  # characters; nobody writes one so long, and matching takes longer the longer it is
_PART = r"([0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(ns|us|µs|μs|ms|s|m|h)"
_WHOLE = re.compile(rf"\+?(?:{_PART})+")
_EACH = re.compile(_PART)


def duration_s(text: str) -> float | None:
    """Seconds; None for what is no duration, too long for one, or below 0. Source: Go's time.ParseDuration."""
    if text in ("0", "+0", "-0"):
        return 0.0
    if len(text) > _LONGEST_TEXT or not _WHOLE.fullmatch(text):
        return None
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _EACH.findall(text))
    return seconds if seconds < _LONGEST_S else None
