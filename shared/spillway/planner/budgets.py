"""How many nodes may leave at once. All budgets that apply hold; a percentage is of the cluster's own nodes, rounded up."""

from collections.abc import Sequence
from datetime import timedelta

from spillway.model.plan import Why
from spillway.model.policy import Budget
from spillway.planner import cron
from spillway.planner.view import View


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
            if (budget.reasons and why not in budget.reasons) or not self._holds(budget):
                continue
            most = self._count(budget)
            going = self._leaving + sum(
                n for reason, n in self._taken.items() if not budget.reasons or reason in budget.reasons
            )
            if going >= most:
                when = f" ({budget.schedule})" if budget.schedule else ""
                return f"the budget of {budget.nodes}{when} allows {most} of {self._own} nodes at once, {going} are leaving"
        return ""

    def _count(self, budget: Budget) -> int:
        if isinstance(budget.nodes, int):
            return budget.nodes
        return -(-self._own * int(budget.nodes.removesuffix("%")) // 100)

    def _holds(self, budget: Budget) -> bool:
        """A schedule that cannot be read holds always: a mistake must not open a window."""
        if budget.schedule is None:
            return True
        span = timedelta(seconds=budget.duration_s) if budget.duration_s else None
        return cron.is_within(budget.schedule, span, budget.time_zone, self._view.now)
