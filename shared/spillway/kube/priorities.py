"""The order of groups that people gave to Cluster Autoscaler's priority expander, in a ConfigMap.

Source: cluster-autoscaler/expander/priority: YAML under `priorities`, a number to a list of regular expressions.
"""

from collections.abc import Iterator

import msgspec
from msgspec import Raw

from spillway.kube import fields
from spillway.model.workloads import PriorityList

NAME = "cluster-autoscaler-priority-expander"
NAMESPACE = "kube-system"


class _ConfigMap(fields.Part):
    metadata: fields.BareMeta
    data: dict[str, str] | None = None


_config_map = msgspec.json.Decoder(_ConfigMap)


def read(raw: Raw | bytes) -> tuple[tuple[str, str], tuple[PriorityList, ...] | None]:
    """The highest first; None of any other ConfigMap. Raises ValidationError, which says what is wrong."""
    found = _config_map.decode(raw)
    key = found.metadata.key
    text = (found.data or {}).get("priorities") if key == (NAMESPACE, NAME) else None
    return key, None if text is None else _priorities(text)


def _priorities(text: str) -> tuple[PriorityList, ...]:
    import yaml  # comes with kubernetes; few clusters have such a ConfigMap

    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise msgspec.ValidationError(f"it is no YAML: {' '.join(str(error).split())}") from error
    return tuple(sorted(_lists(document), key=lambda one: -one.priority))


def _lists(document: object) -> Iterator[PriorityList]:
    if not isinstance(document, dict):
        raise msgspec.ValidationError("a mapping of numbers to lists of patterns is wanted")
    for number, patterns in document.items():
        if not isinstance(number, int) or not isinstance(patterns, list) or not all(_is_text(p) for p in patterns):
            raise msgspec.ValidationError(f"priority {str(number)[:40]!r} is no number with a list of patterns")
        yield PriorityList(priority=number, patterns=tuple(patterns))


def _is_text(pattern: object) -> bool:
    """YAML can write half a character, which no JSON holds."""
    return isinstance(pattern, str) and pattern.isprintable()
