"""A drain, round by round, on an API server that has the real Eviction API, with the rights that are shipped."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from spillway import clock
from spillway.aws.table import settings
from spillway.kube import rounds
from spillway.kube.evict import Verdict
from spillway.kube.markers import LEAVING_TAINT
from spillway.model.plan import AtDeadline, Eviction, Why
from spillway_local.kube_api import Cluster
from tests.kube.handlers import BINDING, ROLE, World, handlers_on, scale_in
from tests.kube.objects import Object, budget, daemon_of, node, pod
from tests.local.kube_api_objects import until

pytestmark = pytest.mark.feature("EX-07")
CRITICAL = {"priorityClassName": "system-cluster-critical", "priority": 2_000_000_000}
TOLERATES_US = [{"key": LEAVING_TAINT, "operator": "Exists"}]


@pytest.fixture
def world(api_server: Cluster) -> Iterator[World]:
    for one in (ROLE, BINDING, node("n1")):
        api_server.add(one)
    with handlers_on(api_server, user="spillway") as opened:
        yield opened


def running(name: str, spec: Object | None = None, **more: Any) -> Object:
    """A pod on n1 that is Ready, so that budgets count it."""
    one = pod(name, node="n1", spec=spec, **more)
    one["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    return one


def daemon(name: str, spec: Object | None = None, **more: Any) -> Object:
    return running(name, spec, ownerReferences=daemon_of(), **more)


def begin(world: World, *pods: str, why: Why = Why.UNDERUTILISED, **fields: Any) -> dict[str, Any]:
    """Of a plan that knows these pods."""
    world.plan(scale_in=(scale_in(why=why, evict=tuple(Eviction(pod=f"default/{one}", tier=0) for one in pods), **fields),))
    answer = world.call("drain", action="begin", step=1)
    assert answer["status"] == "draining"
    return answer


def evict(world: World, **fields: Any) -> dict[str, Any]:
    return world.call("drain", action="evict", step=1, **fields)


def leaving(world: World) -> list[str]:
    return [one["metadata"]["name"] for one in world.api.objects("Pod") if "deletionTimestamp" in one["metadata"]]


def vanish(world: World, *names: str) -> None:
    for name in names:
        world.api.remove("Pod", name, "default")


def guarded(world: World, *names: str) -> None:
    """Budgets of these names, each of which allows nobody of app=web to go, as soon as their controller has seen it."""
    figures = {"expectedPods": 1, "currentHealthy": 1, "disruptionsAllowed": 0}
    for name in names:
        one = budget(name, app="web")
        one["spec"] = {"minAvailable": 1, "selector": one["spec"]["selector"]}
        world.api.add(one)
        until(world.api, "PodDisruptionBudget", name, lambda one: figures.items() <= (one.get("status") or {}).items())


class TestPhases:
    def test_each_phase_waits_until_the_one_before_is_gone(self, world: World):
        """FC-10: agents for logs and the network outlive what needs them."""
        for one in (
            running("plain"), daemon("agent"), running("core-1", CRITICAL),
            running("core-2", CRITICAL), daemon("net-1", CRITICAL),
            daemon("net-2", CRITICAL),
        ):  # fmt: skip
            world.api.add(one)
        begin(world, "plain", "core-1", "core-2")

        for phase in (["plain"], ["agent"], ["core-1", "core-2"], ["net-1", "net-2"]):
            assert [evict(world)["status"] for _ in range(2)] == ["waiting"] * 2
            assert leaving(world) == phase
            vanish(world, *phase)
        assert evict(world)["status"] == "empty"

    def test_what_would_come_back_at_once_goes_with_the_instance(self, world: World):
        for one in (
            daemon("proxy", {"tolerations": TOLERATES_US}), daemon("all", {"tolerations": [{"operator": "Exists"}]}),
            daemon("asks", annotations={"cluster-autoscaler.kubernetes.io/enable-ds-eviction": "false"}),
            running("static", annotations={"kubernetes.io/config.mirror": "x"}),
        ):  # fmt: skip
            world.api.add(one)
        begin(world, why=Why.EMPTY)

        assert evict(world)["status"] == "empty"
        assert leaving(world) == []

    def test_a_daemon_that_may_not_go_holds_nobody(self, world: World):
        """A DaemonSet has no scale, so a budget over its pods may never allow one."""
        world.api.add(daemon("agent", labels={"app": "web"}))
        world.api.add(running("core", CRITICAL))
        guarded(world, "web")
        begin(world, "core")

        evict(world)
        assert leaving(world) == ["core"]
        vanish(world, "core")
        assert evict(world)["status"] == "empty"

    def test_work_that_tolerates_the_taint_is_asked_to_go_all_the_same(self, world: World):
        world.api.add(running("web", {"tolerations": TOLERATES_US}))
        begin(world, "web")

        assert evict(world)["evicted"] == 1


class TestRefusals:
    def test_a_budget_is_named_with_its_figures(self, world: World):
        world.api.add(running("web", labels={"app": "web"}))
        guarded(world, "strict")
        begin(world, "web")

        answer = evict(world)
        assert (answer["status"], answer["wait_s"], leaving(world)) == ("waiting", 10, [])
        assert "default/web waits: Cannot evict pod" in answer["reason"]
        assert "budget strict needs 1 healthy pods and has 1 currently" in answer["reason"]

    @pytest.mark.parametrize(("after", "wait_s"), [(100, 100), (None, 10), (3, 10), (900, 240)])
    def test_it_is_asked_again_when_the_server_says(self, world: World, after: int | None, wait_s: int):
        """At the latest before the node's lease ends."""
        world.api.add(running("web"))
        begin(world, "web")
        world.api.fail("create", "pods/eviction", 429, retry_after=after)

        assert evict(world)["wait_s"] == wait_s

    @pytest.mark.parametrize("status", [400, 403, 422, 500, 504])
    def test_a_refusal_of_one_pod_keeps_no_other_from_going(self, world: World, status: int):
        """A webhook, a namespace that is being deleted, or a budget that too many write to at once."""
        for name in ("a", "b", "c"):
            world.api.add(running(name))
        begin(world, "a", "b", "c")
        world.api.fail("create", "pods/eviction", status, name="b")

        answer = evict(world)
        assert (answer["status"], answer["evicted"], leaving(world)) == ("waiting", 2, ["a", "c"])
        assert "default/b waits: " in answer["reason"]
        assert evict(world)["evicted"] == 1

    def test_under_two_budgets_a_drain_of_our_own_wish_ends_at_once(self, world: World):
        """FC-13: the Eviction API answers 500 for as long as there are two, so that an hour of asking changes nothing."""
        world.api.add(running("web", labels={"app": "web"}))
        guarded(world, "one", "two")
        begin(world, "web")

        answer = evict(world)
        assert answer["status"] == "abandoned"
        assert "default/web waits: This pod has more than one PodDisruptionBudget" in answer["reason"]

    def test_under_two_budgets_a_forced_drain_waits_for_its_deadline(self, world: World):
        world.api.add(running("web", labels={"app": "web"}))
        world.api.add(running("other"))
        guarded(world, "one", "two")
        begin(world, "web", "other", why=Why.INTERRUPTED, deadline_s=120, at_deadline=AtDeadline.FORCE)

        assert (evict(world)["status"], leaving(world)) == ("waiting", ["other"])
        vanish(world, "other")
        world.pass_s(120)
        answer = evict(world)
        assert (answer["status"], leaving(world)) == ("empty", [])
        assert answer["told"] == (
            "after 120 s node n1 still runs 1 pod: default/web; by policy the instance is ended with them on it"
        )


