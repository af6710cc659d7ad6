"""Volumes: where they let a pod go, and how many a node takes."""

from typing import Any

import pytest

from spillway.model.cluster import Node
from spillway.model.reason import Code
from spillway.model.selector import NodeSelectorTerm, Requirement
from spillway.model.volumes import VolumeNeed
from tests.builders import cluster, desired, group, node, places, plan_for, pod, refusals

pytestmark = [pytest.mark.feature("CS-08"), pytest.mark.feature("SO-06")]

EBS = "ebs.csi.aws.com"
ZONE, EBS_ZONE = "topology.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone"
ZONES = (group("a", zones=["us-east-1a"]), group("b", zones=["us-east-1b"]), group("c", zones=["us-east-1c"]))


def term(*zones: str, key: str = ZONE) -> NodeSelectorTerm:
    return NodeSelectorTerm(expressions=(Requirement(key=key, operator="In", values=zones),))


def in_zones(*terms: NodeSelectorTerm, **fields: Any) -> VolumeNeed:
    return VolumeNeed(driver=EBS, terms=terms, **fields)


class TestWhere:
    @pytest.mark.parametrize("key", [ZONE, EBS_ZONE])
    def test_a_new_node_is_bought_in_the_volumes_zone(self, key: str):
        assert desired(plan_for(pod(volumes=(in_zones(term("us-east-1b", key=key)),)), *ZONES)) == {"b": 1}

    def test_each_term_is_an_alternative(self):
        either = in_zones(term("us-east-1f"), term("us-east-1c"))
        assert desired(plan_for(pod(volumes=(either,)), *ZONES)) == {"c": 1}

    def test_all_volumes_must_be_had_on_one_node(self):
        two = (in_zones(term("us-east-1a", "us-east-1b")), in_zones(term("us-east-1b", "us-east-1c")))
        assert desired(plan_for(pod(volumes=two), *ZONES)) == {"b": 1}

    def test_a_zone_that_no_group_has_is_said(self):
        plan = plan_for(pod(volumes=(in_zones(term("us-east-1f")),)), *ZONES)
        assert refusals(plan) == {"a": "zone", "b": "zone", "c": "zone"}
        assert plan.unserved[0].reasons[0].text == f"has a volume that wants {ZONE} in us-east-1f"

    def test_a_live_node_of_another_zone_does_not_help(self):
        assert desired(plan_for(pod(volumes=(in_zones(term("us-east-1b")),)), node("n1"), *ZONES)) == {"b": 1}

    def test_a_group_that_may_choose_another_zone_is_not_asked(self):
        wide = group("wide", zones=["us-east-1a", "us-east-1b"])
        assert refusals(plan_for(pod(volumes=(in_zones(term("us-east-1b")),)), wide)) == {"wide": "zone"}

    def test_a_volume_on_another_node_by_name_buys_none(self):
        local = NodeSelectorTerm(fields=(Requirement(key="metadata.name", operator="In", values=("n7",)),))
        assert desired(plan_for(pod(volumes=(VolumeNeed(terms=(local,)),)), *ZONES)) == {}

    def test_a_node_that_starts_will_have_its_drivers_label(self):
        fresh = node("n1", age_s=30, ready=False)
        waiting = pod(volumes=(in_zones(term("us-east-1a", key=EBS_ZONE)),))
        assert desired(plan_for(waiting, fresh, group("a", nodes=[fresh]))) == {}


class TestAProblem:
    LOST = VolumeNeed(driver=EBS, problem="its PersistentVolumeClaim is Lost")

    def test_is_a_reason_and_buys_no_node(self):
        plan = plan_for(pod(volumes=(self.LOST,)), group("g"))
        assert desired(plan) == {}
        assert refusals(plan) == {"g": Code.VOLUME}
        assert plan.unserved[0].reasons[0].text == "cannot have a volume: its PersistentVolumeClaim is Lost"

    def test_keeps_the_pod_off_a_node_with_room(self):
        waiting = pod(volumes=(self.LOST,))
        assert places(plan_for(waiting, node("n1"), group("g")), cluster(waiting)) == {}

    def test_does_not_keep_others_back(self):
        assert desired(plan_for(pod("a", volumes=(self.LOST,)), pod("b"), group("g"))) == {"g": 1}


