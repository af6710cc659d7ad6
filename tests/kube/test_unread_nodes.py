"""A Node object that does not read: its instance has joined for all that, and neither it nor its group is touched for it."""

import json
from datetime import timedelta

import pytest

from spillway import planner
from spillway.kube.objects import Objects
from spillway.kube.reduce import reduce
from spillway.model.cluster import ClusterSnapshot, Machine
from spillway.model.memory import Memory, NodeMemory
from spillway.model.plan import Plan
from spillway.model.policy import Policy
from spillway.planner import clocks
from tests import builders
from tests.kube.objects import NOW, Object, node, pod

pytestmark = pytest.mark.feature("RS-06")

DEEP = "[" * 3000 + "]" * 3000
LONG_AGO = NOW - timedelta(days=1)
BROKEN = {
    "nested too deep": (node("n2", instance="i-n2", more="@@"), DEEP),
    "no JSON": (node("n2", instance="i-n2", more="@@"), "NaN"),
    "a field of another type": (node("n2", instance="i-n2", labels="@@"), "7"),
    "a spec of another type": (node("n2", instance="i-n2", spec={"taints": "@@"}), "7"),
    "no amount": (node("n2", instance="i-n2") | {"status": {"allocatable": {"cpu": "@@"}}}, '"lots"'),
}


def seen_with(broken: Object, wrong: str, *more: Object) -> ClusterSnapshot:
    """Beside it a node that reads, and a pod on each."""
    sound = [node("n1", instance="i-n1"), pod("a", node="n1", cpu="1"), pod("b", node="n2", cpu="1"), *more]
    items = ",".join([*(json.dumps(one) for one in sound), json.dumps(broken).replace('"@@"', wrong)])
    found = Objects()
    found.add(f'{{"kind": "List", "apiVersion": "v1", "items": [{items}]}}'.encode())
    return reduce(found, cluster="c", taken_at=NOW)


def planned(seen: ClusterSnapshot, rules: Policy | None = None, **names: str) -> tuple[Plan, Memory]:
    """What is made of it where both nodes are instances of one group, known as empty for a day."""
    rules = rules or Policy()
    both = [builders.instance("n1"), builders.instance("n2", **names)]
    fleet = builders.fleet(builders.group("g", instances=both, desired=2))
    known = [
        NodeMemory(node=name, first_seen=NOW - timedelta(seconds=40), last_seen=NOW - timedelta(seconds=20),
                   idle_since=LONG_AGO, instance_id=f"i-{name}")
        for name in ("n1", "n2")
    ]  # fmt: skip
    memory = clocks.observe(Memory(nodes=tuple(known)), seen, fleet, rules, NOW)
    return planner.plan(seen, fleet, memory, rules, NOW), memory


@pytest.mark.parametrize(("broken", "wrong"), BROKEN.values(), ids=BROKEN)
def test_its_instance_is_not_ended_and_its_group_not_shrunk(broken: Object, wrong: str):
    seen = seen_with(broken, wrong)
    assert [one.name for one in seen.nodes] == ["n1"]
    assert [(one.name, one.machine) for one in seen.unread_nodes] == [
        ("n2", Machine(region="us-east-1", zone="us-east-1a", instance_id="i-n2"))
    ]
    assert any("node n2 is set aside" in one.text for one in seen.warnings)

    plan, memory = planned(seen)

    assert (plan.scale_in, plan.give_back, plan.scale_out) == ((), (), ())
    assert memory.vanished == (), "its instance runs without a node that reads, not without a node"


def test_without_a_readable_provider_id_it_is_known_by_its_name():
    nameless = node("n2", spec={"providerID": "@@"})
    plan, memory = planned(seen_with(nameless, "7"), private_dns="n2.ec2.internal")
    assert (plan.scale_in, plan.give_back, memory.vanished) == ((), (), ())


@pytest.mark.parametrize(("limit", "bought"), [(2, 0), (3, 1)])
def test_what_its_instance_has_still_counts_against_a_limit(limit: int, bought: int):
    """As its group promises it: nobody knows better."""
    seen = seen_with(*BROKEN["nested too deep"], pod("new", cpu="4"))
    plan, _ = planned(seen, Policy.model_validate({"scale_out": {"limits": {"nodes": limit}}}))
    assert sum(step.nodes for step in plan.scale_out) == bought


def test_it_is_used_again_when_it_reads():
    found = Objects()
    found.put("Node", json.dumps(BROKEN["nested too deep"][0]).replace('"@@"', DEEP).encode())
    found.put("Node", json.dumps(node("n2", instance="i-n2")).encode())
    seen = reduce(found, cluster="c", taken_at=NOW)
    assert ([one.name for one in seen.nodes], seen.unread_nodes, seen.set_aside) == (["n2"], (), 0)
