"""Random pods by shape: those that wait, those that run, and the daemons of every node."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass

from spillway_local.judge import amounts, node_rules, pod_rules, volumes
from spillway_local.judge.features import Feature
from spillway_local.judge.scene import FILLER, PRIORITIES, Aim, Object, Scene, ago, class_name, uid

OWNERS = ("ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet", "Job", "")
VERSIONS = {"ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Job": "batch/v1"}


@dataclass(frozen=True)
class Template:
    """What the pods of one owner have in common. `owner` is "" for bare pods."""

    name: str
    namespace: str
    owner: str
    labels: dict[str, str]
    spec: Object


def template(scene: Scene, name: str, aim: Aim) -> Template:
    """A shape of pods made for `aim`, which some of its rules may miss."""
    dice = scene.dice
    labels = pod_rules.labels(dice, name)
    spec = amounts.containers(scene, aim.have)
    node_rules.apply(scene, spec, aim)
    pod_rules.apply(scene, spec, labels)
    spec |= _priority(scene) | {
        "restartPolicy": "Always", "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
    }  # fmt: skip
    owner = dice.pick(OWNERS)
    if owner == "Job":
        spec["restartPolicy"] = "Never"
    return Template(name, dice.pick(scene.namespaces), owner, {**labels, **scene.mine}, spec)


def _priority(scene: Scene) -> Object:
    """Where no class preempts every pod has one of those: a pod without a class would preempt whoever is below it."""
    dice, preempts = scene.dice, Feature.PREEMPTION in scene.features
    if not preempts and Feature.PRIORITIES not in scene.features:
        return {"priority": 0}
    choices = [*PRIORITIES.items(), *PRIORITIES.items(), FILLER] if preempts else list(PRIORITIES.items())
    word, value = dice.pick(choices)
    preempting = preempts and dice.chance(0.5)
    policy = "PreemptLowerPriority" if preempting else "Never"
    return {"priorityClassName": class_name(word, preempting), "priority": value, "preemptionPolicy": policy}


def waiting(scene: Scene, form: Template, number: int, age_s: float) -> list[Object]:
    """The `number`-th pod of its owner, which no node suits, and what it brings along."""
    pod = _pod(form, f"{form.name}-{number}", age_s)
    brought = []
    if Feature.VOLUMES in scene.features and volumes.is_shared(scene, form.name):
        brought = volumes.shared_claim(scene, form.namespace, form.name) if number == 0 else []
        volumes.mount(pod["spec"], [form.name])
    elif scene.has(Feature.VOLUMES, 0.3):
        claims = [f"{pod['metadata']['name']}-{letter}" for letter in ("a", "b")[: scene.dice.pick((1, 1, 2))]]
        brought = [one for name in claims for one in volumes.claim(scene, form.namespace, name)]
        volumes.mount(pod["spec"], claims)
    pod["status"] = {
        "phase": "Pending", "qosClass": "Burstable",
        "conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": ago(age_s - 1),
            "message": "0/1 nodes are available.",
        }],
    }  # fmt: skip
    return [*brought, pod]


def running(form: Template, number: int, node: str, age_s: float) -> Object:
    pod = _pod(form, f"{form.name}-{number}", age_s)
    pod["spec"]["nodeName"] = node
    conditions = [{"type": kind, "status": "True", "lastTransitionTime": ago(age_s - 5)} for kind in ("PodScheduled", "Ready")]
    pod["status"] = {"phase": "Running", "conditions": conditions}
    return pod


def _pod(form: Template, name: str, age_s: float) -> Object:
    meta: Object = {
        "name": name, "namespace": form.namespace, "labels": dict(form.labels), "creationTimestamp": ago(age_s),
        "uid": uid(f"Pod/{form.namespace}/{name}"),
    }  # fmt: skip
    if form.owner:
        meta["ownerReferences"] = [{
            "apiVersion": VERSIONS[form.owner], "kind": form.owner, "name": form.name, "controller": True,
            "uid": uid(f"{form.owner}/{form.namespace}/{form.name}"),
        }]  # fmt: skip
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": copy.deepcopy(form.spec)}


def daemons(scene: Scene, nodes: Sequence[Object]) -> list[Object]:
    """A DaemonSet that tolerates everything, and its pod on every node that is there."""
    if Feature.DAEMONSETS not in scene.features:
        return []
    name, asked = scene.named("agent"), {"cpu": scene.dice.pick((50, 100, 300)), "memory": 64 * amounts.MIB}
    labels = {pod_rules.APP: name, **scene.mine}
    resources = {"requests": {resource: amounts.text(resource, amount) for resource, amount in asked.items()}}
    spec: Object = {
        "containers": [{"name": "main", "image": amounts.IMAGE, "resources": resources}],
        "nodeSelector": scene.mine, "tolerations": [{"operator": "Exists"}],
        "priorityClassName": class_name("normal"), "priority": 0, "preemptionPolicy": "Never",
        "restartPolicy": "Always", "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30,
    }  # fmt: skip
    form = Template(name, scene.namespaces[0], "DaemonSet", labels, spec)
    rest = {name: value for name, value in spec.items() if name not in ("priority", "preemptionPolicy")}
    template = {"metadata": {"labels": labels}, "spec": rest}
    owner = {
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {
            "name": name, "namespace": form.namespace, "uid": uid(f"DaemonSet/{form.namespace}/{name}"),
            "creationTimestamp": ago(86400),
        },
        "spec": {"selector": {"matchLabels": {pod_rules.APP: name}}, "template": template},
    }  # fmt: skip
    return [owner, *(running(form, number, node["metadata"]["name"], 3600) for number, node in enumerate(nodes))]
