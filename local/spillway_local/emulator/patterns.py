"""EventBridge's and Lambda's event patterns, as far as template.yaml uses them: names, prefixes, nesting."""

from collections.abc import Mapping
from typing import Any


def matches(pattern: Mapping[str, Any], event: Any) -> bool:
    """Every key of the pattern holds; a list is a choice. Raises ValueError on an operator that is not known here."""
    return all(isinstance(event, Mapping) and key in event and _holds(wanted, event[key]) for key, wanted in pattern.items())


def _holds(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, Mapping):
        return matches(wanted, value)
    return any(_is(choice, value) for choice in wanted)


def _is(choice: Any, value: Any) -> bool:
    if not isinstance(choice, Mapping):
        return bool(choice == value)
    if set(choice) != {"prefix"}:
        raise ValueError(f"event pattern: the local world knows `prefix` only, not {', '.join(choice)}")
    return isinstance(value, str) and value.startswith(choice["prefix"])
