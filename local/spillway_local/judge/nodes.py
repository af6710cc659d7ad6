"""Nodes of random worlds: those that are there, with what runs on them, and those that a plan asks for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spillway.kube import markers
from spillway.model import quantity
from spillway.model.cluster import Taint
from spillway.model.fleet import NodeGroup
from spillway_local.judge import amounts, launches
from spillway_local.judge.features import Feature
from spillway_local.judge.scene import HOSTNAME, LABELS, REGION, TYPE, ZONE, Aim, Object, Scene, ago
from spillway_local.judge.workload import Template, running, template
from spillway_local.world_nodes import node_of

OLD_PLAN = "0123456789abcdef"  # some earlier plan of ours, whose cordon was left behind
CORDON = "node.kubernetes.io/unschedulable"  # of the taint that a cordoned node has
GPU = "nvidia.com/gpu"
SIZES = (5, 5, 6, 6, 7, 7, 8, 8, 9, 10, 12, 24)


@dataclass(frozen=True)
class Standing:
    """A node that is there, the pods on it, and what it has left for others."""

    node: Object
    pods: tuple[Object, ...]
    aim: Aim


def existing(scene: Scene, answers: dict[str, Any], groups: Sequence[NodeGroup]) -> list[Standing]:
    """Nodes of the groups, whose instances go into `answers`, and now and then one of no group; with pods, nearly full."""
    dice, found = scene.dice, list[Object]()
    if Feature.EXISTING not in scene.features:
        return []
    for _ in range(dice.pick(SIZES)):
        group = dice.pick(groups)
        known = fellows(group, found)
        node = joined(group, f"{group.name}-{len(known)}", dice.pick(group.zones), ago(dice.uniform(3700, 90000)))
        node = like(node, known) if known else _first(scene, group, node)
        launches.add_instance(answers, group.name, node)
        found.append(cordoned(scene, node))
    if dice.chance(0.2):
        group = dice.pick(groups)
        found.append(aged(scene, joined(group, scene.named("lone"), group.zones[0], ago(90000))))
    scene.node_names += [node["metadata"]["name"] for node in found]
    return [load(scene, node) for node in found]


def _first(scene: Scene, group: NodeGroup, node: Object) -> Object:
    """Of a group: it sets the size of the others where the group has one type."""
    assert group.template is not None
    node = relabelled(scene, node)
    return resized(scene, node) if len(group.template.instance_types) == 1 else node


def joined(group: NodeGroup, name: str, zone: str, created: str) -> Object:
    """The Node of a new machine of the group, Ready: as its kubelet registers it, but for its name, which tells its world.

    Of several types it has any.
    """
    assert group.template is not None
    instance, kinds = launches.instance_id(name), group.template.instance_types
    node = node_of(REGION, instance, kinds[int(instance[2:], 16) % len(kinds)], zone, group.template)
    node["metadata"] |= {"name": name, "creationTimestamp": created}
    node["metadata"]["labels"][HOSTNAME] = name
    node["spec"] = {field: value for field, value in node["spec"].items() if value}
    node["status"]["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": created}]
    node["status"]["capacity"] = dict(node["status"]["allocatable"])
    return node


def uncordoned(node: Mapping[str, Any]) -> Object:
    """As `kube.node.uncordon` leaves it, and the node controller, which takes its own taint off."""
    gone = (markers.LEAVING_TAINT, CORDON)
    labels = {key: value for key, value in node["metadata"]["labels"].items() if key != markers.CORDONED}
    spec = {field: value for field, value in node["spec"].items() if field not in ("unschedulable", "taints")}
    if taints := [taint for taint in node["spec"].get("taints") or () if taint["key"] not in gone]:
        spec["taints"] = taints
    return {**node, "metadata": {**node["metadata"], "labels": labels}, "spec": spec}


def aim_of(node: Mapping[str, Any]) -> Aim:
    taints = tuple(
        Taint(key=one["key"], value=one.get("value", ""), effect=one["effect"]) for one in node["spec"].get("taints", ())
    )
    labels = node["metadata"]["labels"]
    have = quantity.resources(node["status"]["allocatable"])
    return Aim(labels, taints, have, (labels[ZONE],), node["metadata"]["name"])


def aged(scene: Scene, node: Object) -> Object:
    """A node that has no fellow, with all that sets it apart."""
    return cordoned(scene, resized(scene, relabelled(scene, node)))


def resized(scene: Scene, node: Object) -> Object:
    """What its kubelet says of it is not always what was computed: its fellows, those to come too, are like it."""
    if scene.dice.chance(0.2):
        have = quantity.resources(node["status"]["allocatable"])
        cpu = int(have["cpu"] * scene.dice.uniform(0.7, 1.1))
        node["status"]["allocatable"]["cpu"] = f"{cpu}m"
        node["status"]["capacity"]["cpu"] = f"{cpu + 100}m"
    return node


def relabelled(scene: Scene, node: Object) -> Object:
    """What people did to one node by hand, which says nothing of the next."""
    dice, labels, spec = scene.dice, node["metadata"]["labels"], node["spec"]
    if dice.chance(0.2):
        key = dice.pick(tuple(LABELS))
        labels[key] = dice.pick(LABELS[key])
    if scene.has(Feature.TAINTS, 0.1):
        spec["taints"] = [
            *spec.get("taints", ()),
            {"key": "own", "value": "x", "effect": dice.pick(("NoSchedule", "NoExecute"))},
        ]
    return node


def cordoned(scene: Scene, node: Object) -> Object:
    """Now and then, by a person or by an earlier plan of ours."""
    if scene.has(Feature.UNSCHEDULABLE, 0.15):
        spec = node["spec"]
        spec["unschedulable"] = True
        taints = [{"key": CORDON, "effect": "NoSchedule"}]
        if scene.dice.chance(0.5):
            node["metadata"]["labels"][markers.CORDONED] = OLD_PLAN
            taints.append({"key": markers.LEAVING_TAINT, "value": "1767225600", "effect": "NoSchedule"})
        spec["taints"] = [*spec.get("taints", ()), *taints]
    return node


def fellows(group: NodeGroup, items: Iterable[Object]) -> list[Object]:
    """The group's nodes among objects of any kind."""
    return [one for one in items if one["kind"] == "Node" and one["metadata"]["name"].rpartition("-")[0] == group.name]


