"""How well pods like a place while all others are where they are: a score of four parts, of which the first counts most.

| Part | Sum of | Given up |
|---|---|---|
| taints | minus 1 for each PreferNoSchedule taint that the pod does not tolerate | last |
| spread | minus the pods that a spread with ScheduleAnyway counts there, times log(domains + 2) as the scheduler has it | |
| nodes | the weights of preferred node affinity that holds | |
| pods | weights of preferred affinity less those of anti-affinity, each pod in the domain; those of others, too | first |

A pair of pods counts for both, so that what is better for the one who moves is better for all together.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import NamedTuple

from spillway.planner.fit import Fit
from spillway.planner.preferences.wishes import Preferences, Shared
from spillway.planner.topology.census import Census, Class, all_there
from spillway.planner.topology.terms import HOSTNAME
from spillway.planner.view import View

SCALE = 1000  # of a spread's weight: scores are whole numbers


class Score(NamedTuple):
    taints: int = 0
    spread: int = 0
    nodes: int = 0
    pods: int = 0

    def plus(self, other: "Score", times: int = 1) -> "Score":
        return Score(
            self.taints + times * other.taints,
            self.spread + times * other.spread,
            self.nodes + times * other.nodes,
            self.pods + times * other.pods,
        )


NONE = Score()


class Place(NamedTuple):
    """`like` is a node's kind in Preferences, `host` its hostname."""

    like: int
    host: str


class _Term(NamedTuple):
    """What a pod of some feeling has of each of the pods that are `there`, by value of the key."""

    there: Counter[str]
    key: str
    weight: int
    is_spread: bool


class Liking:
    """`matched` are the pods that a wish speaks of, `owners` those that have it, by value of its key."""

    def __init__(self, view: View, preferences: Preferences, fit: Fit, places: Iterable[Place]) -> None:
        self._preferences = preferences
        self._fixed: dict[tuple[int, int], Score] = {}
        self._matched: dict[Shared, Counter[str]] = {}
        self._owners: dict[Shared, Counter[str]] = {}
        self._weight: dict[Shared, int] = {}
        self._known: dict[tuple[int, str], frozenset[str]] = {}
        self._listed: dict[int, Mapping[int, Class]] = {}
        self._nodes: dict[Shared, Mapping[int, Class]] = {}
        self._domains: dict[Shared, frozenset[str]] = {}
        self._values: dict[tuple[int, str], tuple[str, ...]] = {}
        if preferences.owners:
            self._count(view, fit, {place.like for place in places})
        felt = preferences.feelings
        self._terms = [[*self._sums(one.own, self._matched), *self._sums(one.of_others, self._owners)] for one in felt]
        self._counted = [[*self._sums(one.own, self._owners), *self._sums(one.of_others, self._matched)] for one in felt]

    def _count(self, view: View, fit: Fit, likes: set[int]) -> None:
        """All that is there, in one pass over nodes that are alike and the shapes on them."""
        preferences = self._preferences
        census = Census(view, (), fit, preferences.waiting, preferences.keys)
        matched: dict[str, list[Shared]] = defaultdict(list)
        owned: dict[str, list[Shared]] = defaultdict(list)
        for shared, owners in preferences.owners.items():
            self._matched[shared], self._owners[shared] = Counter(), Counter()
            self._weight[shared] = shared.wish.weight
            for shape in preferences.shapes.included(shared.wish.pods):
                matched[shape].append(shared)
            if shared.wish.spread is None:
                for shape in owners:
                    owned[shape].append(shared)
            else:
                come = {value for like in likes for value in preferences.values(like, shared.wish.key)}
                self._nodes[shared] = self._eligible(census.eligible(shared.wish.spread, preferences.samples[shared]))
                self._domains[shared] = self._present(self._nodes[shared], shared.wish.key)
                self._weight[shared] *= round(SCALE * log(len(self._domains[shared] | come) + 2))
        for one in census.classes:
            for shape, pods in all_there(one).items() if one.leaving else one.pods.items():
                for shared in matched.get(shape, ()):
                    self._there(self._matched[shared], shared, one, pods if shared.wish.spread is None else one.pods[shape])
                for shared in owned.get(shape, ()):
                    self._there(self._owners[shared], shared, one, pods)

    def _there(self, there: Counter[str], shared: Shared, where: Class, pods: int) -> None:
        if shared.wish.key in where.labels and pods and (shared not in self._nodes or id(where) in self._nodes[shared]):
            there[where.labels[shared.wish.key]] += pods

    def _eligible(self, classes: Sequence[Class]) -> Mapping[int, Class]:
        """The same for spreads that count the same nodes."""
        return self._listed.setdefault(id(classes), {id(one): one for one in classes})

    def _present(self, classes: Mapping[int, Class], key: str) -> frozenset[str]:
        if (id(classes), key) not in self._known:
            self._known[id(classes), key] = frozenset(one.labels[key] for one in classes.values() if key in one.labels)
        return self._known[id(classes), key]

    def _sums(self, wishes: Iterable[Shared], there: Mapping[Shared, Counter[str]]) -> Iterable[_Term]:
        for one in wishes:
            yield _Term(there[one], one.wish.key, self._weight[one], one.wish.spread is not None)

    def add(self, feeling: int, place: Place, pods: int) -> None:
        """`pods` below 0 leave."""
        for there, key, _, _ in self._counted[feeling]:
            if len(values := self._values_of(place, key)) == 1:
                there[values[0]] += pods
                if not there[values[0]]:
                    del there[values[0]]

    def score(self, feeling: int, place: Place) -> Score:
        """Of one pod more."""
        fixed = self._fixed.get((feeling, place.like))
        if fixed is None:
            liked, disliked = self._preferences.met(feeling, place.like), self._preferences.disliked(feeling, place.like)
            fixed = self._fixed[feeling, place.like] = Score(taints=-disliked, nodes=liked)
        terms = self._terms[feeling]
        if not terms:
            return fixed
        spread = pods = 0
        for there, key, weight, is_spread in terms:
            values = self._values_of(place, key)
            if len(values) == 1:
                number = weight * there.get(values[0], 0)
            elif values:  # the group will choose: the worst of them
                number = min(weight * there.get(value, 0) for value in values)
            else:  # without the key there is nobody, and for a spread no place
                number = weight * (max(there.values(), default=0) + 1) if is_spread else 0
            if is_spread:
                spread += number
            else:
                pods += number
        return Score(fixed.taints, spread, fixed.nodes, pods)

    def hosts(self, feeling: int) -> list[Counter[str]]:
        """By hostname, those about whom such a pod has wishes, or who have some about it: it tells these nodes from others."""
        return [term.there for term in self._terms[feeling] if term.key == HOSTNAME]

    def grants(self, shared: Shared, place: Place) -> bool:
        """Whether a wish is wholly kept for one pod more: near one, apart from all, or in a domain that the skew allows."""
        there, values, wish = self._matched[shared], self._values_of(place, shared.wish.key), shared.wish
        if wish.spread is not None:
            domains = self._domains[shared]
            least = min((there[domain] for domain in domains), default=0) if len(there) >= len(domains) else 0
            return bool(values) and all(there[value] - least < wish.spread.max_skew for value in values)
        if wish.weight > 0:
            return bool(values) and all(there[value] for value in values)
        return not any(there[value] for value in values)

    def _values_of(self, place: Place, key: str) -> tuple[str, ...]:
        if key == HOSTNAME:
            return (place.host,)
        found = self._values.get((place.like, key))
        if found is None:
            found = self._values[place.like, key] = self._preferences.values(place.like, key)
        return found
