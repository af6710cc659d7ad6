"""Rules between pods, tied to the counts that they read: one tally for all shapes that read the same."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from spillway.model.cluster import PodShape
from spillway.planner.topology.bonds import Apart, Beside, Bonds, Even
from spillway.planner.topology.rules import Rules
from spillway.planner.topology.sites import Marks
from spillway.planner.topology.tallies import Company, Domains, Evenness, Tally
from spillway.planner.topology.terms import Near, Shapes, Spread

Counted = Tally | Company
One = TypeVar("One", Tally, Company)


class Ties:
    """`counted` and `spread` are the tallies in which a shape counts, by its id, `bonds` what binds it: None of either for a
    shape of which no rule speaks. `domains` are those that spreads are over."""

    def __init__(self, rules: Rules, shapes: Shapes, marks: Marks, waiting: Sequence[PodShape]) -> None:
        self.counted: dict[str, list[Counted]] = defaultdict(list)
        self.spread: dict[str, list[Evenness]] = defaultdict(list)
        self.domains: dict[Hashable, Domains] = {}
        self._rules, self._shapes, self._marks = rules, shapes, marks
        self._ids = frozenset(shape.id for shape in waiting)
        self._numbers = {key: number for number, key in enumerate(marks.keys)}
        self._tallies: dict[Hashable, Tally] = {}
        self._companies: dict[Near, Company] = {}
        self._evennesses: dict[Hashable, Evenness] = {}
        self.bonds = {shape.id: self._tie(shape) for shape in waiting if rules.touch(shape.id)}
        for shape, bonds in self.bonds.items():
            bonds.is_mixed = self._is_mixed(shape, bonds)

    def _tie(self, shape: PodShape) -> Bonds:
        found = Bonds()
        for rule in self._rules.avoids.get(shape.id, ()):
            pods = self._shapes.included(rule.pods)
            contested = not self._ids.isdisjoint(pods)
            found.apart.append(Apart(rule, self._tally(rule.key, pods), shape.id in pods, theirs=False, contested=contested))
        for rule in self._rules.avoided.get(shape.id, ()):
            owners = frozenset(self._rules.owners[rule])
            contested = not self._ids.isdisjoint(owners)
            found.apart.append(Apart(rule, self._tally(rule.key, owners), shape.id in owners, theirs=True, contested=contested))
        for near in self._rules.beside.get(shape.id, ()):
            found.beside.append(Beside(near, self._company(near), near.include(shape)))
        for spread in self._rules.spreads.get(shape.id, ()):
            found.even.append(Even(spread, self.evenness(spread, shape), spread.pods.include(shape)))
        return found

    def _is_mixed(self, shape: str, bonds: Bonds) -> bool:
        own = {id(even.evenness) for even in bonds.even}
        others = self._ids & frozenset[str]().union(*(self._shapes.included(even.rule.pods) for even in bonds.even)) - {shape}
        return bool(others) or any(id(one) not in own for one in self.spread.get(shape, ()))

    def _tally(self, key: str, pods: frozenset[str]) -> Tally:
        if (key, pods) not in self._tallies:
            self._tallies[key, pods] = self._count(Tally(self._numbers[key]), pods)
        return self._tallies[key, pods]

    def _company(self, near: Near) -> Company:
        if near not in self._companies:
            company = Company(tuple(self._numbers[key] for key in near.keys))
            self._companies[near] = self._count(company, self._shapes.included(*near.pods))
        return self._companies[near]

    def _count(self, tally: One, pods: Iterable[str]) -> One:
        for shape in pods:
            self.counted[shape].append(tally)
        return tally

    def evenness(self, spread: Spread, shape: PodShape) -> Evenness:
        policies = self._marks.policies(spread, shape)
        where = (spread.key, spread.keys, policies)
        if where not in self.domains:
            self.domains[where] = Domains(
                self._numbers[spread.key], lambda mark: self._marks.counted(mark, spread.keys, policies)
            )
        pods = self._shapes.included(spread.pods)
        if (where, pods, spread.max_skew) not in self._evennesses:
            found = self._evennesses[where, pods, spread.max_skew] = Evenness(self.domains[where], spread.max_skew)
            for one in pods:
                self.spread[one].append(found)
        return self._evennesses[where, pods, spread.max_skew]
