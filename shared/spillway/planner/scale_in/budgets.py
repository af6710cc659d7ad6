"""How many nodes may leave at once, and when. All budgets that apply hold; a percentage is of the cluster's own nodes, rounded
up. What cannot be read allows nothing: a mistake must not open a window."""

from collections.abc import Sequence
from datetime import timedelta

from spillway.model.plan import Why
from spillway.model.policy import Budget, Window
from spillway.planner import cron
from spillway.planner.view import View


def share(amount: str | int, whole: int) -> int:
    """A count, or a percentage of the whole, rounded up."""
    return amount if isinstance(amount, int) else -(-whole * int(amount.removesuffix("%")) // 100)


class Budgets:
    """`leaving` nodes are on their way out already and count."""

    def __init__(self, view: View, own: int, leaving: int) -> None:
        self._view, self._own, self._leaving = view, own, leaving
        self._taken: dict[Why, int] = {}

    def take(self, why: Why) -> None:
        self._taken[why] = self._taken.get(why, 0) + 1

    def refusal(self, why: Why, budgets: Sequence[Budget]) -> str:
        """Which budget is spent, "" when one node more may leave."""
        for budget in budgets:
            if budget.reasons and why not in budget.reasons:
                continue
            try:
                if not self._holds(budget):
                    continue
            except ValueError as error:
                return f"the schedule of a budget of {budget.nodes} cannot be read, so it allows none: {error}"
            most = share(budget.nodes, self._own)
            going = self._leaving + sum(
                n for reason, n in self._taken.items() if not budget.reasons or reason in budget.reasons
            )
            if going >= most:
                when = f" ({budget.schedule})" if budget.schedule else ""
                return f"the budget of {budget.nodes}{when} allows {most} of {self._own} nodes at once, {going} are leaving"
        return ""

    def _holds(self, budget: Budget) -> bool:
        if budget.schedule is None:
            return True
        span = timedelta(seconds=budget.duration_s) if budget.duration_s else None
        return cron.is_within(budget.schedule, span, budget.time_zone, self._view.now)


def closed(windows: Sequence[Window], view: View) -> str:
    """Why no window is open, "" when one is or there are none."""
    if not windows:
        return ""
    problems = []
    for window in windows:
        try:
            if cron.is_within(window.schedule, timedelta(seconds=window.duration_s), window.time_zone, view.now):
                return ""
        except ValueError as error:
            problems.append(f"; {error}")
    lines = ", ".join(f"{one.schedule} {one.time_zone} for {one.duration_s} s" for one in windows)
    return f"no maintenance window is open ({lines}){''.join(problems)}"
