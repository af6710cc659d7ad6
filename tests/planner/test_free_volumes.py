"""PersistentVolumes that are free: each pod that waits takes its own, where its node can reach it."""

from typing import Any

import pytest

from spillway import planner
from spillway.model.fleet import NodeGroup
from spillway.model.memory import Memory
from spillway.model.plan import Plan
from tests.builders import NOW, desired, fleet, group, policy
from tests.kube.objects import Object, node, pod, snapshot_of
from tests.kube.storage_objects import ZONE, allowed, claim, free, in_zones, mounts, storage_class

pytestmark = pytest.mark.feature("SO-06")

HOST = "kubernetes.io/hostname"
MAKES_NONE = storage_class("local", provisioner="kubernetes.io/no-provisioner")


def machine(name: str, zone: str = "us-east-1a", cpu: str = "8") -> Object:
    made = node(name, labels={HOST: name, ZONE: zone})
    made["status"]["allocatable"] |= {"cpu": cpu}
    return made


def volume(name: str, *zones: str, host: str = "", size: str = "10Gi", **meta: Any) -> Object:
    """Of a zone or more, of a host, or for all nodes."""
    affinity = in_zones(host, key=HOST) if host else in_zones(*zones) if zones else None
    return free(name, spec={"storageClassName": "local", "nodeAffinity": affinity, "capacity": {"storage": size}}, **meta)


def waits(name: str, *sizes: str, cpu: str = "1", spec: Object | None = None, **meta: Any) -> list[Object]:
    """A pod with claims of its own."""
    asked = {f"{name}-{number}": size for number, size in enumerate(sizes or ("10Gi",))}
    claims = [
        claim(one, storage_class="local", spec={"resources": {"requests": {"storage": size}}}) for one, size in asked.items()
    ]
    return [pod(name, spec=mounts(*asked) | _asks(cpu) | (spec or {}), **meta), *claims]