class TestGoneMeanwhile:
    def test_a_pod_that_vanished_or_has_a_namesake_is_not_asked(self, world: World, monkeypatch: pytest.MonkeyPatch):
        for name in ("a", "b"):
            world.api.add(running(name))
        begin(world, "a", "b")
        real = rounds.evict

        def late(*args: Any) -> Any:
            if world.api.get("Pod", "a", "default"):
                vanish(world, "a", "b")
                world.api.add(running("b"))
            return real(*args)

        monkeypatch.setattr(rounds, "evict", late)
        assert (evict(world)["evicted"], leaving(world)) == (0, [])
        assert (evict(world)["evicted"], leaving(world)) == (1, ["b"])

    @pytest.mark.parametrize("why", [Why.INTERRUPTED, Why.UNDERUTILISED])
    def test_a_finished_pod_holds_nothing(self, world: World, why: Why):
        world.api.add(pod("done", node="n1", phase="Succeeded"))
        begin(world, why=why)
        assert evict(world)["status"] == "empty"


class TestStuck:
    def stuck(self, world: World) -> None:
        """It was asked to go, and a finalizer keeps it for ever."""
        world.api.add(running("web", finalizers=["example.com/never"]))
        begin(world, "web")
        assert evict(world)["evicted"] == 1

    def test_a_pod_holds_its_node_for_its_grace_and_a_minute(self, world: World):
        self.stuck(world)
        world.pass_s(30 + 50)
        assert evict(world)["status"] == "waiting"

    def test_then_it_holds_it_no_longer_and_that_is_told(self, world: World):
        self.stuck(world)
        world.pass_s(30 + 70)
        answer = evict(world)
        assert (answer["status"], answer["told"]) == ("empty", "default/web stayed though its grace was over")
        assert "deletionTimestamp" in world.api.get("Pod", "web", "default")["metadata"], "it is never deleted by us"


