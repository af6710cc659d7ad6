"""What many worlds show together: counts that add up, and how they are told."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from spillway_local.judge.free import ROUNDS, Course


@dataclass(frozen=True)
class Figures:
    """Counts over worlds left to the scheduler; they add up over batches and processes.

    `first_nodes` are those of the first plans, `later_nodes` those bought after, `empty` both kinds that no pod used.
    """

    worlds: int = 0
    served: int = 0
    bound_in_first: int = 0
    at_rest_within_two: int = 0
    at_rest: int = 0
    rounds: int = 0
    first_nodes: int = 0
    later_nodes: int = 0
    empty: int = 0

    def __add__(self, other: "Figures") -> "Figures":
        return Figures(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})

    def document(self) -> dict[str, int]:
        return asdict(self)

    def lines(self) -> list[str]:
        if not self.worlds:
            return []
        return [
            f"{self.worlds} worlds, {self.served} served pods, {self.first_nodes} nodes in the first plan",
            f"bound in the first round   {_percent(self.bound_in_first, self.served)}   (goal 99 %)",
            f"at rest within two rounds  {_percent(self.at_rest_within_two, self.worlds)}   (within {ROUNDS}: "
            f"{_percent(self.at_rest, self.worlds).strip()}; {self.rounds / self.worlds:.2f} rounds a world)",
            f"nodes bought after         {_percent(self.later_nodes, self.first_nodes)}   of the first plan's",
            f"nodes left empty           {_percent(self.empty, self.first_nodes + self.later_nodes)}",
        ]


def of(courses: Sequence[Course]) -> Figures:
    total = Figures()
    for course in courses:
        total += Figures(
            worlds=1,
            served=course.served,
            bound_in_first=course.bound,
            at_rest_within_two=course.at_rest and course.rounds <= 2,
            at_rest=course.at_rest,
            rounds=course.rounds,
            first_nodes=sum(course.nodes[:1]),
            later_nodes=sum(course.nodes[1:]),
            empty=course.empty,
        )
    return total


def total(documents: Iterable[dict[str, Any]]) -> Figures:
    """Of what `Figures.document` gave."""
    found = Figures()
    for document in documents:
        found += Figures(**document)
    return found


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:6.2f} %" if whole else "  none"
