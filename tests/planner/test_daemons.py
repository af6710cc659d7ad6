"""What DaemonSets put on a node, and that room which they will take is not given away."""

from typing import Any

import pytest

from spillway.model.cluster import HostPort, Taint
from spillway.model.memory import Memory
from spillway.model.reason import Code
from spillway.model.selector import NodeSelectorTerm, Requirement
from spillway.planner.amounts import Dimensions
from spillway.planner.daemons import Daemons
from spillway.planner.rules.base import Host
from spillway.planner.view import view
from tests.builders import NOW, Pods, cluster, desired, fleet, group, instance, node, plan_for, pod, policy, tolerate

pytestmark = [pytest.mark.feature("CS-09"), pytest.mark.feature("SO-10")]

SMALL = {"kubernetes.io/os": "linux", "pool": "web", "topology.kubernetes.io/zone": "us-east-1a"}
BATCH = Taint(key="dedicated", value="batch", effect="NoSchedule")


def daemon(name: str = "agent", *, cpu: str = "500m", **rules: Any) -> Pods:
    return pod(name, cpu=cpu, memory="1Gi", owner="DaemonSet", **rules)


def cpu_of(*daemons: Pods, taints: tuple[Taint, ...] = (), zones: tuple[str, ...] = ()) -> int:
    """Millicores that they take of a node of labels SMALL."""
    seen = view(cluster(daemons=daemons), fleet(group("g")), Memory(), policy(), NOW)
    found = Daemons(seen, Dimensions([])).on(Host("", SMALL, taints, zones))
    return found.get(0, 0)


def needs_disk(*values: str) -> tuple[NodeSelectorTerm, ...]:
    return (NodeSelectorTerm(expressions=(Requirement(key="pool", operator="In", values=values),)),)


class TestWhichLand:
    def test_all_that_nothing_keeps_away_and_they_add_up(self):
        assert cpu_of(daemon("a"), daemon("b", cpu="250m")) == 750

    def test_their_node_selector_counts(self):
        assert cpu_of(daemon(node_selector={"pool": "web"})) == 500
        assert cpu_of(daemon(node_selector={"pool": "gpu"})) == 0

    def test_and_their_node_affinity(self):
        assert cpu_of(daemon(node_affinity=needs_disk("web", "api"))) == 500
        assert cpu_of(daemon(node_affinity=needs_disk("gpu"))) == 0

    @pytest.mark.parametrize(("effect", "cpu"), [("NoSchedule", 0), ("NoExecute", 0), ("PreferNoSchedule", 500)])
    def test_a_taint_keeps_them_away_unless_it_only_prefers(self, effect: str, cpu: int):
        assert cpu_of(daemon(), taints=(Taint(key="dedicated", effect=effect),)) == cpu

    def test_one_that_tolerates_it_lands(self):
        assert cpu_of(daemon(tolerations=(tolerate("dedicated", "batch"),)), taints=(BATCH,)) == 500

    def test_of_a_zone_land_where_the_group_may_choose_that_zone(self):
        zonal = daemon(node_selector={"topology.kubernetes.io/zone": "us-east-1b"})
        assert cpu_of(zonal) == 0
        assert cpu_of(zonal, zones=("us-east-1a", "us-east-1b")) == 500

    def test_none_are_known_of_an_older_dump(self):
        assert cpu_of() == 0


class TestNewNodes:
    def test_have_no_room_for_pods_where_daemons_will_be(self):
        pods = pod("p", cpu="1", count=4)
        assert desired(plan_for(pods, group("g", cpu="4"))) == {"g": 1}
        assert desired(plan_for(pods, group("g", cpu="4"), daemons=[daemon()])) == {"g": 2}

    def test_of_which_they_leave_too_little_are_not_bought(self):
        plan = plan_for(pod("p", cpu="4"), group("g", cpu="4"), daemons=[daemon()])
        (reason,) = plan.unserved[0].reasons
        assert (reason.code, "has 3.5" in reason.text) == (Code.TOO_SMALL, True)

    def test_that_they_overfill_have_nothing_left(self):
        plan = plan_for(pod("p", cpu="1"), group("g", cpu="4"), daemons=[daemon(cpu="6")])
        assert desired(plan) == {}

    def test_lose_a_slot_and_a_host_port_to_each_daemon(self):
        port = (HostPort(port=9100),)
        assert desired(plan_for(pod("p", count=3), group("g", slots=3), daemons=[daemon()])) == {"g": 2}
        assert desired(plan_for(pod("p", host_ports=port), group("g"), daemons=[daemon(host_ports=port)])) == {}

    def test_are_not_too_small_for_daemons_that_do_not_land_there(self):
        elsewhere = daemon(node_selector={"pool": "gpu"})
        assert desired(plan_for(pod("p", cpu="4"), group("g", cpu="4"), daemons=[elsewhere])) == {"g": 1}

    def test_shed_their_startup_taints_before_daemons_are_counted(self):
        starting = Taint(key="node.cilium.io/agent-not-ready", effect="NoSchedule")
        assert desired(plan_for(pod("p", cpu="4"), group("g", cpu="4", taints=[starting]), daemons=[daemon()])) == {}

    def test_that_are_on_their_way_keep_room_for_them_too(self):
        coming = group("g", cpu="4", instances=[instance("new", lifecycle="Pending", age_s=30)])
        assert desired(plan_for(pod("p", cpu="1", count=4), coming, daemons=[daemon()])) == {"g": 2}


class TestYoungNodes:
    def bought(self, *running: Pods, age_s: float = 60, **given: Any) -> dict[str, int]:
        """For a pod of 4 cpu and a live node that has just these."""
        fresh = node("n1", cpu="4", age_s=age_s)
        return desired(plan_for(pod("p", cpu="4"), *running, fresh, group("g", cpu="8", nodes=[fresh]), **given))

    def test_keep_room_for_daemons_that_have_not_come_yet(self):
        assert self.bought() == {}
        assert self.bought(daemons=[daemon()]) == {"g": 2}

    def test_count_those_that_are_there_once(self):
        running = daemon("agent-x", cpu="1", node="n1")
        fresh = node("n1", cpu="4", age_s=60)
        groups = group("g", cpu="8", nodes=[fresh])
        assert desired(plan_for(pod("p", cpu="3"), running, fresh, groups, daemons=[daemon(cpu="1")])) == {}

    def test_wait_for_none_once_they_are_older(self):
        assert self.bought(age_s=86400, daemons=[daemon()]) == {}
