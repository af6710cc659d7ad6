"""The whole way on a real control plane: its controllers make pods, its scheduler binds them, its Eviction API lets them go.

Emulated are AWS and the machines. Spillway reaches the API server over TLS, with the role that it ships.
"""

from collections.abc import Iterator

import pytest

from spillway.aws import clients, workflow
from spillway.aws.table import leases, requests
from spillway.kube.markers import CORDONED, LEAVING_TAINT
from spillway.model.plan import OutcomeStatus
from spillway_local.control_plane import WORKLOADS, ControlPlane
from spillway_local.demo.report import RETRIED
from spillway_local.kube_api import Object
from spillway_local.world import World
from tests.cluster import worlds_e2e as e2e
from tests.world.scene import EAST, WEST

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]


@pytest.fixture
def workloads() -> Iterator[ControlPlane]:
    """A plane of its own, with the controllers that make, replace and collect pods."""
    with ControlPlane(WORKLOADS) as plane:
        yield plane


def traces(node: Object) -> list[str]:
    """What a drain leaves on a node while it lasts."""
    taints = [taint["key"] for taint in node["spec"].get("taints", ())]
    found = [key for key in taints if key in (LEAVING_TAINT, "node.kubernetes.io/unschedulable")]
    found += [key for key in node["metadata"]["labels"] if key == CORDONED]
    return found + (["unschedulable"] if node["spec"].get("unschedulable") else [])


def at_rest(world: World, seen: e2e.Seen) -> bool:
    return not (seen.nodes or world.machines() or world.desired()) and world.is_idle()


@pytest.mark.feature("RS-07")
def test_a_burst_spills_over_runs_moves_and_leaves_nothing_behind(workloads: ControlPlane) -> None:
    sizes = {"small": (16, "400m"), "medium": (6, "900m"), "large": (3, "1500m")}
    jobs = [e2e.job(name, pods, cpu) for name, (pods, cpu) in sizes.items()]
    left = {(EAST, "m5.large"): 5, (EAST, "g4dn.xlarge"): 1}
    with e2e.world(workloads, capacity=left) as world:
        seen = e2e.Seen(world)
        world.cluster.add(e2e.daemon_set("agent", "100m"))
        for obj in (*jobs, e2e.job("gpu", 3, "1", gpu=True), e2e.job("huge", 1, "64"), e2e.budget("web", 2)):
            world.cluster.add(obj)
        world.cluster.add(e2e.deployment("web", 3, "1"))

        # What home refuses comes in the second region, and all run but the one that no group can serve.
        seen.come("28 pods of jobs run to their end", lambda: len(seen.ended) == 28)
        refused = [event for event in world.aws.events if event["detail-type"] == "EC2 Instance Launch Unsuccessful"]
        assert {event["region"] for event in refused} == {EAST}
        assert all("sufficient" in event["detail"]["StatusMessage"] for event in refused)
        assert seen.regions == {EAST, WEST}
        plan = world.latest_plan()
        assert plan is not None
        assert [(one.pods, {reason.region for reason in one.reasons}) for one in plan.unserved] == [(1, {EAST, WEST})]

        # Idle nodes go; those of the service stay.
        seen.come("the service alone has nodes", lambda: seen.nodes.keys() == seen.hosts("web").keys() and world.is_idle())
        assert len(seen.ready("web")) == 3
        assert sum(world.instances().values()) == sum(world.desired().values()) == 3

        # Two of its nodes are drained at once; the budget lets one pod go, the other when that is Ready elsewhere.
        old = dict(sorted(seen.hosts("web").items())[:2])
        seen.fewest["web"] = 3
        workflow.start(e2e.drains(world, old))
        seen.come("two nodes make way", lambda: not seen.nodes.keys() & old.keys() and len(seen.ready("web")) == 3)
        assert (seen.evicted, seen.fewest["web"]) == (set(old.values()), 2)
        seen.come("the workflow ends", world.is_idle)
        assert [one.status for one in world.outcomes() if one.plan_id == "by-hand"] == [OutcomeStatus.DONE] * 2
        assert [trace for node in list(seen.nodes.values()) for trace in traces(node)] == []

        # Without work nothing stays.
        world.cluster.remove("Deployment", "web")
        world.cluster.remove("Job", "huge")
        seen.come("nothing is left", lambda: at_rest(world, seen))
        assert {item["status"] for item in world.executions()} == {"SUCCEEDED"}
        assert list(requests.live(world.table)) == []
        assert list(leases.drains(world.table)) == []
        assert [failure for failure in world.aws.functions.failures if failure.error_type not in RETRIED] == []
        assert not world.aws.queue.dead
        assert not world.aws.stream.dead


@pytest.mark.feature("RS-07")
def test_an_exhausted_budget_holds_a_drain_until_a_pod_elsewhere_is_ready(workloads: ControlPlane) -> None:
    with e2e.world(workloads, ticks=False) as world:
        seen = e2e.Seen(world)
        clients.client("autoscaling", EAST).set_desired_capacity(AutoScalingGroupName="work", DesiredCapacity=2)
        world.cluster.add(e2e.budget("web", 1))
        world.cluster.add(e2e.deployment("web", 1, "700m"))
        seen.come("two nodes, and a pod on one", lambda: len(seen.nodes) == 2 and len(seen.ready("web")) == 1)
        (node,) = seen.hosts("web")
        plan = e2e.drains(world, seen.hosts("web"))

        def drain(action: str, **more: str) -> Object:
            asked = {"action": action, "cluster": "prod", "plan_id": plan.plan_id, "step": 0, **more}
            answer: Object = world.aws.functions.invoke("drain", asked)
            return answer

        def allowed() -> int:
            found = world.cluster.get("PodDisruptionBudget", "web") or {}
            return int((found.get("status") or {}).get("disruptionsAllowed", 0))

        assert drain("begin")["status"] == "draining"
        refused = drain("evict")
        assert (refused["status"], refused["evicted"]) == ("waiting", 0)
        assert "Cannot evict pod as it would violate the pod's disruption budget" in refused["reason"]
        assert seen.evicted == set()

        world.cluster.edit("Deployment", "web", lambda one: one["spec"].update(replicas=2))
        seen.come("a second pod is Ready elsewhere", lambda: len(seen.ready("web")) == 2 and allowed() == 1)
        assert drain("evict")["evicted"] == 1
        seen.come("the node is empty", lambda: node not in seen.hosts("web") and len(seen.ready("web")) == 2)
        assert drain("evict")["status"] == "empty"

        drain("abandon", reason="it was only a try")
        seen.come("the drain has left no trace", lambda: traces(seen.nodes[node]) == [])
        world.cluster.remove("Deployment", "web")
        seen.come("the pods have ended", lambda: not seen.pods)
