"""Who stands where, as counts by domain: what one rule between pods reads, kept while pods come and are lifted again.

A node whose value of a key is not known yet counts as `maybe` in each of its options: a rule must hold whichever comes.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from spillway.model.selector import UNTOLD
from spillway.planner.topology.sites import Options, Site, is_sure


class Tally:
    """Pods by value of one key, `key` its number. What anti-affinity reads."""

    def __init__(self, key: int) -> None:
        self.key = key
        self.sure: dict[str, int] = defaultdict(int)
        self.maybe: dict[str, int] = defaultdict(int)

    def add(self, site: Site, pods: int, *, sure: bool = True) -> None:
        """`pods` below 0 are lifted. Not `sure`: they may not come, as those that are nominated."""
        options = site.values[self.key]
        if sure and is_sure(options):
            if options[0] is not None:
                self.sure[options[0]] += pods
        else:
            for value in options:
                if value is not None:
                    self.maybe[value] += pods

    def most_in(self, value: str) -> int:
        if value == UNTOLD:
            return sum(self.sure.values()) + sum(self.maybe.values())
        return self.sure.get(value, 0) + self.maybe.get(value, 0) + self.maybe.get(UNTOLD, 0)

    def taken(self, site: Site) -> str | None:
        """A value that the site may have and where such a pod may be."""
        return next((value for value in site.values[self.key] if value is not None and self.most_in(value)), None)


class Company:
    """Pods that required affinity looks for. `total` are those on nodes that have any of the keys: while it is 0, a pod of
    the kind may be the first."""

    def __init__(self, keys: tuple[int, ...]) -> None:
        self.by_key = [Tally(key) for key in keys]
        self.total = 0
        self._on_vague: dict[str, int] = defaultdict(int)

    def add(self, site: Site, pods: int, *, sure: bool = True) -> None:
        options = [site.values[tally.key] for tally in self.by_key]
        for tally in self.by_key:
            tally.add(site, pods, sure=sure)
        if any(value is not None for values in options for value in values):
            self.total += pods
            if sure and not all(map(is_sure, options)):
                self._on_vague[site.name] += pods

    def is_beside(self, site: Site) -> bool:
        """On the very node, or in its domain of each key, whichever that will be."""
        if self._on_vague.get(site.name):
            return True
        return all(
            tally.sure.get(value, 0) > 0 for tally in self.by_key for value in site.values[tally.key] if value is not None
        )

    def has_keys(self, site: Site) -> bool:
        return all(None not in site.values[tally.key] for tally in self.by_key)


class Domains:
    """The values of one key on nodes that a spread counts: domains, also without any pod. `counts` says of a site's mark
    whether it is one of these nodes: (surely, perhaps)."""

    def __init__(self, key: int, counts: Callable[[int], tuple[bool, bool]]) -> None:
        self.key = key
        self.sure: Counter[str] = Counter()
        self._maybe: Counter[str] = Counter()
        self.spreads: list[Evenness] = []
        self._counts, self._known = counts, dict[int, tuple[bool, bool]]()

    def counts(self, mark: int) -> tuple[bool, bool]:
        if mark not in self._known:
            self._known[mark] = self._counts(mark)
        return self._known[mark]

    def options(self, site: Site) -> tuple[Options, bool]:
        """Domains to which pods on the site count, and whether they surely do."""
        surely, perhaps = self.counts(site.mark) if site.mark is not None else (False, False)
        options = site.values[self.key] if perhaps else ()
        return options, surely and is_sure(options)

    def move(self, site: Site, number: int) -> None:
        """The node comes (1) or goes (-1)."""
        options, surely = self.options(site)
        for value in options:
            if value is not None:
                into = self.sure if surely else self._maybe
                into[value] += number
                if not into[value]:
                    del into[value]

    def others_may_come(self, value: str | None, site: Site) -> bool:
        """Whether there may be a domain other than `value` of which nobody is sure, but for the site's own."""
        if not self._maybe:
            return False
        options, surely = self.options(site)
        own = () if surely else options
        return any(one != value and one not in self.sure and number > (one in own) for one, number in self._maybe.items())


class Evenness:
    """Pods that a spread counts, by domain. `peak` is the most that a domain had when a pod of the plan came that the spread
    binds: as long as it is not above the skew, a domain without pods does no harm. It stays when pods are lifted again: too
    high, it makes one look once more and never less."""

    def __init__(self, domains: Domains, max_skew: int) -> None:
        self.domains, self.max_skew, self.peak = domains, max_skew, 0
        domains.spreads.append(self)
        self.sure: dict[str, int] = {}
        self.maybe: dict[str, int] = defaultdict(int)
        self._levels: Counter[int] = Counter()

    def add(self, site: Site, pods: int, *, sure: bool = True) -> None:
        options, surely = self.domains.options(site)
        for value in options:
            if value is not None:
                if surely and sure:
                    self._set(value, self.sure.get(value, 0) + pods)
                else:
                    self.maybe[value] += pods

    def _set(self, value: str, pods: int) -> None:
        before = self.sure.pop(value, 0)
        if before:
            self._levels[before] -= 1
            if not self._levels[before]:
                del self._levels[before]
        if pods:
            self.sure[value] = pods
            self._levels[pods] += 1

    def most_in(self, value: str | None) -> int:
        return 0 if value is None else self.sure.get(value, 0) + self.maybe.get(value, 0) + self.maybe.get(UNTOLD, 0)

    def least_beside(self, value: str | None, site: Site) -> int | None:
        """The fewest that any domain but `value` has, None where there is no other."""
        if self.domains.others_may_come(value, site):
            return 0
        others = len(self.domains.sure) - (value in self.domains.sure)
        own = self.sure.get(value, 0) if value is not None else 0
        if not others:
            return None
        if others > len(self.sure) - (own > 0):
            return 0
        return min(level for level, number in self._levels.items() if number > (level == own))

    def number_with(self, value: str | None) -> int:
        """How many domains there surely are once a node of this one is."""
        return len(self.domains.sure) + (value is not None and value not in self.domains.sure)

    def fewest(self) -> Iterator[tuple[int, str]]:
        """(pods, domain)"""
        return ((self.sure.get(value, 0), value) for value in self.domains.sure)