def attachment(volume: str, on: str = "n1") -> Object:
    spec = {"attacher": "ebs.csi.aws.com", "nodeName": on, "source": {"persistentVolumeName": volume}}
    return {
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": f"csi-{volume}"}, "spec": spec,
    }  # fmt: skip


class TestVolumes:
    """FC-12."""

    @pytest.fixture
    def attached(self, world: World) -> World:
        """Of a pod that has gone, of one that stays to the end, and one on another node."""
        for one in (attachment("pv-a"), attachment("pv-b"), attachment("pv-c", on="n2")):
            world.api.add(one)
        world.api.add({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "logs", "namespace": "default"},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "pv-b",
                "storageClassName": "",
            },
        })  # fmt: skip
        mounts = [{"name": "logs", "persistentVolumeClaim": {"claimName": "logs"}}]
        world.api.add(daemon("agent", {"tolerations": TOLERATES_US, "volumes": mounts}))
        begin(world, why=Why.EMPTY, deadline_s=120)
        return world

    def test_the_instance_stays_until_they_are_detached_but_for_those_of_pods_that_stay(self, attached: World):
        answer = evict(attached, volumes=True)
        assert (answer["status"], answer["reason"]) == ("waiting", "node n1 waits for volume pv-a to be detached")
        attached.api.remove("VolumeAttachment", "csi-pv-a")
        assert (evict(attached, volumes=True)["status"], evict(attached, volumes=True)["told"]) == ("empty", "")

    def test_at_the_deadline_it_ends_all_the_same_and_that_is_told(self, attached: World):
        attached.pass_s(120)
        answer = evict(attached, volumes=True)
        assert (answer["status"], answer["told"]) == ("empty", "volume pv-a had not been detached by the deadline")

    def test_a_node_that_had_none_asks_for_none(self, attached: World):
        assert evict(attached, volumes=False)["status"] == "empty"
        assert attached.api.requests["list", "volumeattachments"] == 0

    @pytest.mark.parametrize(
        "status", [{"volumesAttached": [{"name": "v", "devicePath": ""}]}, {"volumesInUse": ["v"]}, {}], ids=str
    )
    def test_the_beginning_says_whether_the_node_has_some(self, world: World, status: Object):
        world.api.edit("Node", "n1", lambda one: one["status"].update(status))
        assert begin(world, why=Why.EMPTY)["volumes"] == bool(status)


class TestTime:
    @pytest.mark.feature("EX-14")
    def test_a_slow_server_is_asked_for_twenty_seconds_a_round_and_each_pod_has_its_turn(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ):
        """A function's time is short; what it does not come to, the next round does, though the first are refused again."""
        names = [f"web-{number:02}" for number in range(30)]
        for name in names:
            world.api.add(running(name))
        begin(world, *names)
        asked: list[str] = []
        late, started = timedelta(0), clock.utcnow

        def refused(session: Any, one: Any, max_grace_s: int) -> rounds.Eviction:
            nonlocal late
            late += timedelta(seconds=2)
            asked.append(one.name)
            return rounds.Eviction(one.key, Verdict.WAITING, "not now", 10)

        monkeypatch.setattr(clock, "utcnow", lambda: started() + late)
        monkeypatch.setattr(rounds, "evict", refused)
        answer = evict(world)
        assert (answer["status"], answer["wait_s"], len(asked)) == ("waiting", 1, 10)
        for _ in range(40):
            late += timedelta(seconds=1)
            evict(world)
        assert set(asked) == set(names)

    def test_no_wait_goes_past_the_deadline(self, world: World):
        world.api.add(running("web", labels={"app": "web"}))
        guarded(world, "web")
        begin(world, "web", deadline_s=60)
        world.pass_s(55)
        answer = evict(world)
        assert answer["wait_s"] == answer["left_s"]
        assert 3 <= answer["left_s"] <= 5


