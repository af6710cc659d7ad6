"""What a random pod asks for: containers, init containers, sidecars, overhead, and the pod as a whole."""

import json
from collections.abc import Mapping

from spillway.kube.recipes import shape_of, shape_of_template
from spillway.model import quantity
from spillway.model.base import Resources
from spillway_local.judge.features import Feature
from spillway_local.judge.scene import Dice, Object, Scene

IMAGE = "registry.k8s.io/pause:3.10"
DEVICES = ("nvidia.com/gpu", "example.com/fpga", "hugepages-2Mi")
BRIM = 0.13  # of the pods fill a node to the last unit, or ask for one more
SHARES = ((0.02, 0.1), (0.02, 0.1), (0.1, 0.3), (0.1, 0.3), (0.3, 0.6), (0.6, 1.0))
FIELDS = ("containers", "initContainers", "overhead", "runtimeClassName", "resources")  # of a spec, written here
MIB = 1024 * 1024


def containers(scene: Scene, have: Resources) -> Object:
    """The part of a pod's spec that asks for room, measured by `have`: a part of it, or all of it to the last unit, or one
    unit more."""
    dice = scene.dice
    low, high = dice.pick(SHARES)
    asked = {name: max(1, int(have[name] * dice.uniform(low, high))) for name in ("cpu", "memory")}
    asked["cpu"] = max(10, asked["cpu"] // 10 * 10)
    if dice.chance(0.05):
        del asked[dice.pick(("cpu", "memory"))]
    spec = _rich(dice, asked | _further(dice, have)) if Feature.RESOURCES in scene.features else plain(asked)
    if dice.chance(BRIM):
        _fill_up(spec, have, dice.pick(("cpu", "memory")), more=dice.pick((0, 0, 1)))
    return spec


def _rich(dice: Dice, asked: Mapping[str, int]) -> Object:
    spec = plain(asked)
    if dice.chance(0.3):
        _split(dice, spec)
    if dice.chance(0.25):
        spec["initContainers"] = [
            _container(f"init-{number}", _scaled(dice, asked), sidecar=dice.chance(0.5)) for number in range(dice.randint(1, 3))
        ]
    elif dice.chance(0.2):
        _as_a_whole(dice, spec, asked)
    if dice.chance(0.15):
        spec |= {"runtimeClassName": "judge-sandbox", "overhead": {"cpu": "125m", "memory": "64Mi"}}
    return spec


def _fill_up(spec: Object, have: Resources, name: str, more: int) -> None:
    """Has the pod ask for `have` and `more` in all, by our own sum, where its first container, or its own request as a whole,
    can make up for what is missing. The latter is never lowered: it must cover the containers'."""
    holder = spec.get("resources") or spec["containers"][0]["resources"]
    before = quantity.resources(holder["requests"]).get(name, 0)
    missing = have[name] + more - _sum(spec).get(name, 0)
    if missing > 0 or (before + missing > 0 and "resources" not in spec):
        holder["requests"][name] = text(name, before + missing)


def _sum(spec: Object) -> Resources:
    return shape_of(shape_of_template("default", json.dumps({"spec": spec}).encode(), "").recipe).requests


def _further(dice: Dice, have: Resources) -> dict[str, int]:
    asked: dict[str, int] = {}
    disk = have.get("ephemeral-storage", 0)
    if dice.chance(0.2 if disk else 0.03):  # a node that tells nothing of its disk has none for pods that ask
        asked["ephemeral-storage"] = int((disk or 1024 * MIB) * dice.pick((0.1, 0.4, 1.0)))
    for name in DEVICES:
        if have.get(name, 0) and dice.chance(0.5):
            step = 2 * MIB if name == "hugepages-2Mi" else 1
            asked[name] = dice.randint(1, have[name] // step) * step
    return asked


def plain(asked: Mapping[str, int]) -> Object:
    return {"containers": [_container("main", asked)]}


def _container(name: str, asked: Mapping[str, int], sidecar: bool = False) -> Object:
    """Devices and huge pages with limits that equal their requests, as the API server demands."""
    requests = {resource: text(resource, amount) for resource, amount in asked.items()}
    limits = {resource: requests[resource] for resource in asked if resource in DEVICES}
    resources = {"requests": requests} | ({"limits": limits} if limits else {})
    return {"name": name, "image": IMAGE, "resources": resources} | ({"restartPolicy": "Always"} if sidecar else {})


def text(resource: str, amount: int) -> str:
    """As people and API servers write it, in more than one unit."""
    if resource == "cpu":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m" if amount % 100 else f"{amount / 1000:g}"
    if resource in ("memory", "ephemeral-storage", "hugepages-2Mi"):
        for suffix, unit in (("Gi", 1024 * MIB), ("Mi", MIB), ("Ki", 1024)):
            if amount and amount % unit == 0:
                return f"{amount // unit}{suffix}"
        if amount % 1000 == 0:
            return f"{amount // 1000}e3"
    return str(amount)


def _split(dice: Dice, spec: Object) -> None:
    """Further containers; one says its limits alone, which the API server takes for its requests."""
    spec["containers"].append(_container("beside", {"cpu": dice.pick((5, 50, 200)), "memory": dice.pick((16, 100)) * MIB}))
    if dice.chance(0.3):
        alone = {"cpu": "75m", "memory": dice.pick(("0.3Gi", "50M", "64Mi"))}
        spec["containers"].append({"name": "limited", "image": IMAGE, "resources": {"limits": alone}})
    if dice.chance(0.3):
        spec["containers"].append({"name": "modest", "image": IMAGE, "resources": {}})


def _scaled(dice: Dice, asked: Mapping[str, int]) -> dict[str, int]:
    factor = dice.pick((0.2, 0.5, 1.0, 1.0, 1.4))
    return {name: max(1, int(amount * factor)) for name, amount in asked.items() if name in ("cpu", "memory")}


def _as_a_whole(dice: Dice, spec: Object, asked: Mapping[str, int]) -> None:
    """Requests of the pod: at least the sum of its containers', for cpu and memory."""
    kept = {name: amount for name, amount in asked.items() if name in ("cpu", "memory")}
    if len(spec["containers"]) > 1 or len(kept) < 2:
        return
    whole = {name: text(name, amount + (10 if name == "cpu" else MIB)) for name, amount in kept.items()}
    if dice.chance(0.5) and "hugepages-2Mi" not in asked:  # whose container must name cpu or memory, too
        rest = {name: amount for name, amount in asked.items() if name not in kept}
        spec["containers"] = [_container("main", rest)]
    spec["resources"] = {"requests": whole}