def _asks(cpu: str) -> Object:
    return {"containers": [{"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu}}}]}


def many(count: int, *sizes: str, **fields: Any) -> list[Object]:
    return [one for number in range(count) for one in waits(f"p{number}", *sizes, **fields)]


def plan_of(*objects: Object, groups: tuple[NodeGroup, ...] = ()) -> Plan:
    seen = snapshot_of(*objects, MAKES_NONE) if not any(o["kind"] == "StorageClass" for o in objects) else snapshot_of(*objects)
    return planner.plan(seen, fleet(*groups), Memory(), policy(), NOW)


def zonal(zone: str, **fields: Any) -> NodeGroup:
    return group(zone, zones=[f"us-east-1{zone}"], **fields)


def on(plan: Plan) -> dict[str, int]:
    """Pods by target."""
    found: dict[str, int] = {}
    for one in plan.placements:
        found[one.target] = found.get(one.target, 0) + one.pods
    return found


class TestOnNodesThatAreThere:
    def test_no_more_pods_than_there_are_volumes(self):
        plan = plan_of(machine("n1"), volume("v1", host="n1"), volume("v2", host="n1"), *many(3), groups=(zonal("a"),))
        assert (on(plan), desired(plan), plan.summary.pods_unserved) == ({"n1": 2}, {}, 1)
        assert plan.unserved[0].reasons[0].text == (
            "waits for a free PersistentVolume, and those that its node could reach go to others"
        )

    def test_each_node_takes_as_many_as_it_reaches(self):
        disks = [volume("v1", host="n1"), volume("v2", host="n2"), volume("v3", host="n2")]
        assert on(plan_of(machine("n1"), machine("n2"), *disks, *many(3))) == {"n1": 1, "n2": 2}

    def test_a_node_without_room_leaves_its_volume(self):
        disks = [volume("v1", host="n1"), volume("v2", host="n2")]
        plan = plan_of(machine("n1", cpu="500m"), machine("n2"), *disks, *many(2))
        assert (on(plan), plan.summary.pods_unserved) == ({"n2": 1}, 1)

    def test_room_that_others_take_sends_a_pod_to_another_volume(self):
        """The pod that comes first takes n1, which is full then."""
        first = pod("first", spec=_asks("8") | {"nodeSelector": {HOST: "n1"}}, priority=9)
        disks = [volume("v1", host="n1"), volume("v2", host="n2")]
        assert on(plan_of(machine("n1"), machine("n2"), *disks, first, *waits("p"))) == {"n1": 1, "n2": 1}

    def test_both_claims_of_a_pod_are_met_on_one_node(self):
        disks = [volume("v1", host="n1"), volume("v2", host="n2"), volume("v3", host="n2")]
        assert on(plan_of(machine("n1"), machine("n2"), *disks, *waits("p", "10Gi", "10Gi"))) == {"n2": 1}
        assert on(plan_of(machine("n1"), machine("n2"), *disks[:2], *waits("p", "10Gi", "10Gi"))) == {}

    def test_a_small_claim_leaves_the_large_volume(self):
        disks = [volume("v1", host="n1", size="20Gi"), volume("v2", host="n1", size="10Gi")]
        assert on(plan_of(machine("n1"), *disks, *waits("small", "5Gi", spec={"priority": 5}), *waits("large", "15Gi"))) == {
            "n1": 2
        }
        assert on(plan_of(machine("n1"), *disks, *waits("p", "15Gi"), *waits("q", "15Gi"))) == {"n1": 1}

    def test_who_has_one_choice_gets_it_before_who_has_two(self):
        disks = [volume("v1", host="n1"), volume("v2", host="n2")]
        bound = waits("q", spec={"nodeSelector": {HOST: "n1"}})
        assert on(plan_of(machine("n1"), machine("n2"), *disks, *waits("p"), *bound)) == {"n1": 1, "n2": 1}

    def test_the_more_important_pod_gets_the_only_one(self):
        plan = plan_of(machine("n1"), volume("v1"), *waits("low"), *waits("high", spec={"priority": 5}))
        assert [one.examples for one in plan.unserved] == [("default/low",)]

    def test_whatever_the_others_can_choose(self):
        disks = [volume("v1", host="n1"), volume("v2", host="n2")]
        low = waits("low", spec={"nodeSelector": {HOST: "n1"}})
        plan = plan_of(machine("n1"), machine("n2", cpu="100m"), *disks, *low, *waits("high", spec={"priority": 5}))
        assert [one.examples for one in plan.unserved] == [("default/low",)]

    def test_a_pod_that_is_nominated_holds_one_on_its_node(self):
        disks = [volume("v1", host="n1"), volume("v2", host="n2")]
        there = waits("q")
        there[0]["status"]["nominatedNodeName"] = "n1"
        assert on(plan_of(machine("n1"), machine("n2"), *disks, *there, *waits("p"))) == {"n1": 1, "n2": 1}
        assert on(plan_of(machine("n1"), *disks, *there, *waits("p"))) == {"n1": 1}

    def test_a_pod_that_has_just_come_holds_one_before_its_claim_says_so(self):
        there, its_claim = waits("q")
        there["spec"]["nodeName"] = "n1"
        assert plan_of(machine("n1"), volume("v1", host="n1"), there, its_claim, *waits("p")).summary.pods_unserved == 1

    def test_a_claim_that_pods_share_takes_one(self):
        both = [*waits("p"), pod("p-too", spec=mounts("p-0") | _asks("1")), *waits("q")]
        assert on(plan_of(machine("n1"), volume("v1"), volume("v2"), *both)) == {"n1": 3}
        plan = plan_of(machine("n1", cpu="1"), machine("n2"), volume("v1", host="n1"), volume("v2", host="n2"), *both[:3])
        assert len(on(plan)) == 1, "all that share it go where it is"

    def test_pods_that_keep_apart_go_to_volumes_of_several_nodes(self):
        labels = {"app": "db"}
        apart = {"topologyKey": HOST, "labelSelector": {"matchLabels": labels}}
        rule = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}}
        disks = [volume(f"v{host}{number}", host=host) for host in ("n1", "n2", "n3") for number in range(3)]
        plan = plan_of(*map(machine, ("n1", "n2", "n3")), *disks, *many(3, spec=rule, labels=labels))
        assert on(plan) == {"n1": 1, "n2": 1, "n3": 1}


class TestOnNewNodes:
    GROUPS = (zonal("a"), zonal("b"))

    def test_they_come_in_the_zones_of_the_volumes_as_many_as_these_serve(self):
        disks = [volume("v1", "us-east-1a"), volume("v2", "us-east-1b"), volume("v3", "us-east-1b")]
        plan = plan_of(*disks, *many(4, cpu="3"), groups=self.GROUPS)
        assert (desired(plan), plan.summary.pods_unserved) == ({"a": 1, "b": 2}, 1)

    def test_a_zone_that_can_grow_no_more_leaves_its_volumes(self):
        disks = [volume(f"v{zone}{number}", f"us-east-1{zone}") for zone in "ab" for number in range(3)]
        plan = plan_of(*disks, *many(4, cpu="3"), groups=(zonal("a", max_size=1), zonal("b")))
        assert (desired(plan), plan.summary.pods_unserved) == ({"a": 1, "b": 3}, 0)

    def test_a_spread_over_zones_takes_volumes_of_each(self):
        labels = {"app": "db"}
        even = {
            "topologyKey": ZONE,
            "maxSkew": 1,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": labels},
        }
        disks = [volume(f"v{zone}{number}", f"us-east-1{zone}") for zone in "ab" for number in range(4)]
        both = [machine("n1", "us-east-1a", cpu="100m"), machine("n2", "us-east-1b", cpu="100m")]
        given: dict[str, Any] = {"spec": {"topologySpreadConstraints": [even]}, "labels": labels, "cpu": "3"}
        plan = plan_of(*both, *disks, *many(4, **given), groups=self.GROUPS)
        assert (desired(plan), plan.summary.pods_unserved) == ({"a": 2, "b": 2}, 0)

    def test_a_group_of_two_zones_needs_a_volume_in_each(self):
        wide = group("wide", zones=["us-east-1a", "us-east-1b"])
        a, b = volume("v1", "us-east-1a"), volume("v2", "us-east-1b")
        assert desired(plan_of(a, b, *many(1), groups=(wide,))) == {"wide": 1}
        assert plan_of(a, b, *many(2), groups=(wide,)).summary.pods_unserved == 1
        assert desired(plan_of(a, *many(1), groups=(wide,))) == {}
        assert desired(plan_of(volume("v1"), *many(1), groups=(wide,))) == {"wide": 1}

    def test_a_volume_on_a_host_buys_none(self):
        assert desired(plan_of(machine("n1", cpu="100m"), volume("v1", host="n1"), *many(1), groups=self.GROUPS)) == {}

    def test_who_finds_none_where_the_class_makes_none_goes_where_it_does(self):
        makes = storage_class("local", allowedTopologies=[allowed(zone=["us-east-1b"])])
        plan = plan_of(makes, volume("v1", "us-east-1a"), *many(3, cpu="3"), groups=(zonal("a"), zonal("b", max_size=2)))
        assert (desired(plan), plan.summary.pods_unserved) == ({"a": 1, "b": 2}, 0)


def test_pods_that_take_none_are_planned_as_ever():
    plan = plan_of(machine("n1"), volume("v1", host="n1"), *many(2), pod("other", spec=_asks("2")))
    assert on(plan) == {"n1": 2}
    assert plan.summary.pods_unserved == 1
