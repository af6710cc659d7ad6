"""What each waiting shape says of others, and others of it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from spillway.model.cluster import PodShape
from spillway.planner.topology.terms import HOSTNAME, Avoid, Near, Shapes, Spread, Terms

Rule = TypeVar("Rule")


@dataclass
class Rules:
    """All by shape's id. `owners` are all that have a rule, also those that run. What a shape wants to be `beside` is dealt as
    one, which is `near`."""

    avoids: dict[str, list[Avoid]] = field(default_factory=lambda: defaultdict(list))
    avoided: dict[str, list[Avoid]] = field(default_factory=lambda: defaultdict(list))
    beside: dict[str, list[Near]] = field(default_factory=dict)
    near: dict[str, Near] = field(default_factory=dict)
    looked_for: dict[str, list[Near]] = field(default_factory=lambda: defaultdict(list))
    spreads: dict[str, list[Spread]] = field(default_factory=lambda: defaultdict(list))
    owners: dict[Avoid, set[str]] = field(default_factory=lambda: defaultdict(set))

    @property
    def keys(self) -> list[str]:
        """That any waiting pod's rule, or any rule about one, reads."""
        found = {rule.key for rules in (self.avoids, self.avoided) for mine in rules.values() for rule in mine}
        found |= {key for near in self.near.values() for key in near.keys}
        found |= {key for mine in self.spreads.values() for spread in mine for key in spread.keys}
        return sorted(found)

    def touch(self, shape: str) -> bool:
        """Whether the shape has such a rule, or a rule speaks of it."""
        return any(rules.get(shape) for rules in (self.avoids, self.avoided, self.near, self.looked_for, self.spreads))

    def over_domains(self) -> "Rules":
        """Those on keys that many nodes share."""

        def shared(rules: dict[str, list[Avoid]]) -> dict[str, list[Avoid]]:
            return _kept(rules, lambda rule: rule.key != HOSTNAME)

        return Rules(
            avoids=shared(self.avoids),
            avoided=shared(self.avoided),
            near={shape: near for shape, near in self.near.items() if near.keys != (HOSTNAME,)},
            looked_for=_kept(self.looked_for, lambda near: near.keys != (HOSTNAME,)),
            spreads=_kept(self.spreads, lambda spread: spread.key != HOSTNAME),
            owners={rule: shapes for rule, shapes in self.owners.items() if rule.key != HOSTNAME},
        )


def _kept(rules: dict[str, list[Rule]], test: Callable[[Rule], bool]) -> dict[str, list[Rule]]:
    found = {shape: [rule for rule in mine if test(rule)] for shape, mine in rules.items()}
    return defaultdict(list, {shape: mine for shape, mine in found.items() if mine})


def rules_of(waiting: Sequence[PodShape], everyone: Iterable[PodShape], terms: Terms, shapes: Shapes) -> Rules:
    """Rules that no waiting pod has, and that are about none, are left out."""
    found = Rules()
    ids = frozenset(shape.id for shape in waiting)
    _avoid(found, ids, everyone, terms, shapes)
    for shape in waiting:
        if near := terms.near(shape):
            found.beside[shape.id], found.near[shape.id] = terms.beside(shape), near
        if spreads := terms.spreads(shape):
            found.spreads[shape.id] = spreads
    for near in dict.fromkeys(found.near.values()):
        for one in shapes.included(*near.pods) & ids:
            found.looked_for[one].append(near)
    return found


def _avoid(found: Rules, waiting: frozenset[str], everyone: Iterable[PodShape], terms: Terms, shapes: Shapes) -> None:
    owners: dict[Avoid, set[str]] = defaultdict(set)
    for shape in everyone:
        for rule in terms.avoided(shape):
            owners[rule].add(shape.id)
            if shape.id in waiting:
                found.avoids[shape.id].append(rule)
    for rule, having in owners.items():
        avoided = shapes.included(rule.pods) & waiting
        if avoided or not waiting.isdisjoint(having):
            found.owners[rule] = having
        for one in avoided:
            found.avoided[one].append(rule)
