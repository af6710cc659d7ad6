"""How many pods each domain takes so that a spread holds: a closed form, whatever the number of pods."""

from collections.abc import Mapping


def fill(present: Mapping[str, int], capacity: Mapping[str, int], pods: int, skew: int, floor: int | None) -> dict[str, int]:
    """`pods` dealt to the emptiest domains first, as far as the spread allows. Keys of both mappings are the domains.

    No domain may end with more than the least of all by more than `skew`, or than `floor` by more, where it is given: 0
    while there are fewer domains than the constraint asks for. A domain that can take no more holds the others down.
    """
    if not present:
        return {}
    least = min(present[domain] + capacity[domain] for domain in present) if floor is None else floor
    room = {domain: max(0, min(capacity[domain], least + skew - present[domain])) for domain in present}
    pods = min(pods, sum(room.values()))
    level = _level(present, room, pods)
    found = {domain: max(0, min(room[domain], level - present[domain])) for domain in present}
    rest = pods - sum(found.values())
    for domain in sorted(present):
        if rest and found[domain] < room[domain] and present[domain] + found[domain] <= level:
            found[domain] += 1
            rest -= 1
    return found


def _level(present: Mapping[str, int], room: Mapping[str, int], pods: int) -> int:
    """The highest level to which all domains can be filled with no more than `pods`."""
    low, high = min(present.values()), max(present[domain] + room[domain] for domain in present)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(max(0, min(room[domain], middle - present[domain])) for domain in present) <= pods:
            low = middle
        else:
            high = middle - 1
    return low
