"""An optional list that the server has and does not give: what hangs on it waits, and all else goes on."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from spillway import planner
from spillway.errors import ClusterForbidden, ClusterUnavailable
from spillway.kube import follow as following
from spillway.kube import resources
from spillway.kube.follow import follow
from spillway.kube.objects import Objects
from spillway.kube.read import read
from spillway.kube.reduce import reduce
from spillway.kube.session import Session
from spillway.model.cluster import ClusterSnapshot
from spillway.model.memory import Memory
from spillway.model.plan import Plan
from spillway.model.policy import Policy
from spillway.model.reason import Code
from spillway_local.clock import VirtualClock
from spillway_local.kube_api import FakeCluster
from tests.builders import fleet, group
from tests.kube import apis
from tests.kube.cluster import World, open_cluster
from tests.kube.objects import NOW, Object, listed, node, pod, set_of

pytestmark = [pytest.mark.feature("CS-03"), pytest.mark.feature("CS-12")]

KUEUE, JOB_SETS = "Workload.kueue.x-k8s.io", "JobSet.jobset.x-k8s.io"
LASTING = 10**6
IN_JOB_SET = {"jobset.sigs.k8s.io/jobset-name": "train"}


@pytest.fixture
def world() -> Iterator[World]:
    """Its answers are ours to break: a real server could say no more of it."""
    with FakeCluster(VirtualClock(NOW)) as api, open_cluster(api) as opened:
        opened.api.add(node("n1"))
        apis.install(opened.api)
        yield opened


def owned(kind: str, api_version: str = "apps/v1", name: str = "made") -> list[Object]:
    return [{"apiVersion": api_version, "kind": kind, "name": name, "uid": f"u-{name}", "controller": True}]


def waiting(name: str, **meta: Any) -> Object:
    return pod(name, cpu="1", spec={"nodeSelector": {"pool": "new"}}, **meta)


def planned(seen: ClusterSnapshot) -> Plan:
    """With a group for the pods that wait."""
    groups = fleet(group("g", labels={"pool": "new"}))
    return planner.plan(seen, groups, Memory(), Policy(), max(seen.taken_at, groups.taken_at))


def unserved(plan: Plan) -> dict[str, str]:
    return {one.examples[0]: one.reasons[0].text for one in plan.unserved if one.reasons[0].code == Code.NOT_JUDGED}


def unread(seen: ClusterSnapshot) -> list[str]:
    return [one.text for one in seen.warnings if one.code == Code.LIST_UNREADABLE]


def test_a_webhook_whose_pod_waits_for_a_node_does_not_keep_that_node_from_coming(world: World):
    """Kueue's controller converts its objects: without a node for it they do not read, and no node must hang on them."""
    world.api.add(waiting("kueue-controller", ownerReferences=owned("ReplicaSet")))
    world.api.add(waiting("job", ownerReferences=owned("Job", "batch/v1")))
    world.api.add(waiting("torch", ownerReferences=owned("PyTorchJob", "kubeflow.org/v1", "torch")))
    world.api.add(waiting("grouped", labels={"kueue.x-k8s.io/pod-group-name": "four"}))
    world.api.add(waiting("alone"))
    world.api.fail("list", "workloads", 500, times=LASTING)

    seen = read(world.session).snapshot

    (warning,) = (text for text in unread(seen) if text.startswith("list workloads.kueue.x-k8s.io: 500"))
    assert warning.endswith(
        "the pods of its gangs buy no node, nor do those of jobs, each of which may be one; all else goes on"
    )
    plan = planned(seen)
    assert plan.summary.pods_on_new_nodes == 2
    assert unserved(plan).keys() == {"default/grouped", "default/job", "default/torch"}
    assert all("its gang is not known at present" in text and "500" in text for text in unserved(plan).values())
    assert plan.summary.pods_unserved == 3
    assert not any("planned one by one" in one.text for one in plan.warnings)


@pytest.mark.parametrize(
    ("plural", "kind", "meta"),
    [
        ("jobsets", JOB_SETS, {"labels": IN_JOB_SET}),
        ("podgroups", "PodGroup.scheduling.x-k8s.io", {"labels": {"scheduling.x-k8s.io/pod-group": "train"}}),
        ("podgroups", "PodGroup.scheduling.volcano.sh", {"annotations": {"scheduling.volcano.sh/group-name": "train"}}),
        (
            "provisioningrequests", "ProvisioningRequest.autoscaling.x-k8s.io",
            {"annotations": {"autoscaling.x-k8s.io/consume-provisioning-request": "train"}},
        ),
    ],
)  # fmt: skip
def test_pods_of_a_gang_that_does_not_read_are_not_taken_for_single_ones(
    world: World, plural: str, kind: str, meta: dict[str, Any]
):
    for name in ("a", "b"):
        world.api.add(waiting(name, **meta))
    world.api.fail("list", plural, 503, times=LASTING)

    seen = read(world.session).snapshot

    assert len(unread(seen)) >= 1
    (gang,) = (one for one in seen.gangs if one.problem)
    assert set_of(seen, "a").gang == set_of(seen, "b").gang == gang.id
    assert planned(seen).summary.pods_on_new_nodes == 0
    assert planned(seen).summary.pods_unserved == 2
    assert not [one for one in seen.warnings if one.code == Code.GANG_UNKNOWN], "nobody knows that it is missing"


