"""Namespaces, by whose labels the affinity of pods may choose other pods."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec import Raw

from spillway.kube import fields
from spillway.model.cluster import PodShape
from spillway.model.workloads import Namespace


class _Meta(fields.Part):
    name: str
    labels: dict[str, str] | None = None


class _Namespace(fields.Part):
    metadata: _Meta


_namespace = msgspec.json.Decoder(_Namespace)


def read(raw: Raw | bytes) -> tuple[tuple[str, str], Mapping[str, str]]:
    found = _namespace.decode(raw)
    return ("", found.metadata.name), found.metadata.labels or {}


def namespaces(found: Mapping[tuple[str, str], Mapping[str, str]], shapes: Iterable[PodShape]) -> Iterator[Namespace]:
    """By name, with the labels that a rule of some shape reads."""
    keys = {
        requirement.key
        for shape in shapes
        for term in (*shape.pod_affinity, *shape.pod_anti_affinity)
        for requirement in term.namespace_selector or ()
    }
    for (_, name), labels in sorted(found.items(), key=lambda one: one[0]):
        yield Namespace(name=name, labels={key: labels[key] for key in sorted(labels.keys() & keys)})
