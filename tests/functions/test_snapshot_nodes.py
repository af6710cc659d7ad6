"""Nodes, volumes, daemons and budgets of an API server, fake or real, through the function and the table."""

from collections.abc import Iterator

import pytest

from spillway.model.cluster import Machine
from spillway.model.reason import Code
from spillway.model.volumes import VolumeNeed
from spillway_local.kube_api import Cluster
from tests.kube.handlers import World, handlers_on
from tests.kube.objects import budget, node, pod, set_of, shape_in
from tests.kube.storage_objects import (
    EBS,
    ZONE,
    allowed,
    attachment,
    claim,
    csi_node,
    in_zones,
    mounts,
    storage_class,
    volume,
)
from tests.kube.test_daemons import daemon_set


@pytest.fixture
def world(api_server: Cluster) -> Iterator[World]:
    with handlers_on(api_server) as opened:
        yield opened


@pytest.mark.feature("CS-07")
def test_nodes_are_their_machines_with_what_they_carry(world: World):
    taints = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}]
    plain = node("n1", zone="us-west-2-lax-1a", instance="i-0a", labels={"pool": "web"}, spec={"taints": taints})
    pressed = node("n2", instance="i-0b")
    pressed["status"]["conditions"].append({"type": "DiskPressure", "status": "True"})
    seen = world.snapshot(
        plain,
        pressed,
        node("hybrid", spec={"providerID": "eks-hybrid:///eu-west-1/prod/mi-0a"}),
        node("wrong", spec={"providerID": "aws:///moon/i-0c"}),
        node("ip-10-0-0-7", spec={"providerID": None}),
    )
    found = {one.name: one for one in seen.nodes}

    assert found["n1"].machine == Machine(region="us-west-2", zone="us-west-2-lax-1a", instance_id="i-0a")
    assert (found["n1"].labels["pool"], [one.key for one in found["n1"].taints]) == ("web", ["dedicated"])
    assert found["n1"].allocatable == {"cpu": 4000, "memory": 16 * 1024**3, "pods": 110}
    assert (found["n2"].ready, found["n2"].conditions) == (True, {"DiskPressure": "True"})
    assert (found["hybrid"].machine, found["hybrid"].dns_names) == (None, ())
    assert (found["ip-10-0-0-7"].machine, found["ip-10-0-0-7"].dns_names) == (None, ("ip-10-0-0-7",))
    assert found["wrong"].machine is None
    (warning,) = seen.warnings
    assert (warning.code, "node wrong has the provider id aws:///moon/i-0c" in warning.text) == (Code.MACHINE_UNCLEAR, True)


@pytest.mark.feature("CS-08")
def test_volumes_of_pods_and_attachments_of_nodes(world: World):
    world.api.add(storage_class(allowedTopologies=[allowed(zone=["us-east-1b"])]))
    bound = world.api.add(claim("data", volume="pv-1"))
    reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data", "uid": bound["metadata"]["uid"]}
    seen = world.snapshot(
        node("n1"),
        csi_node("n1", ebs=25),
        volume("pv-1", spec={"claimRef": reference, "nodeAffinity": in_zones("us-east-1a", "us-east-1c")}),
        volume("pv-2", spec={"claimRef": None, "storageClassName": "other"}, phase="Available"),
        attachment("a1", "pv-1"),
        attachment("a2", "pv-2"),
        claim("unbound"),
        claim("lost", volume="gone", phase="Lost"),
        pod("runs", node="n1", spec=mounts("data")),
        pod("waits", spec=mounts("unbound")),
        pod("cannot", spec=mounts("lost")),
        pod("missing", spec=mounts("nowhere")),
    )

    (runs,) = shape_in(seen, "runs").volumes
    assert runs.driver == EBS
    assert [[(r.key, r.values) for r in term.expressions] for term in runs.terms or ()] == [
        [(ZONE, ("us-east-1a",))],
        [(ZONE, ("us-east-1c",))],
    ]
    (waits,) = shape_in(seen, "waits").volumes
    assert [[(r.key, r.values) for r in term.expressions] for term in waits.terms or ()] == [[(ZONE, ("us-east-1b",))]]
    assert shape_in(seen, "cannot").volumes == (VolumeNeed(driver=EBS, problem="its PersistentVolumeClaim is Lost"),)
    assert shape_in(seen, "missing").volumes == (VolumeNeed(problem="its PersistentVolumeClaim is missing"),)
    (n1,) = seen.nodes
    assert (n1.attach_limits, n1.attached) == ({EBS: 25}, {EBS: 1})


@pytest.mark.feature("CS-09")
def test_daemons_are_there_with_the_shape_of_their_pods(world: World):
    seen = world.snapshot(node(), daemon_set("agent", nodeSelector={"pool": "web"}), daemon_set("net", hostNetwork=True))

    assert [one.name for one in seen.daemons] == ["agent", "net"]
    agent, net = (next(one for one in seen.shapes if one.id == daemon.shape) for daemon in seen.daemons)
    assert (agent.node_selector, agent.requests["cpu"], agent.is_daemon) == ({"pool": "web"}, 100, True)
    network = "node.kubernetes.io/network-unavailable"
    assert [any(one.key == network for one in daemon.tolerations) for daemon in (agent, net)] == [False, True]


@pytest.mark.feature("CS-10")
def test_budgets_name_the_shapes_that_they_select(world: World):
    double = budget("front", tier="front")
    double["spec"]["unhealthyPodEvictionPolicy"] = "AlwaysAllow"
    seen = world.snapshot(
        node("n1"),
        budget("web", app="web"),
        double,
        pod("web", node="n1", labels={"app": "web", "tier": "front"}),
        pod("db", node="n1", labels={"app": "db"}),
    )

    web = set_of(seen, "web").shape
    assert {one.name: (one.shapes, one.evicts_unready) for one in seen.budgets} == {
        "web": ((web,), False),
        "front": ((web,), True),
    }
