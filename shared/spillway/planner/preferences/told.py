"""Of what the pods of a step prefer, what is kept and what had to be given up: for its reason."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from spillway.planner.preferences.bins import Bin, Bins, NewBin
from spillway.planner.preferences.liking import Liking, Place
from spillway.planner.preferences.wishes import Preferences
from spillway.planner.rooms import Kind

TAINTS, SPREAD, NODES = "avoidance of PreferNoSchedule", "spread with ScheduleAnyway", "preferred node affinity"
NEAR, APART = "preferred pod affinity", "preferred pod anti-affinity"


def told(preferences: Preferences, liking: Liking, bins: Bins, new: Iterable[NewBin]) -> Mapping[str, str]:
    """By group's key, of new and of uncordoned nodes; groups whose pods prefer nothing are left out."""
    kept: dict[str, Counter[str]] = defaultdict(Counter)
    asked: dict[str, Counter[str]] = defaultdict(Counter)
    cordoned = [(one.room.group, one) for one in bins.rooms if one.room.kind is Kind.CORDONED]
    for key, one in (*((one.source.group.key, one) for one in new), *cordoned):
        for feeling, pods in _feelings(bins, one).items():
            liking.add(feeling, one.place, -1)
            for what, is_kept in _judged(preferences, liking, feeling, one.place).items():
                asked[key][what] += pods
                kept[key][what] += pods * is_kept
            liking.add(feeling, one.place, 1)
    return {
        key: "; ".join(_text(what, kept[key][what], all_of) for what, all_of in found.items()) for key, found in asked.items()
    }


def _feelings(bins: Bins, one: Bin) -> Counter[int]:
    found = Counter[int]()
    for number, units in one.holds.items():
        for feeling, pods in bins.stuff[number].feelings:
            found[feeling] += units * pods
    return found


def _judged(preferences: Preferences, liking: Liking, feeling: int, place: Place) -> dict[str, bool]:
    """What such a pod prefers, and whether all of it is so; taints only where it has to bear one."""
    felt = preferences.feelings[feeling]
    found = {TAINTS: False} if preferences.disliked(feeling, place.like) else {}
    for shared in felt.own:
        what = SPREAD if shared.wish.spread else NEAR if shared.wish.weight > 0 else APART
        found[what] = found.get(what, True) and liking.grants(shared, place)
    if felt.terms:
        found[NODES] = preferences.met(feeling, place.like) == sum(term.weight for term in felt.terms)
    return found


def _text(what: str, kept: int, asked: int) -> str:
    """`preferred node affinity is kept for 3 of 4 pods`."""
    if kept == asked:
        return f"{what} is kept"
    return f"{what} is kept for {kept} of {asked} pods" if kept else f"{what} is given up"
