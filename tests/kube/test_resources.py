"""Which lists are read, of what a cluster has beside Kubernetes' own, and where an API may be missing."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from spillway.errors import ClusterForbidden, ClusterUnavailable
from spillway.kube import pages, priorities
from spillway.kube.kinds import kind_in
from spillway.kube.objects import Objects
from spillway.kube.read import Reader
from spillway.kube.session import Answer, Session
from spillway_local.kube_api import Cluster
from tests.kube import apis
from tests.kube.cluster import World, open_cluster
from tests.kube.objects import node, pod

pytestmark = pytest.mark.feature("CS-03")

ALWAYS = {
    "nodes", "pods", "poddisruptionbudgets", "namespaces", "daemonsets", "persistentvolumes", "persistentvolumeclaims",
    "storageclasses", "csinodes", "csidrivers", "volumeattachments", "replicasets", "statefulsets", "jobs",
    "replicationcontrollers", "podtemplates", "configmaps", "csistoragecapacities",
}  # fmt: skip
BY_VERSION = {"resourceclaims", "workloads", "podgroups", "compositepodgroups"}
CUSTOM = {
    "CapacityBuffer.autoscaling.x-k8s.io", "ProvisioningRequest.autoscaling.x-k8s.io", "PodGroup.scheduling.x-k8s.io",
    "PodGroup.scheduling.volcano.sh", "Workload.kueue.x-k8s.io", "JobSet.jobset.x-k8s.io",
}  # fmt: skip


class Seen(Objects):
    """Notes the names of what is read, by kind."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, list[str]] = {}

    def put(self, kind: str, raw: Raw | bytes) -> None:
        self.names.setdefault(kind, []).append(msgspec.json.decode(raw)["metadata"]["name"])
        super().put(kind, raw)


@pytest.fixture
def world(api_server: Cluster) -> Iterator[World]:
    with open_cluster(api_server) as opened:
        yield opened


def read(world: World) -> dict[str, list[str]]:
    seen = Seen()
    Reader(world.session, seen).read_all()
    return seen.names


def lists(world: World) -> set[str]:
    return {resource for verb, resource in world.api.requests if verb == "list"}


def answering(session: Session, told: dict[str, Any]) -> Session:
    """A session with a server that says no more than this."""

    class Told(Session):
        def call(self, method: str, path: str, *_: Any, **__: Any) -> Answer:
            return Answer(200, msgspec.json.encode(told[path]), {})

    return Told(session.access)


def test_everything_that_every_cluster_has_is_listed(world: World):
    read(world)
    assert lists(world) - BY_VERSION == ALWAYS


def test_what_depends_on_the_servers_version_is_listed_where_it_has_it(world: World):
    """ResourceClaims from 1.34 on; the objects of gangs where their feature is on, as on the servers of these tests."""
    read(world)
    assert lists(world) >= BY_VERSION


def test_an_api_that_the_cluster_has_not_is_no_error_and_is_not_asked_for(world: World):
    read(world)
    assert lists(world).isdisjoint({"jobsets", "capacitybuffers", "provisioningrequests"})
    assert (world.api.requests["list", "workloads"], world.api.requests["list", "podgroups"]) == (1, 1)  # Kubernetes' own


def test_what_the_cluster_has_of_the_others_is_read_and_told_apart_by_its_group(world: World):
    apis.install(world.api)
    for kind in CUSTOM:
        world.api.add(apis.any_of(kind, name=kind.lower()))

    names = read(world)

    assert {kind for kind in names if "." in kind} == CUSTOM
    assert all(names[kind] == [kind.lower()] for kind in CUSTOM)


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_an_older_version_is_read_where_the_server_has_no_newer(world: World, version: str):
    world.api.define("kueue.x-k8s.io", version, "Workload", "workloads")
    world.api.add({**apis.any_of("Workload.kueue.x-k8s.io"), "apiVersion": f"kueue.x-k8s.io/{version}"})

    assert read(world)["Workload.kueue.x-k8s.io"] == ["one"]


def test_of_two_versions_the_newer_is_read(world: World):
    """A server converts between them; reading both would show each object twice."""
    versions = ["kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2"]
    told: dict[str, Any] = {f"/apis/{one}": {"resources": [{"name": "workloads"}]} for one in versions}
    told["/apis"] = {"groups": [{"versions": [{"groupVersion": one} for one in versions]}]}
    reader = Reader(answering(world.session, told), Objects())
    assert [one.group_version for one in reader.lists() if one.plural == "workloads"] == ["kueue.x-k8s.io/v1beta2"]


