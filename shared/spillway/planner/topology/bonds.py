"""What rules between pods let a pod do on a node, as things stand: closed forms for a batch of equal pods, never pod by pod.

Sources: plugins interpodaffinity/filtering.go and podtopologyspread/filtering.go of kube-scheduler.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from spillway.model.reason import Code
from spillway.model.selector import UNTOLD
from spillway.planner.fit import OUTSIDE, Within
from spillway.planner.rules.base import Refusal
from spillway.planner.topology.sites import Site, is_sure
from spillway.planner.topology.tallies import Company, Evenness, Tally
from spillway.planner.topology.terms import HOSTNAME, Avoid, Near, Spread


@dataclass(frozen=True)
class Apart:
    """Anti-affinity: `tally` are the pods that keep such a pod away, `is_own` says whether it is one of them itself. They have
    the rule where it is `theirs`; they wait, some of them, where it is `contested`."""

    rule: Avoid
    tally: Tally
    is_own: bool
    theirs: bool
    contested: bool

    def most(self, site: Site, wanted: int) -> int:
        if self.tally.taken(site) is not None:
            return 0
        has_key = self.is_own and any(value is not None for value in site.values[self.tally.key])
        return min(wanted, 1) if has_key else wanted

    def refusal(self, site: Site) -> Refusal | None:
        value = self.tally.taken(site)
        if value is None:
            return None
        pods = self.tally.most_in(value)
        what = "is avoided by pods, of which" if self.theirs else f"avoids pods {self.rule.pods.shown}, of which"
        where = "on that node" if self.rule.key == HOSTNAME else f"in {value}"
        return Refusal(Code.POD_ANTI_AFFINITY, f"{what} {pods} {'is' if pods == 1 else 'are'} {where}")


@dataclass(frozen=True)
class Beside:
    """Affinity. `may_be_first`: the pod is of the kind that it looks for."""

    rule: Near
    company: Company
    may_be_first: bool

    def most(self, site: Site, wanted: int) -> int:
        if not self.company.has_keys(site):
            return 0
        alone = not self.company.total and self.may_be_first
        return wanted if alone or self.company.is_beside(site) else 0

    def refusal(self, site: Site) -> Refusal | None:
        if self.most(site, 1):
            return None
        what = f"wants to be beside pods {' and '.join(pods.shown for pods in self.rule.pods)}"
        if not self.company.total:
            where = "" if self.may_be_first else ", which are nowhere"
            lacks = next((tally.key for tally in self.company.by_key if None in site.values[tally.key]), None)
            return Refusal(Code.POD_AFFINITY, f"{what}{where}" if lacks is None else f"{what}, by labels that a node lacks")
        for key, tally in zip(self.rule.keys, self.company.by_key, strict=True):
            there = sorted(value for value, pods in tally.sure.items() if pods)
            if key != HOSTNAME and not set(site.values[tally.key]) <= set(there):
                where = ", ".join(there) or "zones that are not known yet"
                return Refusal(Code.POD_AFFINITY, f"{what}, which are in {where}, not {_where(key, tally.key, site)}")
        return Refusal(Code.POD_AFFINITY, f"{what}, and finds no room on a node with them")


@dataclass(frozen=True)
class Even:
    """Spread. `counts_itself`: whether its selector finds the pod, too."""

    rule: Spread
    evenness: Evenness
    counts_itself: bool

    def most(self, site: Site, wanted: int) -> int:
        for value in site.values[self.evenness.domains.key]:
            if not wanted or value is None or value == UNTOLD:
                return 0
            there, least = self.evenness.most_in(value), self._least(value, site)
            if least is None:
                continue
            if self.counts_itself:
                wanted = max(0, min(wanted, least + self.rule.max_skew - there))
            elif there - least > self.rule.max_skew:
                return 0
        return wanted

    def _least(self, value: str, site: Site) -> int | None:
        """Against what the domain is measured: None where there is no other."""
        if self.evenness.number_with(value) < self.rule.min_domains:
            return 0
        return self.evenness.least_beside(value, site)

    def note(self, site: Site) -> None:
        """Pods that it binds have come."""
        there = max((self.evenness.most_in(value) for value in site.values[self.evenness.domains.key]), default=0)
        self.evenness.peak = max(self.evenness.peak, there)

    def refusal(self, site: Site) -> Refusal | None:
        if self.most(site, 1):
            return None
        key = self.evenness.domains.key
        value = next((one for one in site.values[key] if one is not None), None)
        if None in site.values[key] or UNTOLD in site.values[key] or value is None:
            text = f"is spread over {self.rule.key}, and would be {_where(self.rule.key, key, site)}"
            return Refusal(Code.TOPOLOGY_SPREAD, text)
        number = self.evenness.number_with(value)
        few = number < self.rule.min_domains
        least, fewest = min(self.evenness.fewest(), default=(0, value))
        most = (0 if few else least) + self.rule.max_skew
        why = f"there are {number} of {self.rule.min_domains} domains" if few else f"{fewest} has {least}"
        if len(site.values[key]) > 1:
            why = f"it would be {_where(self.rule.key, key, site)}"
        text = f"may have at most {most} of its kind ({self.rule.pods.shown}) in {value}, while {why}"
        return Refusal(Code.TOPOLOGY_SPREAD, text)


@dataclass
class Bonds:
    """All that ties one shape to others. `is_mixed`: others that wait count in its spreads, or it in theirs."""

    apart: list[Apart] = field(default_factory=list)
    beside: list[Beside] = field(default_factory=list)
    even: list[Even] = field(default_factory=list)
    is_mixed: bool = False

    def most(self, site: Site, wanted: int) -> int:
        """How many of `wanted` equal pods may come to the site, one after the other."""
        for apart in self.apart:
            if not (wanted := apart.most(site, wanted)):
                return 0
        for beside in self.beside:
            if not (wanted := beside.most(site, wanted)):
                return 0
        for even in self.even:
            if not (wanted := even.most(site, wanted)):
                return 0
        return wanted

    def fill(self, site: Site) -> tuple[int, ...]:
        """How many each spread counts in the site's domain: the emptiest is less."""
        return tuple(
            max((even.evenness.most_in(value) for value in site.values[even.evenness.domains.key]), default=0)
            for even in self.even
        )

    def kept_to(self, site: Site) -> Iterator[Within]:
        """In which domains such pods must stay, wherever else they may go, for what stands at the site to hold elsewhere."""
        pinned = [(apart.rule.key, apart.tally.key) for apart in self.apart if apart.contested]
        for beside in self.beside:
            pinned += zip(beside.rule.keys, (tally.key for tally in beside.company.by_key), strict=True)
        pinned += [(even.rule.key, even.evenness.domains.key) for even in self.even]
        for key, number in dict.fromkeys(pinned):
            if key != HOSTNAME and is_sure(site.values[number]):
                yield Within(key, frozenset({site.values[number][0] or OUTSIDE}))
        for apart in self.apart:
            taken = frozenset(value for value, pods in apart.tally.sure.items() if pods)
            if apart.rule.key != HOSTNAME and not apart.contested and taken:
                yield Within(apart.rule.key, taken, inside=False)

    def refusals(self, site: Site) -> Iterator[Refusal]:
        """Their texts go on from "the pod …"."""
        found = [one.refusal(site) for one in self.beside]
        found += [one.refusal(site) for one in self.apart]
        found += [one.refusal(site) for one in self.even]
        return (refusal for refusal in found if refusal)


def _where(key: str, number: int, site: Site) -> str:
    options = site.values[number]
    if UNTOLD in options:
        return f"on a node of whose {key} nobody knows which it is"
    if len(options) > 1:
        return f"in whichever of {', '.join(str(value) for value in options)} the group will choose"
    return f"on a node without {key}" if options[0] is None else f"in {options[0]}"
