"""A pod with volumes and a node or two: whether it may go there is what the real scheduler says, in each case by itself."""

from collections.abc import Iterator
from typing import Any

import pytest

from spillway import planner
from spillway.model.memory import Memory
from spillway_local.judge import planning
from spillway_local.judge.scene import NOW
from spillway_local.judge.stage import Stage
from tests.builders import fleet, policy
from tests.kube.objects import Object, node, pod
from tests.kube.storage_objects import (
    EBS,
    EBS_ZONE,
    ZONE,
    allowed,
    attachment,
    claim,
    csi_node,
    ephemeral,
    free,
    in_zones,
    mounts,
    storage_class,
    volume,
)

pytestmark = [pytest.mark.cluster, pytest.mark.feature("CS-08")]

REGION, HOST = "topology.kubernetes.io/region", "kubernetes.io/hostname"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
MIGRATED: dict[str, Any] = {"annotations": {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}}
A = in_zones("us-east-1a")
WEST = {ZONE: "us-east-1b", EBS_ZONE: "us-east-1b"}  # the driver's own label beside the standard one
ONCE = {"accessModes": ["ReadWriteOncePod"]}
LOCAL = storage_class("local", provisioner="kubernetes.io/no-provisioner")
INLINE: Object = {"volumes": [{"name": "d", "awsElasticBlockStore": {"volumeID": "aws:///vol-0b"}}]}
SMALL_DISK = {"capacity": {"storage": "9Gi"}}


def machine(name: str = "n1", **labels: str) -> Object:
    """In us-east-1a, unless the labels say otherwise."""
    one = node(name, labels={HOST: name, ZONE: "us-east-1a", REGION: "us-east-1", **labels})
    one["status"]["capacity"] = one["status"]["allocatable"]
    return one


def bare(name: str = "n1", **labels: str) -> Object:
    """Without any label of a zone or a region."""
    return {**machine(name), "metadata": {"name": name, "labels": {HOST: name, **labels}}}


def bound(*, spec: Object | None = None, **meta: Any) -> list[Object]:
    return [claim(volume="pv-1"), volume(spec=spec, **meta)]


def in_tree(labels: Object | None = None, affinity: Object | None = A) -> list[Object]:
    disk = {"volumeID": "aws://us-east-1a/vol-0a"}
    return bound(spec={"csi": None, "awsElasticBlockStore": disk, "nodeAffinity": affinity}, labels=labels or {})


def local(*, spec: Object | None = None, **meta: Any) -> Object:
    """A disk of the node n1."""
    base: Object = {"storageClassName": "local", "nodeAffinity": in_zones("n1", key=HOST), "csi": None}
    return free(spec=base | {"local": {"path": "/disk"}} | (spec or {}), **meta)


def wants_local(**spec: Any) -> Object:
    return claim(storage_class="local", spec=spec)


def holder(node: str = "n1", claim: str = "data") -> Object:
    return pod("holder", node=node, spec=mounts(claim))


def more(name: str) -> list[Object]:
    """Another claim with its volume."""
    reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name}
    return [claim(name, volume=f"pv-{name}"), volume(f"pv-{name}", spec={"claimRef": reference})]


def driver(**spec: Any) -> Object:
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": EBS}, "spec": spec}


