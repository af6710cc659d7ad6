"""Which instance of the fleet each node is. What is not clear is nobody's: it is used for fit and never touched."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from spillway.model.cluster import Machine
from spillway.model.fleet import Instance, NodeGroup
from spillway.model.reason import Code, Reason

_NAMED = 5
_NOT_TOUCHED = "pods may go there, but it is never drained or ended"


class Claimant(Protocol):
    """A node, and what it says of itself: its machine, or else names that its instance may bear."""

    @property
    def name(self) -> str: ...

    @property
    def machine(self) -> Machine | None: ...

    @property
    def dns_names(self) -> tuple[str, ...]: ...


class Matched(NamedTuple):
    """`machines` by node, without those that are not clear. `joined` are instances of which some node speaks, whether we
    believe it or not: none of them is still to come."""

    machines: Mapping[str, Machine]
    joined: frozenset[str]
    warnings: tuple[Reason, ...]


class _Place(NamedTuple):
    region: str
    instance: Instance


def matched(nodes: Iterable[Claimant], groups: Iterable[NodeGroup]) -> Matched:
    """A node that does not say what it is, is the one instance that bears its name. No two nodes are one instance."""
    fleet = [_Place(group.region, instance) for group in groups for instance in (*group.instances, *group.warm)]
    by_id = {place.instance.id: place for place in fleet}
    by_name = _by_name(fleet)
    found: list[tuple[str, Machine]] = []
    warnings: list[Reason] = []
    nameless = []
    for node in nodes:
        machine = node.machine
        if machine is None and node.dns_names:
            places = _places(node, by_id, by_name)
            if len(places) == 1:
                machine = _machine(places[0])
            elif places:
                ids = " and ".join(place.instance.id for place in places)
                warnings.append(_unclear(node.name, f"bears the name of {ids}, and has no spec.providerID to tell which it is"))
            else:
                nameless.append(node.name)
        if machine is not None:
            found.append((node.name, machine))
    joined = Counter(machine.instance_id for _, machine in found)
    known = {}
    for name, machine in found:
        if problem := _problem(machine, by_id, joined):
            warnings.append(_unclear(name, problem))
        else:
            known[name] = machine
    return Matched(known, frozenset(joined), (*warnings, *_no_provider_id(sorted(nameless))))


def _by_name(fleet: Iterable[_Place]) -> Mapping[str, list[_Place]]:
    """By private DNS name, whole and without its domain, as a kubelet may call its node either."""
    found: dict[str, list[_Place]] = defaultdict(list)
    for place in fleet:
        if whole := place.instance.private_dns:
            for name in {whole, whole.partition(".")[0]}:
                found[name].append(place)
    return found


def _places(node: Claimant, by_id: Mapping[str, _Place], by_name: Mapping[str, list[_Place]]) -> list[_Place]:
    """Those that bear one of the node's names, by id. A name may also be, or begin with, the instance's id."""
    found = {place.instance.id: place for name in node.dns_names for place in by_name.get(name, ())}
    for name in node.dns_names:
        if place := by_id.get(name.partition(".")[0]):
            found[place.instance.id] = place
    return [found[key] for key in sorted(found)]


def _machine(place: _Place) -> Machine:
    return Machine(region=place.region, zone=place.instance.zone, instance_id=place.instance.id)


def _problem(machine: Machine, by_id: Mapping[str, _Place], joined: Mapping[str, int]) -> str:
    """Why the node is not believed; "" when it is. An instance that the fleet does not know is somebody else's."""
    name, place = machine.instance_id, by_id.get(machine.instance_id)
    if joined[name] > 1:
        return f"says that it is instance {name}, and so do {joined[name] - 1} others"
    if place and (place.region, place.instance.zone) != (machine.region, machine.zone):
        return f"says that it is instance {name} in zone {machine.zone}, which runs in {place.instance.zone}"
    return ""


def _unclear(node: str, problem: str) -> Reason:
    return Reason(code=Code.MACHINE_UNCLEAR, text=f"node {node} {problem}: {_NOT_TOUCHED}")


def _no_provider_id(names: Sequence[str]) -> Iterator[Reason]:
    """One warning for all of them: a rack of physical nodes is not news of its own, node by node."""
    if names:
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        yield Reason(
            code=Code.NO_PROVIDER_ID,
            text=f"no spec.providerID on node {', '.join(names[:_NAMED])}{more}: {_NOT_TOUCHED}; "
            "set kubelet's --provider-id=aws:///<zone>/<instance>",
        )
