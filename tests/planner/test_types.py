"""A group of several instance types: Auto Scaling chooses, so a pod goes there only if each of them would do."""

from typing import Any

import msgspec
import pytest

from spillway.model.cluster import Taint
from spillway.model.fleet import Choice, NodeGroup, NodeTemplate, Variant
from spillway.model.reason import Code
from spillway.model.selector import UNTOLD, NodeSelectorTerm, Requirement
from tests.builders import GPU, desired, group, instance, node, plan_for, pod, refusals, tolerate
from tests.planner.topology.rules import term

pytestmark = pytest.mark.feature("SO-06")

TYPE, ARCH = "node.kubernetes.io/instance-type", "kubernetes.io/arch"
INTEL = Variant(labels={TYPE: "m5.xlarge", ARCH: "amd64", "fast": "5"})
ARM = Variant(labels={TYPE: "m7g.xlarge", ARCH: "arm64"})


def mixed(**fields: Any) -> NodeGroup:
    return group("mixed", sorts={"m5.xlarge": INTEL, "m7g.xlarge": ARM}, **fields)


def where(key: str, operator: str, *values: str) -> Requirement:
    return Requirement(key=key, operator=operator, values=values)


def wants(*terms: Requirement) -> tuple[NodeSelectorTerm, ...]:
    """Any of them."""
    return tuple(NodeSelectorTerm(expressions=(one,)) for one in terms)


HOLDS_FOR_EACH = {
    "in": where(TYPE, "In", "m5.xlarge", "m7g.xlarge"), "not in": where(TYPE, "NotIn", "t3.micro"),
    "exists": where(ARCH, "Exists"), "does not exist": where("slow", "DoesNotExist"),
}  # fmt: skip
MISSES_ONE = {
    "in": where(TYPE, "In", "m5.xlarge"), "not in": where(ARCH, "NotIn", "arm64"), "exists": where("fast", "Exists"),
    "does not exist": where("fast", "DoesNotExist"), "gt": where("fast", "Gt", "4"), "lt": where("fast", "Lt", "6"),
}  # fmt: skip


@pytest.mark.parametrize("operator", HOLDS_FOR_EACH)
def test_a_pod_whose_rule_holds_for_each_type_is_served(operator: str) -> None:
    assert desired(plan_for(pod(node_affinity=wants(HOLDS_FOR_EACH[operator])), mixed())) == {"mixed": 1}


@pytest.mark.parametrize("operator", MISSES_ONE)
def test_a_pod_whose_rule_one_type_may_miss_is_not_sent_there(operator: str) -> None:
    plan = plan_for(pod(node_affinity=wants(MISSES_ONE[operator])), mixed())
    assert (desired(plan), refusals(plan)) == ({}, {"mixed": Code.AFFINITY})


def test_a_selector_is_no_other() -> None:
    plan = plan_for(pod(node_selector={ARCH: "amd64"}), mixed())
    assert (desired(plan), refusals(plan)) == ({}, {"mixed": Code.SELECTOR})


def test_each_type_may_meet_a_term_of_its_own() -> None:
    either = wants(where(ARCH, "In", "arm64"), where("fast", "Exists"))
    assert desired(plan_for(pod(node_affinity=either), mixed())) == {"mixed": 1}


def test_each_type_must_do_in_each_zone() -> None:
    zone = "topology.kubernetes.io/zone"
    either = wants(where(ARCH, "In", "arm64"), where(zone, "In", "us-east-1a"))
    assert desired(plan_for(pod(node_affinity=either), mixed())) == {"mixed": 1}
    assert desired(plan_for(pod(node_affinity=either), mixed(zones=["us-east-1a", "us-east-1b"]))) == {}


def test_a_taint_of_one_type_keeps_off_who_does_not_tolerate_it() -> None:
    taint = Taint(key="arch", value="arm64", effect="NoSchedule")
    tainted = group("g", sorts={"m5.xlarge": INTEL, "m7g.xlarge": Variant(labels=ARM.labels, taints=(taint,))})
    assert refusals(plan_for(pod(), tainted)) == {"g": Code.TAINT}
    assert desired(plan_for(pod(tolerations=(tolerate("arch", "arm64"),)), tainted)) == {"g": 1}


def test_a_taint_that_one_type_sheds_while_it_starts_keeps_nobody_off() -> None:
    taint = Taint(key="startup-taint.cluster-autoscaler.kubernetes.io/gpu", effect="NoSchedule")
    assert desired(plan_for(pod(), group("g", sorts={"a": INTEL, "b": Variant(labels=ARM.labels, taints=(taint,))}))) == {
        "g": 1
    }


@pytest.mark.parametrize(
    ("rule", "served"),
    [
        (where(TYPE, "Exists"), True), (where(TYPE, "In", "m5.xlarge"), False), (where(TYPE, "NotIn", "m5.xlarge"), False),
        (where(TYPE, "DoesNotExist"), False), (where(TYPE, "Gt", "1"), False),
    ],
)  # fmt: skip
def test_of_a_value_that_nobody_knows_only_that_it_is_there_is_sure(rule: Requirement, served: bool) -> None:
    unclear = group("g", sorts={"": Variant(labels={TYPE: UNTOLD})})
    assert desired(plan_for(pod(node_affinity=wants(rule)), unclear)) == ({"g": 1} if served else {})


