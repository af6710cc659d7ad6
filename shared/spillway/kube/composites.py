"""Groups of groups: scheduling.k8s.io's CompositePodGroup, of which so many groups start together, or none.

Source: pkg/scheduler/framework/plugins/gangscheduling (isCPGTreeReady) of Kubernetes 1.37.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from spillway.kube.gang_objects import Composite, Group

Key = tuple[str, str]


class Whole(NamedTuple):
    """The composite group that starts as one: its name and the least pods of it. `is_known` False: it is not in the cluster."""

    name: str
    least: int
    is_known: bool = True


class Composites:
    """`of` gives the kept objects of a kind."""

    def __init__(self, of: Callable[[str], Mapping[Key, Any]]) -> None:
        self._groups: Mapping[Key, Group] = of("PodGroup.scheduling.k8s.io")
        self._composites: Mapping[Key, Composite] = of("CompositePodGroup.scheduling.k8s.io")
        self._least: dict[Key, int] = {}
        self._outermost: dict[Key, tuple[str, bool]] = {}

    def whole(self, namespace: str, group: Group) -> Whole | None:
        """The outermost composite that needs several of its groups; None where each starts for itself.

        One that is missing, or that is within itself, is not known: the scheduler waits for it, so nothing smaller may start.
        """
        if not group.parent:
            return None
        name, is_known = self._outermost_of((namespace, group.parent))
        if not is_known:
            return Whole(name, max(1, sum(group.parts.values())), is_known=False)
        return Whole(name, self._least_of((namespace, name))) if name else None

    def _outermost_of(self, key: Key) -> tuple[str, bool]:
        """Its name, "" for none, and whether it is known. By loops, as anybody may nest them deeper than Python's stack."""
        path = dict[Key, None]()
        at = key
        while at not in self._outermost:
            composite = self._composites.get(at)
            if composite is None or at in path:
                self._outermost[at] = (at[1], False)
            else:
                path[at] = None
                if composite.parent:
                    at = (at[0], composite.parent)
                else:
                    self._outermost[at] = ("", True)
                    break
        name, is_known = self._outermost[at]
        for one in reversed(path):
            if not name and self._composites[one].least > 1:
                name = one[1]
            self._outermost[one] = (name, is_known)
        return self._outermost[key]

    def _least_of(self, key: Key) -> int:
        """Of as many groups as it needs those that ask for the fewest pods. Its root is known, so it is in no circle."""
        waiting = [key]
        while waiting:
            at = waiting[-1]
            if unknown := [one for one in self._within[at][1] if one not in self._least]:
                waiting += unknown
            else:
                needed = max(1, self._composites[at].least)
                self._least[waiting.pop()] = sum(sorted(self._least_within(at))[:needed])
        return self._least[key]

    def _least_within(self, key: Key) -> Iterator[int]:
        """Of each of its groups. One without the gang policy is there with its first pod."""
        groups, composites = self._within[key]
        yield from (max(1, sum(self._groups[one].parts.values())) for one in groups)
        yield from (self._least[one] for one in composites)

    @cached_property
    def _within(self) -> Mapping[Key, tuple[list[Key], list[Key]]]:
        """The pod groups and the composite groups that are directly in each."""
        found = defaultdict[Key, tuple[list[Key], list[Key]]](lambda: ([], []))
        for key, group in self._groups.items():
            if group.parent:
                found[key[0], group.parent][0].append(key)
        for key, composite in self._composites.items():
            if composite.parent:
                found[key[0], composite.parent][1].append(key)
        return found
