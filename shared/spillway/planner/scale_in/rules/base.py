"""What a rule of scale in is: a module of two names. To add one: write the module, and put it into `rules.RULES`."""

from typing import Protocol

from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Verdict
from spillway.planner.view import LiveNode


class NodeRule(Protocol):
    """`RULE` says in a sentence what it holds."""

    RULE: str

    def verdict(self, live: LiveNode, facts: Facts) -> Verdict | None:
        """None leaves the node to the next rule."""
        ...


def example(facts: Facts, live: LiveNode) -> str:
    """`3 pods (web/shop-0)`: the workload of a node."""
    pods = sum(len(one.names) for one in live.workload)
    first = live.workload[0]
    return f"{pods} {'pod' if pods == 1 else 'pods'} ({facts.view.shapes[first.shape].namespace}/{first.names[0]})"