CASES: dict[str, list[Object]] = {
    "bound in its zone": [machine(), *bound(spec={"nodeAffinity": in_zones("us-east-1a")})],
    "bound in another": [machine(), *bound(spec={"nodeAffinity": in_zones("us-east-1b")})],
    "terms are alternatives": [machine(), *bound(spec={"nodeAffinity": in_zones("us-east-1b", "us-east-1a")})],
    "an affinity of an empty term": [machine(), *bound(spec={"nodeAffinity": {"required": {"nodeSelectorTerms": [{}]}}})],
    "two volumes in two zones": [
        machine(), machine("n2", **{ZONE: "us-east-1b"}), *bound(spec={"nodeAffinity": in_zones("us-east-1a")}), *more("more"),
    ],
    "zone label": [machine(), *bound(labels={ZONE: "us-east-1a"})],
    "zone label of another": [machine(), *bound(labels={ZONE: "us-east-1b"})],
    "zone label of a set": [machine(), *bound(labels={ZONE: "us-east-1b__us-east-1a"})],
    "zone label that does not read": [machine(), *bound(labels={ZONE: "us-east-1b____us-east-1c"})],
    "zone label and a node without": [bare(), *bound(labels={ZONE: "us-east-1b"})],
    "zone label and a node with a region only": [bare(**{REGION: "us-east-1"}), *bound(labels={ZONE: "us-east-1b"})],
    "region label of another": [machine(), *bound(labels={ZONE: "us-east-1a", REGION: "us-west-2"})],
    "old zone label": [machine(), *bound(labels={BETA_ZONE: "us-east-1a"})],
    "old zone label of another": [machine(), *bound(labels={BETA_ZONE: "us-east-1b"})],
    "old zone label on both": [machine(**{BETA_ZONE: "us-east-1b"}), *bound(labels={BETA_ZONE: "us-east-1b"})],
    "class that waits": [machine(), storage_class(), claim()],
    "class that allows the zone": [machine(), storage_class(allowedTopologies=[allowed(zone=["us-east-1a"])]), claim()],
    "class that allows another": [machine(), storage_class(allowedTopologies=[allowed(zone=["us-east-1b"])]), claim()],
    "class with alternatives": [
        machine(), claim(),
        storage_class(allowedTopologies=[allowed(zone=["us-east-1b"]), allowed(zone=["us-east-1a"])]),
    ],
    "class that binds at once": [machine(), storage_class(mode="Immediate"), claim()],
    "class that is not there": [machine(), claim()],
    "no class": [machine(), claim(storage_class="")],
    "no claim": [machine()],
    "lost": [machine(), storage_class(), claim(volume="gone", phase="Lost")],
    "volume gone": [machine(), storage_class(), claim(volume="gone")],
    "bound though its class is gone": [machine(), claim(volume="pv-1", storage_class="gone"), volume()],
    "names its volume and is not bound": [
        machine(), storage_class(), claim(volume="pv-1", annotations={}, phase="Pending"), volume(),
    ],
    "made on a node that is gone": [
        machine(), storage_class(), claim(annotations={"volume.kubernetes.io/selected-node": "gone"}),
    ],
    "ephemeral and not made": [machine(), storage_class()],
    "free disk": [machine(), machine("n2"), LOCAL, local(), wants_local()],
    "free disk of another node": [machine("n2"), LOCAL, local(), wants_local()],
    "free disk too small": [machine(), LOCAL, local(spec=SMALL_DISK), wants_local()],
    "free disk of another mode": [machine(), LOCAL, local(spec={"volumeMode": "Block"}), wants_local()],
    "free disk of other access": [machine(), LOCAL, local(spec={"accessModes": ["ReadOnlyMany"]}), wants_local()],
    "free disk by selector": [
        machine(), LOCAL, local(labels={"disk": "ssd"}), wants_local(selector={"matchLabels": {"disk": "ssd"}}),
    ],
    "free disk by another selector": [
        machine(), LOCAL, local(labels={"disk": "hdd"}), wants_local(selector={"matchLabels": {"disk": "ssd"}}),
    ],
    "free disk kept for another": [
        machine(), LOCAL, claim("other"), wants_local(),
        local(spec={"claimRef": {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "other"}}),
    ],
    "no disk": [machine(), LOCAL, wants_local()],
    "attachment left": [machine(), csi_node(ebs=2), *bound(), *more("more"), holder(claim="more")],
    "no attachment left": [machine(), csi_node(ebs=1), *bound(), *more("more"), holder(claim="more")],
    "no attachment left by what hangs there": [
        machine(), csi_node(ebs=1), *bound(), *more("more"), attachment("a1", "pv-more"),
    ],
    "what hangs there is a pod's": [
        machine(), csi_node(ebs=2), *bound(), *more("more"), holder(claim="more"), attachment("a1", "pv-more"),
    ],
    "no attachment left for one to be made": [machine(), csi_node(ebs=0), storage_class(), claim()],
    "limit of another driver": [machine(), csi_node(other=0), *bound()],
    "in-tree": [machine(**{EBS_ZONE: "us-east-1a"}), csi_node(ebs=1, **MIGRATED), *in_tree()],
    "in-tree in another zone": [machine(**WEST), csi_node(ebs=1, **MIGRATED), *in_tree()],
    "in-tree by its label": [machine(**WEST), csi_node(ebs=1, **MIGRATED), *in_tree({ZONE: "us-east-1b"}, affinity=None)],
    "in-tree where nothing is migrated": [machine(), csi_node(ebs=1), *in_tree()],
    "in-tree and no attachment left": [machine(**{EBS_ZONE: "us-east-1a"}), csi_node(ebs=0, **MIGRATED), *in_tree()],
    "in-tree to be made and no attachment left": [
        machine(), csi_node(ebs=0, **MIGRATED), claim(), storage_class(provisioner="kubernetes.io/aws-ebs"),
    ],
    "for one pod alone": [machine(), claim(volume="pv-1", spec=ONCE), volume(spec=ONCE)],
    "another pod has it to itself": [
        machine(), machine("n2"), claim(volume="pv-1", spec=ONCE), volume(spec=ONCE), holder(),
    ],
    "inline disk of another pod": [machine(), pod("holder", node="n1", spec=INLINE)],
    "inline disk of a pod elsewhere": [machine(), machine("n2"), pod("holder", node="n1", spec=INLINE)],
    "inline disk that another writes otherwise": [
        machine(), pod("holder", node="n1", spec={"volumes": [{"name": "d", "awsElasticBlockStore": {"volumeID": "vol-0b"}}]}),
    ],
    "inline disk that a claim has": [machine(), claim(volume="pv-1"), volume(handle="vol-0b"), holder()],
    "a driver that wants its nodes": [machine(), driver(preventPodSchedulingIfMissing=True), csi_node(ebs=None), *bound()],
    "a node without that driver": [machine(), driver(preventPodSchedulingIfMissing=True), csi_node(other=None), *bound()],
    "a driver that does not mind": [machine(), driver(), csi_node(other=None), *bound()],
}  # fmt: skip


@pytest.fixture
def empty(stage: Stage) -> Iterator[Stage]:
    yield stage
    stage.clear()


@pytest.mark.parametrize("name", CASES)
def test_we_and_the_scheduler_agree(empty: Stage, name: str):
    waiting = pod("p", spec=_volumes(name))
    standing = CASES[name]
    ours = _ours([*standing, waiting])

    empty.put(standing)
    empty.settle()  # it has seen all of them before it sees the pod
    empty.put([waiting])
    found = empty.settle()["default", "p"]

    assert bool(found.node) == ours, found.text


def _volumes(name: str) -> Object:
    if name.startswith("ephemeral"):
        return ephemeral()
    if name.startswith("inline"):
        return INLINE
    return mounts("data", "more") if name.startswith("two volumes") else mounts("data")


def _ours(objects: list[Object]) -> bool:
    """Whether the planner sees room for the pod on the nodes that are there."""
    seen = planning.snapshot(objects, NOW)
    return bool(planner.plan(seen, fleet(), Memory(), policy(), NOW).placements)
