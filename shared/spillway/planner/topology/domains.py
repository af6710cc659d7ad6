"""Lots that rules between pods keep to domains, split so that each part fits into its own: steps a lot and domain, never a pod.

A domain is a value of a topology key that many nodes share: a zone, a capacity type, any label. Anti-affinity keeps a lot out
of domains, one pod to a domain where it avoids its own kind; affinity keeps it in those where its like is, the first of
a kind choosing one for all; a spread deals it to the emptiest. What a part takes is counted before the next lot is split,
those that others look for first.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property

from spillway.model.cluster import PodShape
from spillway.planner.demand import Lot
from spillway.planner.fit import OUTSIDE, Fit, Within
from spillway.planner.parcel import Parcel
from spillway.planner.rules.base import Host
from spillway.planner.topology.census import Census, all_there, counts, lasting
from spillway.planner.topology.levels import fill
from spillway.planner.topology.reach import Reach, Taken
from spillway.planner.topology.rules import Rules
from spillway.planner.topology.terms import HOSTNAME, Avoid, Near, Shapes, Spread, where_of

Cuts = Mapping[tuple[int, str, str], int]
"""By lot, key and value: what the domain took at most when it was tried."""

_DEEPEST = 4  # who looks for whom who looks for whom


class Domains:
    """The domains of one plan. `rules` are what `rules_of` found; a `Splitting` is one try."""

    def __init__(self, rules: Rules, lots: Sequence[Lot], shapes: Shapes, census: Census, reach: Reach, fit: Fit) -> None:
        self.rules, self.lots, self.shapes, self.census, self.reach, self.fit = rules, lots, shapes, census, reach, fit

    @cached_property
    def order(self) -> list[Lot]:
        """Those that others look for first, then those that avoid others, else as in the queue."""
        depth = dict.fromkeys((lot.shape.id for lot in self.lots), 0)
        for _ in range(_DEEPEST):
            for shape, near in self.rules.near.items():
                targets = [one for one in self.shapes.included(*near.pods) if one != shape and self.rules.near.get(one) != near]
                depth[shape] = max(
                    [depth[shape], *(depth[one] + 1 for one in targets if one in depth and depth[one] < _DEEPEST)]
                )
        touched = [lot for lot in self.lots if self.rules.touch(lot.shape.id)]
        return sorted(touched, key=lambda lot: (depth[lot.shape.id], lot.shape.id not in self.rules.avoids, lot.number))

    @cached_property
    def waiting(self) -> Mapping[str, PodShape]:
        """By id."""
        return {lot.shape.id: lot.shape for lot in self.lots}

    @cached_property
    def contested(self) -> frozenset[Avoid]:
        """Rules that avoid pods which wait, too: who has one must say where it goes."""
        return frozenset(rule for mine in self.rules.avoided.values() for rule in mine)

    @cached_property
    def _turns(self) -> tuple[Mapping[int, int], Mapping[Avoid, int]]:
        """Where in the order each lot is, by number, and the last one that has each rule."""
        turns = {lot.number: turn for turn, lot in enumerate(self.order)}
        last = {rule: turns[lot.number] for lot in self.order for rule in self.rules.avoids.get(lot.shape.id, ())}
        return turns, last

    def turn(self, lot: Lot) -> int:
        """Where in the order the lot is dealt; those that no such rule touches come last."""
        return self._turns[0].get(lot.number, len(self.order))

    def comes_later(self, rule: Avoid, lot: Lot) -> bool:
        """Whether one that has the rule is split after the lot that it avoids, which must say where it goes, then."""
        turns, last = self._turns
        return last.get(rule, -1) > turns[lot.number]

    @cached_property
    def by_near(self) -> Mapping[Near, list[Lot]]:
        found: dict[Near, list[Lot]] = defaultdict(list)
        for lot in self.order:
            if lot.shape.id in self.rules.near:
                found[self.rules.near[lot.shape.id]].append(lot)
        return found


class Splitting:
    """One try: what is there, and what was dealt so far."""

    def __init__(self, domains: Domains, cuts: Cuts, born: Sequence[Host]) -> None:
        """`born` are nodes that were bought when it was tried: they are domains from now on."""
        self._all, self._cuts, self._born = domains, cuts, born
        self._matches: dict[Avoid, Counter[str]] = {}
        self._owners: dict[Avoid, Counter[str]] = {}
        self._near: dict[tuple[Near, str], Counter[str]] = {}
        self._even: dict[tuple[Spread, Hashable], Counter[str]] = {}
        self._dealt: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._parts: dict[int, list[tuple[dict[str, str], int]]] = {}
        self._within: dict[int, tuple[Within, ...]] = {}

    def parcels(self) -> list[Parcel]:
        """In queue order; a lot that may go nowhere has none."""
        for lot in self._all.order:
            self._split(lot)
        found = []
        for lot in self._all.lots:
            for domains, pods in self._parts.get(lot.number, [({}, lot.asked)]):
                if pods:
                    kind = self._kind(lot, domains)
                    found.append(Parcel(((lot, 1),), pods, lot.need, kind, tuple(sorted(domains.items()))))
        return found

    def _kind(self, lot: Lot, domains: Mapping[str, str]) -> int:
        within = [Within(key, frozenset({value})) for key, value in sorted(domains.items())]
        return self._all.fit.kept_to(lot.kind, *self._within.get(lot.number, ()), *within)

    def _split(self, lot: Lot) -> None:
        rules, shape = self._all.rules, lot.shape.id
        within = [Within(rule.key, frozenset(+self.matches(rule)), False) for rule in rules.avoids.get(shape, ())]
        within += [Within(rule.key, frozenset(+self.owners(rule)), False) for rule in rules.avoided.get(shape, ())]
        self._within[lot.number] = tuple(dict.fromkeys(one for one in within if one.values))
        self._parts[lot.number] = [({}, lot.asked)]
        near = rules.near.get(shape)
        if near and not self._join(lot, near):
            self._parts[lot.number] = []
            return
        alone: dict[str, list[Avoid]] = defaultdict(list)
        for rule in rules.avoids.get(shape, ()):
            if rule in rules.avoided.get(shape, ()):
                alone[rule.key].append(rule)
        contested = {rule.key for rule in rules.avoids.get(shape, ()) if rule in self._all.contested}
        contested |= {rule.key for rule in rules.avoided.get(shape, ()) if self._all.comes_later(rule, lot)}
        spreads: dict[str, list[Spread]] = defaultdict(list)
        for spread in rules.spreads.get(shape, ()):
            spreads[spread.key].append(spread)
        for key in sorted({*alone, *contested, *spreads}):
            before, self._parts[lot.number] = self._parts[lot.number], []
            for domains, pods in before:
                dealt = self._deal(lot, key, domains, pods, spreads[key], alone[key])
                for value, number in dealt.items():
                    if number:
                        if value != OUTSIDE:
                            self._book(lot, {key: value}, number)
                        self._parts[lot.number].append(({**domains, key: value}, number))
        self._settle_in(lot)

    def _settle_in(self, lot: Lot) -> None:
        """What is kept to one value of a key is in that domain, and counts there."""
        one = {within.key: next(iter(within.values)) for within in self._within[lot.number] if within.is_one}
        for number, (domains, pods) in enumerate(self._parts[lot.number]):
            more = {key: value for key, value in one.items() if key not in domains}
            self._book(lot, more, pods)
            self._parts[lot.number][number] = ({**domains, **more}, pods)

    def _join(self, lot: Lot, near: Near) -> bool:
        """Keeps the lot to where its like is; False when it is nowhere and may not be the first."""
        keys = [key for key in near.keys if key != HOSTNAME]
        if all(+self.near(near, key) for key in keys):
            within = [Within(key, frozenset(+self.near(near, key))) for key in keys]
            self._within[lot.number] = (*self._within[lot.number], *within)
            return True
        for first in (*self._sought(lot, near), *([lot] if near.include(lot.shape) else [])):
            if chosen := self._chosen(first, near, keys):
                self._begin(lot, first, chosen)
                return True
        return False

    def _chosen(self, first: Lot, near: Near, keys: Sequence[str]) -> dict[str, str]:
        """A value of each key, {} where none will do for a pod that others are to be beside."""
        chosen: dict[str, str] = {}
        for key in keys:
            value = self._choose(first, near, key, chosen)
            if value is None:
                return {}
            chosen[key] = value
        return chosen

    def _begin(self, lot: Lot, first: Lot, chosen: Mapping[str, str]) -> None:
        """All of the lot goes to the domains where the first is to be, which is one of its own or one of another lot."""
        if first is not lot:
            self._pin(first, chosen)
        within = [Within(key, frozenset({value})) for key, value in chosen.items()]
        self._within[lot.number] = (*self._within[lot.number], *within)

    def _sought(self, lot: Lot, near: Near) -> list[Lot]:
        """Lots that wait and are free to choose their domain for the sake of those that look for them."""
        wanted = self._all.shapes.included(*near.pods)
        found = (one for one in self._all.order if one is not lot and one.shape.id in wanted)
        return [one for one in found if any(not domains for domains, _ in self._parts.get(one.number, ()))]

    def _pin(self, lot: Lot, domains: Mapping[str, str]) -> None:
        """One pod of it, with which the others may be."""
        parts = self._parts[lot.number]
        index = next(index for index, (kept, _) in enumerate(parts) if not kept)
        parts[index] = ({}, parts[index][1] - 1)
        parts.insert(0, (dict(domains), 1))
        self._book(lot, domains, 1)

    def _choose(self, first: Lot, near: Near, key: str, chosen: Mapping[str, str]) -> str | None:
        """The domain that serves most of those that must be together, at the least price."""
        best: tuple[tuple[int, float, str], str] | None = None
        for value in self._all.reach.values[key]:
            domains = {**chosen, key: value}
            if not self._takes(first, key, domains).pods or self._cuts.get((first.number, key, value)) == 0:
                continue
            served, price = 0, 0.0
            for lot in self._all.by_near[near]:
                taken = self._takes(lot, key, domains)
                now = min(lot.asked, taken.now)
                new = min(lot.asked - now, taken.new)
                served, price = served + now + new, price + new * taken.price
            score = (-served, price, value)
            if best is None or score < best[0]:
                best = score, value
        return best[1] if best else None

    def _takes(self, lot: Lot, key: str, domains: Mapping[str, str]) -> Taken:
        return self._all.reach.of(self._kind(lot, domains), lot.need, key, domains[key])

    def _deal(
        self, lot: Lot, key: str, domains: Mapping[str, str], pods: int, spreads: Sequence[Spread], alone: Sequence[Avoid]
    ) -> dict[str, int]:
        """How many of the pods go to each value of the key."""
        values = self._all.reach.values[key] if spreads else [*self._all.reach.values[key], OUTSIDE]
        taken = {value: self._takes(lot, key, {**domains, key: value}) for value in values}
        room = {value: min(one.pods, self._cuts.get((lot.number, key, value), one.pods)) for value, one in taken.items()}
        for rule in alone:
            there = self.matches(rule)
            room = {value: min(1 - min(1, there[value]), one) if value != OUTSIDE else one for value, one in room.items()}
        for spread in spreads:
            room = self._evenly(lot, spread, room, pods)
        found: dict[str, int] = {}
        for value in sorted(room, key=lambda value: (-taken[value].now if value in taken else 0, value)):
            found[value] = min(pods, room[value])
            pods -= found[value]
        return found

    def _evenly(self, lot: Lot, spread: Spread, room: Mapping[str, int], pods: int) -> dict[str, int]:
        """Domains that no node has yet are none until one comes: the smallest are left out where that serves more."""
        present = self.even(spread, lot.shape)
        new = sorted((value for value in room if value not in present and room[value]), key=lambda value: (-room[value], value))
        skew = spread.max_skew if spread.pods.include(lot.shape) else spread.max_skew + 1
        best: dict[str, int] = {}
        for number in range(len(new), -1, -1):
            there = {**present, **dict.fromkeys(new[:number], 0)}
            floor = 0 if len(there) < spread.min_domains else None
            if spread.pods.include(lot.shape):
                found = fill(there, {value: room.get(value, 0) for value in there}, pods, skew, floor)
            else:
                least = min(there.values(), default=0) if floor is None else floor
                found = {value: room.get(value, 0) for value in there if there[value] - least <= spread.max_skew}
            if not best or sum(found.values()) > sum(best.values()):
                best = found
            if sum(best.values()) >= pods:
                break
        return best

    def _book(self, lot: Lot, domains: Mapping[str, str], pods: int) -> None:
        """What goes to these domains counts for all that is dealt after it."""
        shape, rules = lot.shape, self._all.rules
        for key, value in domains.items():
            for rule in rules.avoided.get(shape.id, ()):
                self.matches(rule)[value] += pods * (rule.key == key)
            for rule in rules.avoids.get(shape.id, ()):
                self.owners(rule)[value] += pods * (rule.key == key)
            for near in rules.looked_for.get(shape.id, ()):
                if key in near.keys:
                    self.near(near, key)[value] += pods
            self._book_evenly(shape, key, value, pods)
            self._dealt[shape.id, key][value] += pods

    def _book_evenly(self, shape: PodShape, key: str, value: str, pods: int) -> None:
        """A domain that no node has yet is one for those alone that go to the same nodes."""
        for (spread, where), present in self._even.items():
            counted = spread.key == key and shape.id in self._all.shapes.included(spread.pods)
            if counted and (value in present or where == where_of(spread, shape)):
                present[value] += pods

    def matches(self, rule: Avoid) -> Counter[str]:
        """Pods that the rule avoids, by value."""
        if rule not in self._matches:
            self._matches[rule] = self._there(rule.key, self._all.shapes.included(rule.pods))
        return self._matches[rule]

    def owners(self, rule: Avoid) -> Counter[str]:
        """Pods that have the rule, by value."""
        if rule not in self._owners:
            self._owners[rule] = self._there(rule.key, frozenset(self._all.rules.owners[rule]))
        return self._owners[rule]

    def near(self, near: Near, key: str) -> Counter[str]:
        """Pods that the rule looks for, by value of the key."""
        if (near, key) not in self._near:
            self._near[near, key] = self._there(key, self._all.shapes.included(*near.pods))
        return self._near[near, key]

    def even(self, spread: Spread, shape: PodShape) -> Counter[str]:
        """Pods that the spread counts, by value; a value without any is a domain, too."""
        where = where_of(spread, shape)
        if (spread, where) not in self._even:
            included = self._all.shapes.included(spread.pods)
            found: Counter[str] = self._present(spread, shape)
            for (one, key), dealt in self._dealt.items():
                if key == spread.key and one in included:
                    alike = where == where_of(spread, self._all.waiting[one])
                    found.update({value: pods for value, pods in dealt.items() if alike or value in found})
            self._even[spread, where] = found
        return self._even[spread, where]

    def lacks(self, born: Sequence[Host]) -> bool:
        """Whether nodes were bought in a domain that a spread knew nothing of."""
        return any(
            host.labels.get(spread.key) and host.labels[spread.key] not in present
            for (spread, _), present in self._even.items()
            for host in born
        )

    def _present(self, spread: Spread, shape: PodShape) -> Counter[str]:
        """Without what this try deals."""
        census = self._all.census
        found = counts(census.eligible(spread, shape), spread.key, self._all.shapes.included(spread.pods), lasting)
        for host in self._born:
            if (value := host.labels.get(spread.key)) and census.would_count(spread, shape, host):
                found[value] += 0
        return found

    def _there(self, key: str, shapes: frozenset[str]) -> Counter[str]:
        found: Counter[str] = counts(self._all.census.classes, key, shapes, all_there)
        for (one, of), dealt in self._dealt.items():
            if of == key and one in shapes:
                found.update(dealt)
        return found
