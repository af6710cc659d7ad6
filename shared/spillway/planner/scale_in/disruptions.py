"""What PodDisruptionBudgets still allow, over all evictions of one plan and of the drains under way.

A budget of which something is left lets a node go with more of its pods than that, as its controller allows more when the
first have come up elsewhere; then nothing is left of it. Source: cluster-autoscaler/core/scaledown/pdb/basic.go.

The API server's own checks, which decide in the end, are in pkg/registry/core/pod/storage/eviction.go: it refuses pods
under several budgets, and lets pods that are not Ready go where the budget says so or is met without them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from spillway.model.cluster import PodSet, PodState
from spillway.model.workloads import Budget
from spillway.planner.view import View


class Disruptions:
    """Counts down from `allowed` of each budget. Pods of drains under way that still run take theirs first."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._of_shape: dict[str, list[int]] = defaultdict(list)
        for index, budget in enumerate(view.cluster.budgets):
            for shape in budget.shapes:
                self._of_shape[shape].append(index)
        self._left = [budget.allowed for budget in view.cluster.budgets]
        for live in view.nodes:
            if live.is_leaving or live.node.name in view.draining:
                self.take(pods for pods in live.workload if pods.state is PodState.BOUND)

    def of(self, shape_id: str) -> list[Budget]:
        """Those that select pods of the shape."""
        return [self._view.cluster.budgets[index] for index in self._of_shape.get(shape_id, ())]

    def take(self, pods: Iterable[PodSet]) -> None:
        """Books their eviction."""
        for index, number in self._counted(pods).items():
            self._left[index] = max(0, self._left[index] - number)

    def refusal(self, pods: Sequence[PodSet]) -> str:
        """Why not all of them can be evicted now, "" when they can."""
        for one in pods:
            if text := self._never(one):
                return text
        for index in self._counted(pods):
            if self._left[index] < 1:
                return self._spent(index)
        return ""

    def _never(self, pods: PodSet) -> str:
        """What no eviction of this plan changes."""
        budgets = self.of(pods.shape)
        if len(budgets) > 1:
            names = " and ".join(_name(one) for one in budgets)
            return f"is under the disruption budgets {names}: the API server evicts no pod that is under more than one"
        if budgets and not budgets[0].processed and not _is_free(budgets[0], pods):
            return f"is under the disruption budget {_name(budgets[0])}, whose newest version its controller has not seen yet"
        return ""

    def _counted(self, pods: Iterable[PodSet]) -> Counter[int]:
        """How many evictions each budget has to allow."""
        found = Counter[int]()
        for one in pods:
            for index in self._of_shape.get(one.shape, ()):
                if not _is_free(self._view.cluster.budgets[index], one):
                    found[index] += len(one.names)
        return found

    def _spent(self, index: int) -> str:
        budget = self._view.cluster.budgets[index]
        if budget.allowed < 1:
            text = f"{budget.healthy} of its {budget.expected} pods are healthy, {budget.desired} must be"
            return f"is under the disruption budget {_name(budget)}, which allows no eviction: {text}"
        return f"is under the disruption budget {_name(budget)}, whose {budget.allowed} evictions other nodes of this plan take"


def _is_free(budget: Budget, pods: PodSet) -> bool:
    """Pods that are not Ready, and of which the budget does not depend."""
    return pods.unready and (budget.evicts_unready or 0 < budget.desired <= budget.healthy)


def _name(budget: Budget) -> str:
    return f"{budget.namespace}/{budget.name}"
