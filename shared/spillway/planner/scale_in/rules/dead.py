"""Nodes whose machine is dead: two witnesses, and never many at once."""

from spillway.model.plan import Why
from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.silence import witness
from spillway.planner.scale_in.verdict import Goes, Stays, Verdict
from spillway.planner.view import LiveNode

RULE = (
    "A node that is not Ready for `dead_s` goes when EC2 or Auto Scaling finds its instance ill as well; where more than "
    "`dead_at_once` of the nodes are silent, the network is cut, and none goes"
)


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    silence, name = facts.silence, live.node.name
    if name not in silence.silent:
        return None
    text = f"is not Ready since {facts.clock(live).unready_since:%Y-%m-%d %H:%M:%S} UTC"
    if silence.is_general:
        many = f"{len(silence.silent)} of {silence.own} nodes are so, and more than {silence.most} are taken for a cut network"
        return Stays(Code.MANY_SILENT, f"{text}; {many}")
    if against := witness(live):
        return Goes(Why.DEAD, Code.DEAD, f"{text}, and {against}")
    return Stays(Code.NOT_READY, f"{text}, while AWS has nothing against its instance: its pods may be running on")
