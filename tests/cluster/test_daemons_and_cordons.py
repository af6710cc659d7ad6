"""What the real DaemonSet controller does, and what a real API server tells of who cordoned a node."""

from collections.abc import Iterator
from time import monotonic, sleep

import pytest

from spillway import clock
from spillway.kube.read import read
from spillway.kube.session import Session, close
from spillway.model.access import Access
from spillway.model.cluster import ClusterSnapshot
from spillway.model.memory import Memory
from spillway.planner.amounts import Dimensions
from spillway.planner.daemons import Daemons
from spillway.planner.rules.base import Host
from spillway.planner.view import view
from spillway_local.clock import VirtualClock
from spillway_local.control_plane import ControlPlane
from spillway_local.control_plane.client import Client
from spillway_local.control_plane.cluster import RealCluster
from tests.builders import NOW, fleet, policy
from tests.kube.objects import Object, node
from tests.kube.test_daemons import daemon_set

pytestmark = pytest.mark.cluster

_LIMIT_S = 60.0


@pytest.fixture(scope="module")
def controlled() -> Iterator[ControlPlane]:
    with ControlPlane(("daemonset-controller",), scheduler=False) as plane:
        yield plane


@pytest.fixture
def api(controlled: ControlPlane) -> Iterator[RealCluster]:
    with RealCluster(controlled, VirtualClock(clock.utcnow())) as cluster:
        yield cluster
    close()


def seen(api: RealCluster) -> ClusterSnapshot:
    return read(Session(Access("prod", api.url, token=api.token))).snapshot


def taint(key: str, effect: str, value: str = "x") -> Object:
    return {"key": key, "value": value, "effect": effect}


def required(*terms: Object) -> Object:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def expression(key: str, operator: str, *values: str) -> Object:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


NODES = (
    node("plain", labels={"pool": "web", "gen": "5"}),
    node("gpu", labels={"pool": "gpu", "gen": "7"}, spec={"taints": [taint("gpu", "NoSchedule")]}),
    node("strict", labels={"pool": "web"}, spec={"taints": [taint("dedicated", "NoExecute", "batch")]}),
    node("shy", labels={"gen": "3"}, spec={"taints": [taint("shy", "PreferNoSchedule")]}),
    node("cordoned", labels={"pool": "web"}, spec={"unschedulable": True}),
    node("cut-off", spec={"taints": [taint("node.kubernetes.io/network-unavailable", "NoSchedule")]}),
    node("pressed", spec={"taints": [taint("node.kubernetes.io/disk-pressure", "NoSchedule")]}),
    node("lost", spec={"taints": [taint("node.kubernetes.io/unreachable", "NoSchedule")]}),
)
DAEMONS: tuple[Object, ...] = (
    {},
    {"nodeSelector": {"pool": "web"}},
    {"affinity": required(expression("gen", "Gt", "4"), expression("pool", "DoesNotExist"))},
    {"affinity": required(expression("pool", "NotIn", "gpu"))},
    {"tolerations": [{"operator": "Exists"}]},
    {"tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]},
    {"tolerations": [{"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoExecute"}]},
    {"tolerations": [{"key": "dedicated", "operator": "Equal", "value": "other"}]},
    {"hostNetwork": True},
    {"affinity": required({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["plain"]}]})},
    {"nodeName": "shy"},
)


@pytest.mark.feature("CS-09")
def test_the_daemons_that_we_expect_on_a_node_are_those_that_the_controller_makes(api: RealCluster):
    """The daemon of number n asks for 2**n thousandths of a cpu, so a sum says which they are."""
    for one in NODES:
        api.add(one)
    for number, spec in enumerate(DAEMONS):
        container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": f"{2**number}m"}}}
        api.add(daemon_set(f"agent-{number}", containers=[container], **spec))
    theirs = _made(api)

    found = seen(api)
    daemons = Daemons(view(found, fleet(), Memory(), policy(), NOW), Dimensions([]))
    ours = {one.name: daemons.on(Host(one.name, one.labels, one.taints)).get(0, 0) for one in found.nodes}

    assert ours == theirs
    assert len(set(ours.values())) > 4  # the nodes differ in what they get


def _made(api: RealCluster) -> dict[str, int]:
    """By node, once the controller is done with every DaemonSet."""
    end = monotonic() + _LIMIT_S
    while True:
        sets = api.objects("DaemonSet")
        pods = api.objects("Pod")
        wanted = [one["status"].get("desiredNumberScheduled", 0) for one in sets]
        looked_at = all(one["status"].get("observedGeneration") == one["metadata"]["generation"] for one in sets)
        if looked_at and len(pods) == sum(wanted):
            break
        assert monotonic() < end, f"{len(pods)} pods, {sum(wanted)} wanted"
        sleep(0.1)
    made = dict.fromkeys((one["metadata"]["name"] for one in NODES), 0)
    for one in pods:
        terms = one["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        cpu = one["spec"]["containers"][0]["resources"]["requests"]["cpu"]
        made[terms[0]["matchFields"][0]["values"][0]] += int(cpu.removesuffix("m"))
    return made


@pytest.mark.feature("CS-07")
def test_who_cordoned_a_node_is_what_the_api_server_noted(api: RealCluster, controlled: ControlPlane):
    """As `kubectl cordon` writes it; a later write of another field by another manager changes nothing."""
    for name in ("free", "cordoned"):
        api.add(node(name))
    client = Client(controlled.url, controlled.ca_file, controlled.token)
    patch = "application/strategic-merge-patch+json"
    client.ask("PATCH", "/api/v1/nodes/cordoned?fieldManager=kubectl-cordon", {"spec": {"unschedulable": True}}, patch)
    client.ask("PATCH", "/api/v1/nodes/cordoned?fieldManager=kubectl-label", {"metadata": {"labels": {"a": "b"}}}, patch)
    client.close()

    assert {one.name: one.cordoned_by for one in seen(api).nodes} == {"free": "", "cordoned": "kubectl-cordon"}