def test_why_not_says_that_nobody_knows_the_value() -> None:
    plan = plan_for(pod(node_selector={TYPE: "m5.xlarge"}), group("g", sorts={"": Variant(labels={TYPE: UNTOLD})}))
    assert plan.unserved[0].reasons[0].text == f"selects {TYPE}=m5.xlarge, nobody knows which it is"


def test_groups_that_differ_in_nothing_but_their_types_are_told_apart() -> None:
    others = group("others", sorts={"m5.xlarge": INTEL, "c5.xlarge": Variant(labels={**INTEL.labels, TYPE: "c5.xlarge"})})
    assert desired(plan_for(pod(node_selector={ARCH: "amd64"}), mixed(), others)) == {"others": 1}


@pytest.mark.feature("SO-07")
def test_a_pod_that_avoids_others_by_type_is_not_sent_where_their_type_may_come() -> None:
    there = node("n1", labels=INTEL.labels, cpu="1")
    db = pod("db", node="n1", labels={"app": "db"}, cpu="1")
    shy = pod("shy", pod_anti_affinity=term(TYPE))
    assert desired(plan_for(there, db, shy, mixed())) == {}
    unclear = group("g", sorts={"": Variant(labels={TYPE: UNTOLD})})
    assert desired(plan_for(there, db, shy, unclear)) == {}


class TestOnceItIsLaunched:
    """What came is known: no other type has to do."""

    def of(self, *types: str, **fields: Any) -> NodeGroup:
        """Instances of these types, which are on their way."""
        found = [instance(f"new{i}", lifecycle="Pending", age_s=30) for i in range(len(types))]
        came = [msgspec.structs.replace(one, instance_type=name) for one, name in zip(found, types, strict=True)]
        return group("mixed", instances=came, max_size=len(types), **fields)

    def test_an_instance_on_its_way_takes_who_wants_its_type(self) -> None:
        sorts = {"m5.xlarge": INTEL, "m7g.xlarge": ARM}
        plan = plan_for(pod(node_selector={ARCH: "arm64"}, count=2, cpu="3"), self.of("m5.xlarge", "m7g.xlarge", sorts=sorts))
        assert (plan.summary.pods_on_coming_nodes, plan.summary.pods_unserved) == (1, 1)

    def test_and_has_as_much_as_its_type(self) -> None:
        small, large = self.of("m5.xlarge", sorts={"m5.xlarge": INTEL}), self.of("m5.4xlarge", sorts={"m5.4xlarge": INTEL})
        both = with_choices(large, *choices(small), *grown(choices(large), cpu=16000))
        assert plan_for(pod(cpu="10"), both).summary.pods_on_coming_nodes == 1

    @pytest.mark.feature("SO-10")
    @pytest.mark.parametrize(("advertised", "coming"), [(4, 0), (1, 4)])
    def test_a_node_that_starts_waits_for_all_devices_of_its_own_type(self, advertised: int, coming: int) -> None:
        fresh = node("n1", age_s=60, gpu=advertised)
        mine = group("gpus", nodes=[fresh], gpu=1, sorts={"m5.xlarge": INTEL, "g4dn.12xlarge": ARM}, max_size=1)
        both = with_choices(mine, *grown(choices(mine)[:1], **{GPU: 4}), *choices(mine)[1:])
        plan = plan_for(fresh, pod(gpu=1, cpu="100m", count=4), both)
        assert (plan.summary.pods_on_coming_nodes, plan.summary.pods_unserved) == (coming, 0)

    def test_one_of_a_type_that_nobody_knows_is_what_its_node_says(self) -> None:
        fresh = node("n1", age_s=60, ready=False, labels={TYPE: "c5.xlarge"})
        unclear = group("g", nodes=[fresh], max_size=1)
        assert unclear.template is not None
        sorts = (Variant(labels={TYPE: UNTOLD, "fast": UNTOLD}),)
        unclear = with_template(unclear, msgspec.structs.replace(unclear.template, others=sorts))
        assert plan_for(fresh, pod(node_selector={TYPE: "c5.xlarge"}), unclear).summary.pods_on_coming_nodes == 1
        assert plan_for(fresh, pod(node_selector={"fast": "5"}), unclear).summary.pods_on_coming_nodes == 0
        assert plan_for(fresh, pod(node_affinity=wants(where("fast", "NotIn", "5"))), unclear).summary.pods_unserved == 1


@pytest.mark.feature("SO-10")
def test_daemons_take_the_most_that_any_type_gets_of_them() -> None:
    """Not all of them at once: a node is of one type."""
    agents = [
        pod(f"agent-{arch}", cpu=cpu, owner="DaemonSet", node_selector={ARCH: arch})
        for arch, cpu in (("amd64", "500m"), ("arm64", "1"))
    ]
    assert desired(plan_for(pod(cpu="3"), mixed(), daemons=agents)) == {"mixed": 1}
    assert refusals(plan_for(pod(cpu="3100m"), mixed(), daemons=agents)) == {"mixed": Code.TOO_SMALL}


def choices(one: NodeGroup) -> tuple[Choice, ...]:
    assert one.template is not None
    return one.template.choices


def grown(known: tuple[Choice, ...], **more: int) -> tuple[Choice, ...]:
    return tuple(msgspec.structs.replace(one, allocatable={**one.allocatable, **more}) for one in known)


def with_choices(one: NodeGroup, *known: Choice) -> NodeGroup:
    assert one.template is not None
    return with_template(one, msgspec.structs.replace(one.template, choices=known))


def with_template(one: NodeGroup, template: NodeTemplate) -> NodeGroup:
    return msgspec.structs.replace(one, template=template)