def like(node: Object, known: Sequence[Object]) -> Object:
    """The node, with as much as those of its group and type have that are `known`."""
    alike = next((one for one in known if one["metadata"]["labels"][TYPE] == node["metadata"]["labels"][TYPE]), None)
    if alike:
        node["status"] |= {field: dict(alike["status"][field]) for field in ("allocatable", "capacity")}
    return node


def load(scene: Scene, node: Object) -> Standing:
    """The node with pods on it: none, some, or so many that hardly any room or none at all is left."""
    dice, name, aim = scene.dice, node["metadata"]["name"], aim_of(node)
    free, pods = dict(aim.have), list[Object]()
    goal = dice.pick((0.0, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0))
    number = min(dice.pick((1, 1, 2, 3)), free["pods"]) if goal else 0
    for left in range(number, 0, -1):
        share = goal if left == 1 else goal * dice.uniform(0.2, 0.6)
        asked = {"cpu": int(free["cpu"] * share), "memory": int(free["memory"] * share) // dice.pick((1, 1, 2, 3))}
        if free.get(GPU) and dice.chance(0.2):
            asked[GPU] = 1
        pods.append(running(_resident(scene, f"{name}-r{left}", aim, asked), 0, name, dice.uniform(600, 3600)))
        for resource, amount in (*asked.items(), ("pods", 1)):
            free[resource] -= amount
    return Standing(node, tuple(pods), replace(aim, have=free))


def _resident(scene: Scene, name: str, aim: Aim, asked: Mapping[str, int]) -> Template:
    """A shape like any other, but that its amounts are just these; its ports are held."""
    form = template(scene, name, aim)
    ports = [port for one in form.spec["containers"] for port in one.get("ports", ())]
    rules = {field: value for field, value in form.spec.items() if field not in amounts.FIELDS}
    spec = rules | amounts.plain(asked)
    if ports:
        spec["containers"][0]["ports"] = ports
    return replace(form, spec=spec)
