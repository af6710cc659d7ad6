"""How large a volume drivers can still make, and for which nodes (CSIStorageCapacity).

Source: hasEnoughCapacity in plugins/volumebinding/binder.go of kube-scheduler 1.37; KEP-1472; k8s.io/api/storage/v1/types.go.
"""

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Raw

from spillway.kube import fields
from spillway.kube.scheduling import requirements
from spillway.kube.storage import Terms
from spillway.kube.volume_terms import alternatives
from spillway.model import quantity
from spillway.model.selector import NodeSelectorTerm, Requirement

if TYPE_CHECKING:  # which registers the reader of this module
    from spillway.kube.objects import Objects

KIND = "CSIStorageCapacity"


class _Capacity(fields.Part):
    metadata: fields.Meta
    storage_class_name: str = ""
    node_topology: fields.LabelSelector | None = None
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None


class SeenCapacity(NamedTuple):
    """`size` is the largest volume of the class that can be made for nodes of `labels`, in bytes."""

    storage_class: str
    labels: tuple[Requirement, ...]
    size: Fraction


_capacity = msgspec.json.Decoder(_Capacity)


def read(raw: Raw | bytes) -> tuple[tuple[str, str], SeenCapacity | None]:
    """None for one that says of no node how much there is."""
    found = _capacity.decode(raw)
    labels = requirements(found.node_topology)
    most = found.capacity if found.maximum_volume_size is None else found.maximum_volume_size
    if labels is None or most is None:
        return found.metadata.key, None
    try:
        return found.metadata.key, SeenCapacity(found.storage_class_name, labels, quantity.parse(most))
    except quantity.QuantityError as error:
        raise msgspec.ValidationError(f"capacity: {error}") from error


class Capacities:
    """Of all classes. Where the list was not read, nobody knows, and it is not asked."""

    def __init__(self, objects: "Objects") -> None:
        self._is_read = objects.has(KIND)
        self._drivers = frozenset(name for (_, name), one in objects.of("CSIDriver").items() if one.tells_capacity)
        self._of_class: dict[str, list[SeenCapacity]] = defaultdict(list)
        for one in objects.of(KIND).values():
            self._of_class[one.storage_class].append(one)
        self._known: dict[tuple[str, Fraction], Terms | None] = {}

    def terms(self, driver: str, storage_class: str, size: Fraction) -> Terms | None:
        """Nodes for which the driver can make a volume of that size; None: any."""
        if not self._is_read or driver not in self._drivers:
            return None
        key = storage_class, size
        if key not in self._known:
            able = (one.labels for one in self._of_class.get(storage_class, ()) if one.size >= size)
            self._known[key] = _together(able)
        return self._known[key]


def _together(selectors: Iterable[tuple[Requirement, ...]]) -> Terms | None:
    """Alternatives. Those that name one label are one term: a local driver has a capacity for each node."""
    values: dict[str, set[str]] = defaultdict(set)
    others = list[Terms | None]()
    for labels in selectors:
        if not labels:
            return None
        if len(labels) == 1 and labels[0].operator == "In":
            values[labels[0].key] |= set(labels[0].values)
        else:
            others.append((NodeSelectorTerm(expressions=labels),))
    for key, named in values.items():
        one = Requirement(key=key, operator="In", values=tuple(sorted(named)))
        others.append((NodeSelectorTerm(expressions=(one,)),))
    return alternatives(others)