class TestStillAsPlanned:
    """Fresh reads, before each round."""

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("cluster-autoscaler.kubernetes.io/scale-down-disabled", "true"),
            ("karpenter.sh/do-not-disrupt", "true"),
            ("atlassian.com/no-delete", "debugging"),
        ],
    )
    @pytest.mark.feature("SI-16")
    def test_a_node_that_is_forbidden_by_now_is_left_alone(self, world: World, key: str, value: str):
        begin(world, why=Why.EMPTY)
        world.api.edit("Node", "n1", lambda one: one["metadata"].setdefault("annotations", {}).update({key: value}))

        answer = evict(world)
        assert (answer["status"], answer["reason"]) == ("abandoned", f"node n1 carries the annotation {key}")

    def test_what_aws_takes_is_emptied_whatever_is_written_on_it(self, world: World):
        world.api.add(running("web"))
        world.api.edit("Node", "n1", lambda one: one["metadata"].update(annotations={"karpenter.sh/do-not-disrupt": "true"}))
        begin(world, why=Why.INTERRUPTED)
        assert evict(world)["evicted"] == 1

    @pytest.mark.parametrize(
        ("key", "value"),
        [("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"), ("karpenter.sh/do-not-disrupt", "true")],
    )
    def test_a_pod_that_must_not_be_moved_by_now_ends_it(self, world: World, key: str, value: str):
        world.api.add(running("web"))
        begin(world, "web")
        world.api.edit("Pod", "web", lambda one: one["metadata"].update(annotations={key: value}), "default")

        answer = evict(world)
        assert (answer["status"], leaving(world)) == ("abandoned", [])
        assert answer["reason"] == f"node n1 runs default/web, which must not be moved: {key}={value}"

    @pytest.mark.feature("SI-14")
    def test_a_dead_node_that_comes_back_is_kept(self, world: World):
        world.api.edit("Node", "n1", lambda one: one["status"].update(conditions=[{"type": "Ready", "status": "Unknown"}]))
        begin(world, why=Why.DEAD)
        assert evict(world)["status"] == "empty"
        world.api.edit("Node", "n1", lambda one: one["status"].update(conditions=[{"type": "Ready", "status": "True"}]))

        answer = evict(world)
        assert (answer["status"], answer["reason"]) == ("abandoned", "node n1 is Ready again")

    @pytest.mark.feature("SI-14")
    def test_pods_of_a_dead_node_hold_it_for_their_grace_at_most(self, world: World):
        """No kubelet is left to end them."""
        world.api.edit("Node", "n1", lambda one: one["status"].update(conditions=[{"type": "Ready", "status": "Unknown"}]))
        world.api.add(running("web"))
        begin(world, why=Why.DEAD)
        assert evict(world)["evicted"] == 1
        world.pass_s(30 + 70)
        assert evict(world)["status"] == "empty"

    @pytest.mark.feature("EX-09")
    def test_a_person_who_uncordons_the_node_ends_it(self, world: World):
        """kubectl uncordon leaves our label."""
        begin(world, why=Why.EMPTY)
        world.api.edit("Node", "n1", lambda one: one["spec"].pop("unschedulable"))

        answer = evict(world)
        assert answer["reason"] == "node n1 is no longer cordoned by this plan: somebody gave it back"
        world.call("drain", action="abandon", step=1, reason=answer["reason"])
        assert LEAVING_TAINT not in [taint["key"] for taint in world.node()["spec"].get("taints", ())]
        assert "spillway.io/cordoned" not in world.labels()

    @pytest.mark.feature("SI-16")
    def test_a_group_that_the_policy_ignores_by_now_is_left_alone(self, world: World):
        begin(world, why=Why.EMPTY)
        settings.put_policy(world.table, {"groups": {"a": {"ignore": True}}}, by="test")
        assert evict(world)["reason"] == "node n1 is in group a, which the policy ignores"

    @pytest.mark.feature("SI-13")
    def test_an_instance_that_has_joined_after_all_is_kept(self, world: World):
        world.plan(scale_in=(scale_in(node="", why=Why.UNREGISTERED),))

        answer = world.call("drain", action="begin", step=1)
        assert (answer["status"], answer["reason"]) == ("abandoned", "i-0a has joined after all, as node n1")