def test_a_group_in_a_composite_that_does_not_read_waits_too():
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}, "parentCompositePodGroupName": "all"}
    head = {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "PodGroup"}
    part = {**head, "metadata": {"name": "part", "namespace": "default"}, "spec": spec}
    found = Objects()
    found.add(listed(part, pod("a", spec={"schedulingGroup": {"podGroupName": "part"}})))
    found.give_up("CompositePodGroup.scheduling.k8s.io", "list compositepodgroups.scheduling.k8s.io: 503")

    (gang,) = reduce(found, cluster="c", taken_at=NOW).gangs

    assert gang.problem == "list compositepodgroups.scheduling.k8s.io: 503"


def test_buffers_whose_templates_do_not_read_say_so_and_nothing_else_stops(world: World):
    kind = "CapacityBuffer.autoscaling.x-k8s.io"
    world.api.add(apis.any_of(kind, spec={"podTemplateRef": {"name": "t"}, "replicas": 1}))
    world.api.fail("list", "podtemplates", 500, times=LASTING)

    seen = read(world.session).snapshot

    assert [one.problem for one in seen.buffers] == ["no PodTemplate default/t was read"]
    (text,) = unread(seen)
    assert "list podtemplates: 500" in text


def test_an_answer_that_is_no_list_is_no_empty_one(world: World, monkeypatch: pytest.MonkeyPatch):
    call = Session.call

    def other(self: Session, method: str, path: str, what: tuple[str, str], *more: Any, **named: Any) -> Any:
        answer = call(self, method, path, what, *more, **named)
        return replace(answer, body=b"{}") if what == ("list", "jobsets.jobset.x-k8s.io") else answer

    monkeypatch.setattr(Session, "call", other)
    world.api.add(waiting("a", labels=IN_JOB_SET))

    assert planned(read(world.session).snapshot).summary.pods_on_new_nodes == 0


def test_an_api_whose_resources_are_not_told_is_asked_for_all_the_same(world: World, monkeypatch: pytest.MonkeyPatch):
    """Its own server is away: what it has would else be taken for what it has not."""
    world.api.add(waiting("a", labels=IN_JOB_SET))
    call = Session.call

    def away(self: Session, method: str, path: str, *more: Any, **named: Any) -> Any:
        if path == "/apis/jobset.x-k8s.io/v1alpha2":
            raise self.unavailable(f"get {path}: 503")
        return call(self, method, path, *more, **named)

    monkeypatch.setattr(Session, "call", away)
    world.api.fail("list", "jobsets", 503, times=LASTING)

    assert "list jobsets.jobset.x-k8s.io: 503" in unread(read(world.session).snapshot)[0]


@pytest.mark.parametrize("plural", ["daemonsets", "namespaces", "persistentvolumes", "csidrivers", "jobs", "configmaps"])
def test_what_every_cluster_has_must_read(world: World, plural: str):
    world.api.fail("list", plural, 503, times=LASTING)
    with pytest.raises(ClusterUnavailable, match=f"list {plural}"):
        read(world.session)


def test_a_right_that_is_missing_is_an_error_as_ever(world: World):
    """It does not pass by itself, and nobody's node waits for it."""
    world.api.fail("list", "jobsets", 403, times=LASTING)
    with pytest.raises(ClusterForbidden, match=r"list jobsets\.jobset\.x-k8s\.io"):
        read(world.session)


@pytest.mark.feature("CS-14")
def test_one_that_hangs_is_given_up_while_there_is_time_for_all_else(world: World, monkeypatch: pytest.MonkeyPatch):
    """A webhook that does not answer holds each request for as long as it may."""
    call = Session.call

    def slow(self: Session, method: str, path: str, what: tuple[str, str], *more: Any, **named: Any) -> Any:
        if what == ("list", "jobsets.jobset.x-k8s.io"):
            world.time.call_in(15, lambda: None)
            world.time.run(limit_s=15)
            self.in_time("list jobsets.jobset.x-k8s.io")
            return call(self, method, path, what, {**more[0], "continue": ""}, **named)
        return call(self, method, path, what, *more, **named)

    monkeypatch.setattr(Session, "call", slow)
    monkeypatch.setattr("spillway.kube.read._OPTIONAL_S", 10.0)

    assert "list jobsets.jobset.x-k8s.io: not all of it came within 10 s" in unread(read(world.session).snapshot)[0]


# ---- in a warm process ----


@pytest.mark.feature("CS-17")
def test_it_is_asked_for_at_each_tick_and_what_it_tells_counts_again(world: World):
    world.api.add(apis.any_of(JOB_SETS, "train", spec={"replicatedJobs": [{"name": "w", "replicas": 2, "template": {}}]}))
    world.api.add(waiting("a", labels=IN_JOB_SET))
    follow(world.session)
    before = world.api.requests["list", "pods"] - world.api.requests["watch", "pods"]

    world.api.drop("watch", "jobsets")
    world.api.fail("list", "jobsets", 500, times=LASTING, after=1)  # after the question for its version
    broken = follow(world.session).snapshot
    still = follow(world.session).snapshot
    world.api.faults.clear()
    mended = follow(world.session).snapshot

    assert [len(unread(seen)) for seen in (broken, still, mended)] == [1, 1, 0]
    assert [[bool(gang.problem) for gang in seen.gangs] for seen in (broken, still, mended)] == [[True], [True], [False]]
    assert mended == read(world.session).snapshot
    assert world.api.requests["list", "pods"] - world.api.requests["watch", "pods"] == before + 1, "the cold one alone"


@pytest.mark.feature("CS-17")
def test_one_whose_api_goes_is_no_problem_any_more(world: World, monkeypatch: pytest.MonkeyPatch):
    world.api.fail("list", "jobsets", 500, times=LASTING)
    assert unread(follow(world.session).snapshot)
    kept = following.kept(world.session)
    assert kept is not None

    monkeypatch.setattr(resources, "optional", lambda session, note: ())

    assert not unread(follow(world.session).snapshot)
