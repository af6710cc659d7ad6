"""Why a node of a group would not do for a pod, by what pods say of each other: after all of the plan has its place."""

from collections.abc import Iterable, Mapping

from spillway.model.reason import Code
from spillway.planner.demand import Lot
from spillway.planner.rules.base import ZONE_KEYS, Host, Refusal
from spillway.planner.topology.domains import Rules, Splitting
from spillway.planner.topology.terms import HOSTNAME, Near, Spread, Terms


class Reasons:
    """`splitting` is the plan's own: it has counted all that the plan places."""

    def __init__(self, rules: Rules, terms: Terms, splitting: Splitting) -> None:
        self._rules, self._terms, self._splitting = rules, terms, splitting

    def of(self, lot: Lot, host: Host) -> Refusal | None:
        """The text goes on from "the pod …"."""
        return next(iter(self._found(lot, host)), None)

    def _found(self, lot: Lot, host: Host) -> Iterable[Refusal]:
        near = self._terms.near(lot.shape)
        if near:
            yield from self._alone(near, host)
        for rule in self._rules.avoids.get(lot.shape.id, ()):
            yield from self._taken(rule.key, host, self._splitting.matches(rule), f"avoids pods {rule.pods.shown}, of which")
        for rule in self._rules.avoided.get(lot.shape.id, ()):
            yield from self._taken(rule.key, host, self._splitting.owners(rule), "is avoided by pods, of which")
        for spread in self._rules.spreads.get(lot.shape.id, ()):
            yield from self._uneven(spread, lot, host)
        if near and HOSTNAME in near.keys:
            yield Refusal(Code.POD_AFFINITY, f"wants to be on a node with pods {_shown(near)}, and finds no room beside them")
        for spread in self._terms.spreads(lot.shape):
            yield Refusal(
                Code.TOPOLOGY_SPREAD, f"is spread over {spread.key}, and a domain that can take no more holds it down"
            )

    def _alone(self, near: Near, host: Host) -> Iterable[Refusal]:
        for key in near.keys:
            if key != HOSTNAME:
                there = sorted(+self._splitting.near(near, key))
                if not there:
                    yield Refusal(Code.POD_AFFINITY, f"wants to be beside pods {_shown(near)}, which are nowhere")
                elif host.labels.get(key) not in there:
                    where = _where(key, host)
                    yield Refusal(
                        Code.POD_AFFINITY,
                        f"wants to be beside pods {_shown(near)}, which are in {', '.join(there)}, not {where}",
                    )

    def _taken(self, key: str, host: Host, pods: Mapping[str, int], what: str) -> Iterable[Refusal]:
        values = host.zones if key in ZONE_KEYS and host.zones else (host.labels.get(key, ""),)
        taken = [value for value in values if pods.get(value)]
        if taken:
            yield Refusal(
                Code.POD_ANTI_AFFINITY, f"{what} {pods[taken[0]]} {'is' if pods[taken[0]] == 1 else 'are'} in {taken[0]}"
            )

    def _uneven(self, spread: Spread, lot: Lot, host: Host) -> Iterable[Refusal]:
        value, there = host.labels.get(spread.key), self._splitting.even(spread, lot.shape)
        if value is None:
            yield Refusal(Code.TOPOLOGY_SPREAD, f"is spread over {spread.key}, and would be {_where(spread.key, host)}")
            return
        few = len(there.keys() | {value}) < spread.min_domains
        least, fewest = min(((number, name) for name, number in there.items()), default=(0, value))
        most = (0 if few else least) + spread.max_skew
        if there.get(value, 0) >= most:
            why = f"there are {len(there)} of {spread.min_domains} domains" if few else f"{fewest} has {least}"
            yield Refusal(
                Code.TOPOLOGY_SPREAD,
                f"may have at most {most} of its kind ({spread.pods.shown}) in {value}, while {why}",
            )


def _shown(near: Near) -> str:
    return " and ".join(pods.shown for pods in near.pods)


def _where(key: str, host: Host) -> str:
    if key in ZONE_KEYS and host.zones:
        return f"in whichever of {', '.join(host.zones)} the group will choose"
    return f"in {host.labels[key]}" if key in host.labels else f"on a node without {key}"
