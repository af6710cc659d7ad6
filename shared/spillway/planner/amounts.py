"""Amounts as vectors over the plan's own dimensions: what the waiting pods ask for, and nothing else.

A host port is an amount of which every node has one. So that two addresses of one port do not collide and the
wildcard collides with all, each (protocol, port, address) is a dimension of its own, and the wildcard asks for all
of them (kube-scheduler's NodePorts does the same comparison pod by pod). So is a disk of which a node takes one pod. A
volume takes one of the attachments that its CSI driver has on a node. One that several pods share takes it once a node:
it is a dimension too, of which a room has 1 while the volume does not hang there.

What pods say of each other on one node is an amount, too, of which `planner.topology.hosts` knows the meaning: it hands
in the dimensions, and what shapes take of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from spillway.model.base import Resources
from spillway.model.cluster import HostPort, PodShape

Size = tuple[tuple[int, int], ...]
"""(dimension, amount above 0) by rising dimension."""


class Need(NamedTuple):
    """`each` are what every pod takes, as (dimension, amount above 0) by rising dimension. `once` are the volumes that pods
    share, of which the first one on a node takes an attachment: (the driver's dimension, the volume's own).

    `wants` are dimensions of which a node must have some left, though the pod takes none; `drains` what it takes, or
    brings where it is below 0, whether there is some left or not.
    """

    each: tuple[tuple[int, int], ...] = ()
    once: tuple[tuple[int, int], ...] = ()
    wants: tuple[int, ...] = ()
    drains: tuple[tuple[int, int], ...] = ()

    @property
    def alone(self) -> tuple[tuple[int, int], ...]:
        """What a pod takes of a node where no other shares its volumes."""
        amounts = Counter(dict(self.each)) + Counter(driver for driver, _ in self.once)
        return tuple(sorted(amounts.items()))

    def split(self, resources: int) -> tuple[Size, Need]:
        """The amounts of the first `resources` dimensions, and the manner: all else. A node holds the pod if it has room for
        both."""
        size = tuple([one for one in self.each if one[0] < resources])
        return size, Need(self.each[len(size) :], self.once, self.wants, self.drains)


NOTHING = Need()

ANY_ADDRESS = ("0.0.0.0", "")  # noqa: S104  all of the host; "::" is an address like any other to the scheduler
FIRST = ("cpu", "memory", "pods")
PODS = FIRST.index("pods")
UNLIMITED = 1_000_000_000  # where nothing names a limit
DEFAULT_MAX_PODS = 110  # kubelet's --max-pods, for a template that does not say

ACCELERATORS = frozenset({
    "nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "habana.ai/gaudi", "aws.amazon.com/neuron",
    "aws.amazon.com/neuroncore", "aws.amazon.com/neurondevice",
})  # fmt: skip


def has_accelerator(amounts: Resources) -> bool:
    return any(amounts.get(name, 0) > 0 for name in ACCELERATORS)


class Neighbours(Protocol):
    """Dimensions of what pods say of each other on one node, numbered from 0: see `planner.topology.hosts`."""

    @property
    def names(self) -> Sequence[str]: ...

    @property
    def fresh(self) -> Sequence[int]:
        """What an empty node has of each."""
        ...

    def need(self, shape_id: str) -> Need:
        """Of a pod that waits or runs."""
        ...

    def uncounted(self, shape_id: str) -> Iterable[tuple[int, int]]:
        """What of its need a pod that terminates takes no more."""
        ...


class Nobody:
    """Where no pod says anything of another."""

    names: tuple[str, ...] = ()
    fresh: tuple[int, ...] = ()

    def need(self, shape_id: str) -> Need:
        return NOTHING

    def uncounted(self, shape_id: str) -> Iterable[tuple[int, int]]:
        return ()


class Dimensions:
    """The resources, host ports and attachments that any of `shapes` asks for, and what they say of their `neighbours`.
    `names` are for people and index the vectors."""

    def __init__(self, shapes: Iterable[PodShape], neighbours: Neighbours | None = None) -> None:
        asked: set[str] = set()
        drivers: set[str] = set()
        shared: set[str] = set()
        disks: set[str] = set()
        addresses: dict[tuple[str, int], set[str]] = defaultdict(set)
        for shape in shapes:
            asked |= shape.requests.keys()
            drivers |= {volume.driver for volume in shape.volumes if volume.driver}
            shared |= {volume.shared for volume in shape.volumes if volume.driver and volume.shared}
            disks |= {volume.disk for volume in shape.volumes if volume.disk}
            for port in shape.host_ports:
                addresses[port.protocol, port.port].add(_address(port))
        self.resources = (*FIRST, *sorted(asked.difference(FIRST)))
        ports = [(*key, address) for key in sorted(addresses) for address in sorted(addresses[key] | {""})]
        self._ports = {port: len(self.resources) + index for index, port in enumerate(ports)}
        first = len(self.resources) + len(ports)
        self._drivers = {driver: first + index for index, driver in enumerate(sorted(drivers))}
        first += len(self._drivers)
        self._shared = {identity: first + index for index, identity in enumerate(sorted(shared))}
        first += len(self._shared)
        self._disks = {disk: first + index for index, disk in enumerate(sorted(disks))}
        self._neighbours: Neighbours = neighbours or Nobody()
        self.first_neighbour = first + len(self._disks)
        self.names = (
            *self.resources,
            *(f"host port {number}/{protocol}" for protocol, number, _ in ports),
            *(f"volumes of {driver}" for driver in self._drivers),
            *(f"volume {identity}" for identity in self._shared),
            *(f"disk {disk} for one pod of a node" for disk in self._disks),
            *self._neighbours.names,
        )

    @property
    def accelerators(self) -> frozenset[int]:
        return frozenset(index for index, name in enumerate(self.names) if name in ACCELERATORS)

    def is_neighbour(self, dimension: int) -> bool:
        """What pods say of each other: there may be less than none of it."""
        return dimension >= self.first_neighbour

    def need(self, shape: PodShape) -> Need:
        once = {
            (self._drivers[v.driver], self._shared[v.shared]) for v in shape.volumes if v.driver and v.shared in self._shared
        }
        attached = Counter(self._drivers.get(v.driver, -1) for v in shape.volumes if v.shared not in self._shared)
        amounts = {**shape.requests, "pods": shape.requests.get("pods") or 1}
        found = [(index, amounts.get(name, 0)) for index, name in enumerate(self.resources)]
        found += [(index, 1) for index in sorted(self._port_indices(shape))]
        found += sorted((index, number) for index, number in attached.items() if index >= 0)
        found += [(self._disks[disk], 1) for disk in sorted({v.disk for v in shape.volumes} & self._disks.keys())]
        each = tuple((index, amount) for index, amount in found if amount > 0)
        beside, first = self._neighbours.need(shape.id), self.first_neighbour
        if beside == NOTHING:
            return Need(each, tuple(sorted(once)))
        return Need(
            (*each, *((first + index, amount) for index, amount in beside.each)),
            tuple(sorted(once)),
            tuple(first + index for index in beside.wants),
            tuple((first + index, amount) for index, amount in beside.drains),
        )

    def uncounted(self, shape_id: str) -> Iterable[tuple[int, int]]:
        """What of its need a pod that terminates takes no more, as (dimension, amount)."""
        return ((self.first_neighbour + index, amount) for index, amount in self._neighbours.uncounted(shape_id))

    def room(self, allocatable: Resources, attachments: Mapping[str, int]) -> list[int]:
        """`attachments` are what each CSI driver has left."""
        found = [allocatable.get(name, 0) for name in self.resources] + [1] * len(self._ports)
        found += [attachments.get(driver, UNLIMITED) for driver in self._drivers]
        return found + [1] * (len(self._shared) + len(self._disks)) + list(self._neighbours.fresh)

    def shared_elsewhere(self, shape: PodShape) -> Iterable[tuple[int, str]]:
        """(the driver's dimension, identity) of those that only pods share which do not wait: `need` counts them for each."""
        found = ((self._drivers.get(v.driver, -1), v.shared) for v in shape.volumes if v.shared not in self._shared)
        return ((index, identity) for index, identity in found if index >= 0 and identity)

    def _port_indices(self, shape: PodShape) -> set[int]:
        """Also of shapes that do not wait: an address that no waiting pod names meets the wildcard alone."""
        found = set()
        for port in shape.host_ports:
            key = (port.protocol, port.port)
            if address := _address(port):
                found |= {self._ports.get((*key, address), self._ports.get((*key, ""), -1))} - {-1}
            else:
                found |= {index for other, index in self._ports.items() if other[:2] == key}
        return found


def _address(port: HostPort) -> str:
    """ "" for all addresses of the host."""
    return "" if port.ip in ANY_ADDRESS else port.ip


def subtract(room: list[int], need: Need, times: int) -> None:
    """`times` is above 0."""
    for dimension, amount in need.each:
        room[dimension] -= amount * times
    for driver, volume in need.once:
        room[driver] -= room[volume]
        room[volume] = 0
    for dimension, amount in need.drains:
        room[dimension] -= amount * times


def most(room: list[int], need: Need, wanted: int) -> int:
    """How many of `wanted` equal pods fit into `room`."""
    each, once, wants, _ = need
    for dimension in wants:
        if room[dimension] < 1:
            return 0
    if once:
        room = list(room)
        for driver, volume in once:
            if room[volume]:
                if room[driver] < 1:
                    return 0
                room[driver] -= 1
    for dimension, amount in each:
        fit = room[dimension] // amount
        if fit < wanted:
            if fit <= 0:
                return 0
            wanted = fit
    return wanted