class TestAttachLimits:
    ONE = (VolumeNeed(driver=EBS),)

    def live(self, limit: int = 2, **fields: Any) -> Node:
        return node("n1", cpu="64", memory="256Gi", attach_limits={EBS: limit}, **fields)

    def bought(self, live: Node, *pods: Any) -> int:
        """Nodes that could each hold all pods."""
        return desired(plan_for(*pods, live, group("g", cpu="64", memory="256Gi"))).get("g", 0)

    def test_as_many_pods_as_the_driver_has_attachments(self):
        assert self.bought(self.live(2), pod("p", count=2, volumes=self.ONE)) == 0
        assert self.bought(self.live(2), pod("p", count=3, volumes=self.ONE)) == 1

    def test_a_pod_may_have_several(self):
        other = VolumeNeed(driver=EBS, terms=(term("us-east-1a"),))
        assert self.bought(self.live(3), pod("p", count=2, volumes=(*self.ONE, other))) == 1

    def test_pods_that_run_hold_theirs(self):
        assert self.bought(self.live(2), pod("r", node="n1", volumes=self.ONE), pod("p", count=2, volumes=self.ONE)) == 1

    def test_what_hangs_there_without_a_pod_counts(self):
        assert self.bought(self.live(2, attached={EBS: 1}), pod("p", count=2, volumes=self.ONE)) == 1

    def test_a_shared_volume_hangs_there_once(self):
        shared = (VolumeNeed(driver=EBS, shared=f"{EBS}/vol-1"),)
        running = (pod("r", count=3, node="n1", volumes=shared), pod("s", node="n1", cpu="2", volumes=shared))
        assert self.bought(self.live(2), *running, pod("p", volumes=self.ONE)) == 0
        assert self.bought(self.live(2), *running, pod("p", count=2, volumes=self.ONE)) == 1

    def test_a_volume_that_waiting_pods_share_takes_one_attachment_of_their_node(self):
        shared = (VolumeNeed(driver=EBS, shared=f"{EBS}/vol-1"),)
        both = (pod("p", count=20, volumes=shared), pod("q", count=20, cpu="200m", volumes=shared))
        assert self.bought(self.live(1), *both) == 0
        assert self.bought(self.live(2), *both, pod("o", volumes=self.ONE)) == 0
        assert self.bought(self.live(1), *both, pod("o", volumes=self.ONE)) == 1

    def test_one_that_hangs_there_for_another_pod_takes_none(self):
        """As when a Deployment brings its next pod, and also on a node that has no attachment left."""
        shared = (VolumeNeed(driver=EBS, shared=f"{EBS}/vol-1"),)
        running = pod("r", node="n1", volumes=shared)
        assert self.bought(self.live(1), running, pod("p", volumes=shared)) == 0
        assert self.bought(self.live(1), running, pod("o", node="n1", volumes=self.ONE), pod("p", volumes=shared)) == 0
        assert self.bought(self.live(1), running, pod("p", volumes=(*shared, *self.ONE))) == 1

    def test_each_new_node_attaches_a_shared_one_once(self):
        old = self.live(1, unschedulable=True)
        shared = (VolumeNeed(driver=EBS, shared=f"{EBS}/vol-1"),)
        many = pod("p", count=6, cpu="30", volumes=shared)
        assert desired(plan_for(many, old, group("g", cpu="64", memory="256Gi", nodes=[old]))) == {"g": 4}
        none = self.live(0, unschedulable=True)
        plan = plan_for(many, none, group("g", cpu="64", memory="256Gi", nodes=[none]))
        assert f"needs 1 volumes of {EBS}, m5.xlarge has 0" in plan.unserved[0].reasons[0].text

    def test_another_drivers_volumes_do_not_count(self):
        assert self.bought(self.live(0), pod("p", volumes=(VolumeNeed(driver="efs.csi.aws.com"),))) == 0

    def test_a_node_that_tells_no_limit_has_none(self):
        assert self.bought(node("n1", cpu="64", memory="256Gi"), pod("p", count=50, cpu="1m", volumes=self.ONE)) == 0

    def test_new_nodes_take_as_many_as_their_fellows(self):
        old = self.live(2, labels={"full": "yes"}, unschedulable=True)
        plan = plan_for(pod("p", count=4, volumes=self.ONE), old, group("g", cpu="64", memory="256Gi", nodes=[old]))
        assert desired(plan) == {"g": 3}

    def test_a_driver_that_a_starting_node_lacks_is_still_to_come(self):
        fresh = node("n1", age_s=30, ready=False, attach_limits={EBS: 0})
        assert desired(plan_for(pod("p", volumes=self.ONE), fresh, group("g", nodes=[fresh]))) == {}

    def test_too_many_for_any_node_is_said(self):
        old = self.live(1, unschedulable=True)
        needs = (VolumeNeed(driver=EBS), VolumeNeed(driver=EBS, terms=(term("us-east-1a"),)))
        plan = plan_for(pod("p", volumes=needs), old, group("g", cpu="64", memory="256Gi", nodes=[old]))
        assert f"needs 2 volumes of {EBS}, m5.xlarge has 1" in plan.unserved[0].reasons[0].text


