"""Worlds on a real control plane: two regions with a group for work and one for GPUs, and workloads as people write them."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from spillway.aws.table import plans
from spillway.model.plan import Eviction, Plan, ScaleIn, Summary, Why
from spillway.model.reason import Code, Reason
from spillway_local.clock import Stuck
from spillway_local.control_plane import ControlPlane
from spillway_local.kube_api import DURATION, Object, What
from spillway_local.kube_api.pods import condition, is_ready, is_terminating, node_of, phases
from spillway_local.world import World
from spillway_local.world_dump import RawDump
from tests.world import scene
from tests.world.scene import EAST, WEST

GPU = "nvidia.com/gpu"
HASTE = 40.0  # boots, ticks and the workflow's waits are that many times shorter
LIMIT_S = 60.0  # real seconds for any one thing to come; each takes a few
POLICY: Mapping[str, Any] = {
    "regions": [EAST, WEST],
    "may_be_empty": True,
    "scale_in": {"idle_s": 1, "budgets": [{"nodes": "100%"}]},
    "drain": {"settle_s": 1},
}


def region(name: str, price: float) -> dict[str, Any]:
    """A group of m5.large, and one of g4dn.xlarge with a GPU each, where only pods may go that ask for one."""
    work, gpus = scene.group(name, "work"), scene.group(name, "gpus")
    for key, value in ((f"resources/{GPU}", "1"), (f"taint/{GPU}", "present:NoSchedule")):
        gpus["Tags"].append(gpus["Tags"][0] | {"Key": f"k8s.io/cluster-autoscaler/node-template/{key}", "Value": value})
    answers = scene.region(work, gpus, price=price)
    answers["LaunchTemplateVersions"][1]["LaunchTemplateData"]["InstanceType"] = "g4dn.xlarge"
    answers["OnDemandPrices"]["g4dn.xlarge"] = price * 5
    return answers


def world(plane: ControlPlane, **options: Any) -> World:
    """Empty, in both regions."""
    answers = {EAST: region(EAST, 0.1), WEST: region(WEST, 0.11)}
    raw = RawDump(cluster="prod", home=EAST, now=scene.NOW, objects=(), answers=answers, policy=POLICY)
    return World(raw, plane=plane, haste=HASTE, **options)


class Seen:
    """Pods and nodes as last heard of, by threads that go on meanwhile: iterate over a list of them.

    `regions` are those of all nodes that ever joined, `ended` the pods that succeeded, `evicted` those that the Eviction API
    ended; `fewest` is the least number of Ready pods of an app since it was set.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.pods: dict[str, Object] = {}
        self.nodes: dict[str, Object] = {}
        self.regions: set[str] = set()
        self.ended: set[str] = set()
        self.evicted: set[str] = set()
        self.fewest: Counter[str] = Counter()
        world.cluster.watch("Pod", self._pod)
        world.cluster.watch("Node", self._node)

    def of(self, app: str) -> list[Object]:
        return [pod for pod in list(self.pods.values()) if pod["metadata"]["labels"]["app"] == app]

    def ready(self, app: str) -> list[Object]:
        return [pod for pod in self.of(app) if is_ready(pod) and not is_terminating(pod)]

    def hosts(self, app: str) -> dict[str, str]:
        """Name of the pod by node."""
        return {node_of(pod): pod["metadata"]["name"] for pod in self.of(app) if not is_terminating(pod)}

    def come(self, what: str, until: Callable[[], bool]) -> None:
        """Lets the world go on until it is so; else the test fails and tells what there is."""
        try:
            self.world.run(until, LIMIT_S)
        except Stuck as stuck:
            raise AssertionError(f"{what}: not within {LIMIT_S:.0f} s\n{self._told()}") from stuck

    def _told(self) -> str:
        plan = self.world.latest_plan()
        waiting = [(name, condition(pod, "PodScheduled")) for name, pod in list(self.pods.items()) if not node_of(pod)]
        return "\n".join([
            f"pods: {dict(phases(list(self.pods.values())))}", f"instances: {dict(self.world.instances())}",
            *(f"{name}: {told.get('message', 'not looked at yet')}" for name, told in waiting),
            *(one.reason.text for one in (plan.kept if plan else ())),
            *(f"{one.status}: {one.reason}" for one in self.world.outcomes()),
            *(f"{item['name']}: {item['status']}" for item in self.world.executions()),
            *(f"{failure}" for failure in self.world.aws.functions.failures),
        ])  # fmt: skip

    def _pod(self, what: What, pod: Object) -> None:
        name, app = pod["metadata"]["name"], pod["metadata"]["labels"]["app"]
        if (pod.get("status") or {}).get("phase") == "Succeeded":
            self.ended.add(name)
        if condition(pod, "DisruptionTarget").get("reason") == "EvictionByEvictionAPI":
            self.evicted.add(name)
        if what == "DELETED":
            self.pods.pop(name, None)
        else:
            self.pods[name] = pod
        if app in self.fewest:
            self.fewest[app] = min(self.fewest[app], len(self.ready(app)))

    def _node(self, what: What, node: Object) -> None:
        self.regions.add(node["metadata"]["labels"]["topology.kubernetes.io/region"])
        if what == "DELETED":
            self.nodes.pop(node["metadata"]["name"], None)
        else:
            self.nodes[node["metadata"]["name"]] = node


def drains(world: World, pods: Mapping[str, str]) -> Plan:
    """A plan, stored, that drains the nodes of these pods (by node), because they are too old."""
    homes = {machine.node: machine for machine in world.machines()}
    steps = tuple(
        ScaleIn(
            step=step, region=homes[node].region, group=homes[node].group, node=node, instance_id=homes[node].instance_id,
            why=Why.EXPIRED, deadline_s=600, evict=(Eviction(pod=f"default/{pod}", tier=0),),
            reason=Reason(code=Code.EMPTY, text=f"node {node} is to make way"),
        )
        for step, (node, pod) in enumerate(sorted(pods.items()))
    )  # fmt: skip
    plan = Plan(
        plan_id="by-hand", cluster="prod", created_at=world.clock.now(), policy_version="0", snapshots=(), summary=Summary(),
        scale_in=steps,
    )  # fmt: skip
    plans.put(world.table, plan)
    return plan


def template(app: str, cpu: str, duration_s: float | None = None, gpu: bool = False, **spec: Any) -> Object:
    resources: dict[str, Any] = {"requests": {"cpu": cpu, "memory": "256Mi"}}
    if gpu:
        resources["limits"], spec["tolerations"] = {GPU: "1"}, [{"key": GPU, "operator": "Exists"}]
    annotations = {DURATION: str(duration_s)} if duration_s else {}
    containers = [{"name": "main", "image": "app", "resources": resources}]
    return {"metadata": {"labels": {"app": app}, "annotations": annotations}, "spec": {"containers": containers, **spec}}


def job(name: str, pods: int, cpu: str, gpu: bool = False) -> Object:
    of_pods = template(name, cpu, duration_s=60, restartPolicy="Never", gpu=gpu)
    spec = {"parallelism": pods, "completions": pods, "template": of_pods}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def deployment(name: str, replicas: int, cpu: str) -> Object:
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template(name, cpu)}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def budget(app: str, available: int) -> Object:
    spec = {"minAvailable": available, "selector": {"matchLabels": {"app": app}}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": app}, "spec": spec}


def daemon_set(name: str, cpu: str) -> Object:
    of_pods = template(name, cpu, tolerations=[{"operator": "Exists"}])
    spec = {"selector": {"matchLabels": {"app": name}}, "template": of_pods}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name}, "spec": spec}