@pytest.mark.feature("CS-12")
@pytest.mark.parametrize(
    ("version", "plurals"),
    [("v1alpha1", {"workloads"}), ("v1alpha2", {"podgroups"}), ("v1alpha3", {"podgroups", "compositepodgroups"})],
    ids=["1.35", "1.36", "1.37"],
)
def test_kubernetes_own_gangs_are_read_in_the_form_of_each_of_its_versions(world: World, version: str, plurals: set[str]):
    served = [{"name": one} for one in ("workloads", *plurals)]
    told: dict[str, Any] = {
        "/apis": {"groups": [{"versions": [{"groupVersion": f"scheduling.k8s.io/{version}"}]}]},
        f"/apis/scheduling.k8s.io/{version}": {"resources": served},
    }
    read = {one for one in Reader(answering(world.session, told), Objects()).lists() if one.optional}
    assert {one.path for one in read} >= {f"/apis/scheduling.k8s.io/{version}/{one}" for one in plurals}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths that are asked for."""
    paths: list[str] = []
    call = Session.call

    def noting(session: Session, method: str, path: str, *more: Any, **named: Any) -> Any:
        paths.append(path)
        return call(session, method, path, *more, **named)

    monkeypatch.setattr(Session, "call", noting)
    return paths


def test_what_there_is_is_asked_once_in_ten_minutes(world: World, asked: list[str]):
    """By one small answer, and one for each of our groups that is there."""
    for minute in range(12):
        world.time.call_in(60, lambda: None)
        world.time.run(limit_s=60)
        read(world)
        if minute == 5:
            apis.install(world.api, "JobSet.jobset.x-k8s.io")

    assert asked.count("/apis") == 2
    assert "jobsets" in lists(world)
    assert not any(path.startswith("/apis/apps") and path.endswith("/v1") for path in asked)


def test_an_api_that_goes_leaves_an_empty_list_and_is_looked_for_again(world: World, asked: list[str]):
    apis.install(world.api, "JobSet.jobset.x-k8s.io")
    world.api.add(apis.any_of("JobSet.jobset.x-k8s.io"))
    read(world)
    world.api.fail("list", "jobsets", 404)

    assert "JobSet.jobset.x-k8s.io" not in read(world)
    assert read(world)["JobSet.jobset.x-k8s.io"] == ["one"]
    assert asked.count("/apis") == 2


@pytest.mark.feature("CS-14")
@pytest.mark.parametrize("told", ["who knows", {}, {"kind": "Status", "message": "no"}, {"groups": None}])
def test_a_server_that_does_not_tell_what_it_has_is_not_taken_for_one_that_has_nothing(world: World, told: Any):
    with pytest.raises(ClusterUnavailable, match="get /apis: the answer does not read"):
        Reader(answering(world.session, {"/apis": told}), Objects()).lists()


def test_an_api_that_goes_amid_its_pages_leaves_none_of_the_first(world: World, monkeypatch: pytest.MonkeyPatch):
    """They are not all there was."""
    monkeypatch.setattr(pages, "_PAGE", 1)
    apis.install(world.api, kind := "JobSet.jobset.x-k8s.io")
    for name in ("one", "two"):
        world.api.add(apis.any_of(kind, name))
    world.api.fail("list", "jobsets", 404, after=1)
    reader = Reader(world.session, Objects())

    reader.read_all()

    assert not reader.objects.has(kind)
    assert kind not in reader.versions
    reader.read_all()
    assert set(reader.objects.of(kind)) == {("default", "one"), ("default", "two")}


def test_an_api_that_is_there_and_may_not_be_read_is_named(world: World):
    """A gang of which only the pods were seen would be started by halves."""
    apis.install(world.api, "JobSet.jobset.x-k8s.io")
    world.api.allow([("list", plural) for plural in ALWAYS | BY_VERSION])

    with pytest.raises(ClusterForbidden, match=r"list jobsets\.jobset\.x-k8s\.io"):
        read(world)


def test_of_all_config_maps_the_priorities_alone_are_read(world: World):
    for name, namespace in ((priorities.NAME, "kube-system"), ("secret-plans", "kube-system"), (priorities.NAME, "shop")):
        head = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"priorities": "{}"}}
        world.api.add({**head, "metadata": {"name": name, "namespace": namespace}})

    assert read(world)["ConfigMap"] == [priorities.NAME]


def test_nodes_are_complete_before_pods_begin_and_pods_before_all_others(world: World, asked: list[str]):
    """A pod that is bound meanwhile makes its node busy; and the owner of a pod that is seen was there before it."""
    for one in (node("n1"), pod("a", node="n1")):
        world.api.add(one)
    read(world)

    listed = [path for path in asked if not path.startswith("/apis") or path.count("/") > 3]
    assert listed[:2] == ["/api/v1/nodes", "/api/v1/pods"]


@pytest.mark.parametrize(
    ("api_version", "kind", "called"),
    [
        ("v1", "Pod", "Pod"),
        ("batch/v1", "Job", "Job"),
        ("batch.volcano.sh/v1alpha1", "Job", "Job.batch.volcano.sh"),
        ("scheduling.k8s.io/v1beta1", "Workload", "Workload.scheduling.k8s.io"),
        ("kueue.x-k8s.io/v1beta1", "Workload", "Workload.kueue.x-k8s.io"),
    ],
)
def test_kinds_of_one_name_are_told_apart(api_version: str, kind: str, called: str):
    assert kind_in(api_version, kind) == called