class TestAVolumeThatIsNotMadeYet:
    UNMADE = (VolumeNeed(driver=EBS, shared=f"{EBS}/default/data", first_decides=ZONE),)

    def test_all_that_share_it_go_to_one_zone(self):
        both = (pod("a", cpu="3", count=2, volumes=self.UNMADE), pod("b", cpu="2", count=2, volumes=self.UNMADE))
        tight = tuple(group(name, zones=[f"us-east-1{name}"], max_size=3) for name in "ab")
        plan = plan_for(*both, *tight)
        assert (len(desired(plan)), plan.summary.pods_unserved) == (1, 0)
        assert len(desired(plan_for(pod("a", cpu="3", count=4), *tight))) == 2, "others are sent to both"

    def test_a_zone_that_does_not_hold_all_leaves_some_waiting(self):
        tight = (group(name, zones=[f"us-east-1{name}"], max_size=3) for name in "ab")
        plan = plan_for(pod("a", cpu="3", count=4, volumes=self.UNMADE), *tight)
        assert (len(desired(plan)), plan.summary.pods_unserved) == (1, 1)
        assert any(f"beside pods with volume {EBS}/default/data" in one.text for one in plan.unserved[0].reasons)

    def test_it_keeps_nobody_else(self):
        other = (VolumeNeed(driver=EBS, shared=f"{EBS}/default/more", first_decides=ZONE),)
        single = (group(name, zones=[f"us-east-1{name}"], max_size=1) for name in "ab")
        plan = plan_for(pod("a", cpu="3", volumes=self.UNMADE), pod("b", cpu="3", volumes=other), *single)
        assert plan.summary.pods_unserved == 0


class TestADiskThatSeveralPodsName:
    DISK = (VolumeNeed(driver=EBS, shared=f"{EBS}/vol-0a", disk="vol-0a"),)

    def test_is_one_pods_of_a_node(self):
        assert desired(plan_for(pod("p", cpu="100m", count=3, volumes=self.DISK), group("g"))) == {"g": 3}

    def test_a_pod_that_runs_keeps_others_off_its_node_alone(self):
        n1, n2, running = node("n1"), node("n2"), pod("r", node="n1", cpu="1", volumes=self.DISK)
        plan = plan_for(n1, n2, running, pod("p", cpu="100m", count=2, volumes=self.DISK), group("g", nodes=[n1, n2]))
        assert (desired(plan), plan.summary.pods_on_free_room) == ({"g": 3}, 1)

    def test_is_no_concern_of_who_has_the_same_volume_by_a_claim(self):
        claimed = (VolumeNeed(driver=EBS, shared=f"{EBS}/vol-0a"),)
        both = (pod("p", cpu="100m", volumes=self.DISK), pod("q", cpu="100m", count=2, volumes=claimed))
        assert desired(plan_for(*both, group("g"))) == {"g": 1}


def test_of_several_pods_that_wait_for_a_volume_for_one_pod_the_first_gets_it():
    alone = VolumeNeed(driver=EBS, shared=f"{EBS}/vol-1", exclusive=True)
    plan = plan_for(pod("a", cpu="3", age_s=900, volumes=(alone,)), pod("b", cpu="2", count=2, volumes=(alone,)), group("g"))
    assert desired(plan) == {"g": 1}
    assert [(one.pods, one.reasons[0].code) for one in plan.unserved] == [(2, "volume")]
