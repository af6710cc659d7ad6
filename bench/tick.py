"""A tick of a warm Spillway over 100 nodes and 3,000 pods: both snapshots and the planner, in which nothing has changed.

Beside it a busy cluster: in each minute a tenth of the pods is replaced, and a fifth of the nodes writes its status, as
kubelets do every five minutes. The handlers, the emulated account and the fake API server share this process and its
interpreter, so `value` holds what those two take to answer, and stands for two snapshots that run one after the other where
Lambda runs them at once. The API server sends no bookmark, as a real one sends none within its first second.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from bench.check import Wrong
from bench.data import ROOT
from bench.figure import Figure, Seconds, timed
from spillway_local.kube_api import Cluster, FakeCluster
from spillway_local.world import World
from spillway_local.world_dump import RawDump, read_raw

NODES, PODS_A_NODE = 100, 30
RUNS = 4  # idle ones, and as many busy ones: before the ten minutes are over after which all is listed
GOAL_S = 2.0
_OWNERS = 60
_MINUTE_S = 57.0  # the rest of a tick's minute: a tick lets three seconds pass
Object = dict[str, Any]
_FIELDS: Object = {"f:spec": {f"f:field-{number}": {"f:value": {}, "f:kind": {}} for number in range(50)}}
_MANAGED = [{"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": _FIELDS}]


def idle() -> Iterator[Figure]:
    """Seconds and kilobytes of an idle tick, the median of `RUNS`, and those of a busy one."""
    with World(_cluster(), ticks=False) as world:
        api = world.cluster
        assert isinstance(api, FakeCluster)
        api.api.first_bookmark_s = 1.0
        first = _tick(world)
        quiet = [_tick(world) for _ in range(RUNS)]
        busy, work = [], _Work(api, [_pod_name(number) for number in range(NODES * PODS_A_NODE)])
        for minute in range(RUNS):
            work.minute(minute, world.clock.now())
            busy.append(_tick(world))
    if any(run.lists for run in (*quiet, *busy)):
        raise Wrong("a tick listed what it should have followed")
    if any(run.pods != NODES * PODS_A_NODE for run in (first, *quiet, *busy)):
        raise Wrong("not all pods are in the snapshot")
    middle, most = sorted(quiet, key=lambda run: run.total)[RUNS // 2], max(run.total for run in quiet)
    yield {
        "figure": "tick_idle", "value": round(middle.total, 3), "unit": "s", "goal": GOAL_S, "most": round(most, 3),
        **{f"{name}_s": round(seconds.wall, 3) for name, seconds in sorted(middle.seconds.items())},
        "requests": middle.requests, "busy_s": round(median(run.total for run in busy), 3),
        "first_s": round(first.total, 3), "nodes": NODES, "pods": NODES * PODS_A_NODE, "runs": RUNS, "checked": True,
    }  # fmt: skip
    yield {
        "figure": "tick_idle_kb", "value": round(median(run.kb for run in quiet), 1), "unit": "kB", "goal": None,
        "busy_kb": round(median(run.kb for run in busy), 1), "first_kb": round(first.kb, 1),
    }  # fmt: skip


class _Tick:
    """What one took, by function; `kb` came from the API server, over the wire."""

    def __init__(self) -> None:
        self.seconds: dict[str, Seconds] = {}
        self.kb = 0.0
        self.answer: Mapping[str, Any] = {}

    @property
    def total(self) -> float:
        return sum(seconds.wall for seconds in self.seconds.values())

    @property
    def lists(self) -> int:
        return int(self.answer["lists"])

    @property
    def pods(self) -> int:
        return int(self.answer["pods"])

    @property
    def requests(self) -> int:
        return int(self.answer["requests"])


def _tick(world: World) -> _Tick:
    tick, functions, before = _Tick(), world.aws.functions, world.cluster.bytes_sent
    invoke = functions.invoke

    def timing(name: str, event: Object) -> Any:
        with timed(tick.seconds.setdefault(name, Seconds())):
            answer = invoke(name, event)
        if name == "snapshot_cluster":
            tick.answer = answer
        return answer

    functions.invoke = timing  # type: ignore[method-assign]
    try:
        world.tick()
    finally:
        functions.invoke = invoke  # type: ignore[method-assign]
    tick.kb = (world.cluster.bytes_sent - before) / 1000
    world.clock.run(limit_s=_MINUTE_S)
    if functions.failures or set(tick.seconds) != {"snapshot_cluster", "snapshot_fleet", "plan"}:
        raise Wrong(f"a tick did not run as it should: {sorted(tick.seconds)}, {functions.failures}")
    return tick


@dataclass
class _Work:
    """What goes on in a busy cluster; `names` are those of the pods by number."""

    cluster: Cluster
    names: list[str]

    def minute(self, number: int, now: datetime) -> None:
        for at in range(number, len(self.names), 10):
            self.cluster.remove("Pod", self.names[at])
            self.names[at] = f"{_pod_name(at)}-{number}"
            self.cluster.add(_pod(at, self.names[at]))
        for at in range(number % 5, NODES, 5):
            self.cluster.edit("Node", _node_name(at), lambda node: node["status"].update(conditions=_conditions(now)))


def _cluster() -> RawDump:
    """The nodes and machines of the idle example, of each kind a hundred."""
    raw = read_raw(ROOT / "examples" / "idle")
    node = next(one for one in raw.objects if one["kind"] == "Node")
    answers = json.loads(json.dumps(raw.answers[raw.home]))
    (group,), reservation = answers["AutoScalingGroups"], answers["Reservations"][0]
    member, machine = group["Instances"][0], reservation["Instances"][0]
    ids = [f"i-{number:017x}" for number in range(NODES)]
    group.update(MaxSize=2 * NODES, DesiredCapacity=NODES, Instances=[{**member, "InstanceId": one} for one in ids])
    answers["Reservations"] = [{**reservation, "Instances": [{**machine, "InstanceId": one}]} for one in ids]
    kept = [one for one in raw.objects if one["kind"] == "Namespace"]
    nodes = [_node(number, instance, node) for number, instance in enumerate(ids)]
    pods = [_pod(number, _pod_name(number)) for number in range(NODES * PODS_A_NODE)]
    owners = [_owner(number) for number in range(_OWNERS)]
    return RawDump(raw.cluster, raw.home, raw.now, (*kept, *nodes, *owners, *pods), {raw.home: answers})


def _node(number: int, instance: str, like: Mapping[str, Any]) -> Object:
    """With the images that a kubelet lists, the longest part of a real one."""
    name, zone = _node_name(number), "us-east-1a"
    images = [{"names": [f"registry.example/app-{at}@sha256:{at:064x}"], "sizeBytes": 10**8 + at} for at in range(50)]
    labels = {**like["metadata"]["labels"], "kubernetes.io/hostname": name}
    return {
        **like,
        "metadata": {"name": name, "labels": labels, "creationTimestamp": "2025-12-31T00:00:00Z", "managedFields": _MANAGED},
        "spec": {"providerID": f"aws:///{zone}/{instance}"},
        "status": {**like["status"], "images": images},
    }


def _conditions(now: datetime) -> list[Object]:
    heard = {"lastTransitionTime": "2025-12-31T00:00:00Z", "lastHeartbeatTime": f"{now:%FT%TZ}"}
    return [{"type": "Ready", "status": "True", **heard}, {"type": "MemoryPressure", "status": "False", **heard}]


def _owner(number: int) -> Object:
    labels = {"app": f"web-{number}"}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": f"web-{number}", "namespace": "default", "uid": f"rs-{number}", "managedFields": _MANAGED},
        "spec": {"replicas": NODES * PODS_A_NODE // _OWNERS, "selector": {"matchLabels": labels}},
    }


def _pod(number: int, name: str) -> Object:
    """Running on its node, as large as real ones are: about 4 kB."""
    of = number % _OWNERS
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"web-{of}", "uid": f"rs-{of}", "controller": True}
    environment = [{"name": f"SETTING_{at}", "value": f"value-{at}"} for at in range(20)]
    container = {"name": "main", "image": "app:1", "env": environment, "resources": {"requests": {"cpu": f"{50 + of}m"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "default", "creationTimestamp": "2025-12-31T12:00:00Z",
            "labels": {"app": f"web-{of}"}, "ownerReferences": [owner], "managedFields": _MANAGED,
        },
        "spec": {"nodeName": _node_name(number % NODES), "schedulerName": "default-scheduler", "containers": [container]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }  # fmt: skip


def _pod_name(number: int) -> str:
    return f"web-{number % _OWNERS}-{number}"


def _node_name(number: int) -> str:
    return f"ip-10-0-{number // 200}-{number % 200}"
