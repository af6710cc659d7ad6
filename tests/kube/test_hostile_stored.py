"""What an API server takes from anybody and keeps: it is read whole, and says and costs little."""

from collections.abc import Iterator

import pytest

from spillway.kube.budgets import NAMED_IN
from spillway.kube.read import read
from spillway.model.base import encode
from spillway.model.cluster import ClusterSnapshot, PodState
from spillway_local.kube_api import Cluster
from tests.kube.cluster import World, open_cluster
from tests.kube.objects import Object, budget, node, pod, set_of

pytestmark = pytest.mark.feature("RS-06")

LONG = 200_000  # all annotations of an object together may have 256 KiB
WILD = "\x1b[2J\r\n<script>{{x}}\u202e`|*"


@pytest.fixture
def world(api_server: Cluster) -> Iterator[World]:
    with open_cluster(api_server) as opened:
        opened.api.add(node("n1"))
        yield opened


def seen(world: World, *objects: Object) -> ClusterSnapshot:
    for one in objects:
        world.api.add(one)
    return read(world.session).snapshot


@pytest.mark.parametrize("value", ["9" * LONG, "x" * LONG, WILD, "9" * 18 + "h", "-1", ""], ids=range(6))
def test_annotations_of_any_text(world: World, value: str) -> None:
    keys = (
        "cluster-autoscaler.kubernetes.io/safe-to-evict", "cluster-autoscaler.kubernetes.io/pod-scale-up-delay",
        "scheduling.volcano.sh/group-name", "autoscaling.x-k8s.io/consume-provisioning-request",
        "kueue.x-k8s.io/pod-group-total-count", "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes",
    )  # fmt: skip
    found = seen(world, *(pod(f"p{n}", annotations={key: value}) for n, key in enumerate(keys)), pod("good"))

    assert set_of(found, "good").state == PodState.UNSCHEDULABLE
    assert {name for one in found.pods for name in one.names} == {"good", *(f"p{n}" for n in range(len(keys)))}
    assert len(encode(found)) < 6000
    assert all(warning.text.isprintable() for warning in found.warnings)


def test_a_replica_set_whose_revision_has_200000_digits(world: World) -> None:
    """Anybody who may annotate one ended the whole view with it: Python refuses to count that far."""
    container = {"name": "main", "image": "app"}
    notes = {f"deployment.kubernetes.io/{key}": "9" * (LONG // 2) for key in ("revision", "desired-replicas")}
    found = seen(
        world,
        {
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": "rs", "namespace": "default", "annotations": notes},
            "spec": {
                "replicas": 0, "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}},
            },
        },
    )  # fmt: skip
    assert [one.name for one in found.nodes] == ["n1"]


def test_owners_in_a_circle_and_of_any_name(world: World) -> None:
    def owned(name: str, by: str, kind: str = "Pod") -> Object:
        return pod(name, ownerReferences=[{"apiVersion": "v1", "kind": kind, "name": by, "uid": by, "controller": True}])

    found = seen(world, owned("a", by="b"), owned("b", by="a"), owned("c", by="c"), owned("d", by="x" * LONG, kind="y" * LONG))

    assert {name for one in found.pods for name in one.names} == set("abcd")
    assert len(encode(found)) < 3000


@pytest.mark.parametrize("provider_id", [f"aws:///{WILD}", "gce://p/z/i", f"aws:///us-east-1a/{'x' * LONG}"], ids=range(3))
def test_a_node_of_any_provider_id(world: World, provider_id: str) -> None:
    found = seen(world, node("n2", spec={"providerID": provider_id}))

    assert [one.machine is None for one in found.nodes] == [False, True]
    assert all(warning.text.isprintable() and len(warning.text) <= 1000 for warning in found.warnings)


def test_1000_containers_with_all_a_pod_may_ask(world: World) -> None:
    asked = {"requests": {"cpu": "1e6", "memory": "7E", "example.com/thing": "9223372036854775807"}}
    limits = {"limits": {"example.com/thing": "9223372036854775807"}}
    many = [{"name": f"c{n}", "image": "app", "resources": asked | limits if n == 0 else {}} for n in range(1000)]
    found = seen(world, pod("a", spec={"containers": many}))

    requests = next(shape for shape in found.shapes if shape.id == set_of(found, "a").shape).requests
    assert requests["example.com/thing"] == 2**63 - 1


def test_a_budget_that_takes_everything_and_many_of_them(world: World) -> None:
    found = seen(world, *(budget(f"b{n}") for n in range(30)), *(pod(f"p{n}", labels={"job": f"j{n}"}) for n in range(30)))

    assert len(found.shapes) == 1
    assert [one.shapes for one in found.budgets] == [(found.shapes[0].id,)] * NAMED_IN + [()] * (30 - NAMED_IN)
