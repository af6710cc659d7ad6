"""Rules of a random pod on nodes: selector, node affinity, tolerations, host ports. Most hold for the pod's aim."""

from collections.abc import Sequence

from spillway.model.base import Labels
from spillway.model.cluster import Taint
from spillway_local.judge.features import Feature
from spillway_local.judge.fleet import TAINTS
from spillway_local.judge.scene import HOSTNAME, LABELS, WORLD_LABEL, ZONE, ZONES, Aim, Dice, Object, Scene

KEEPS = 0.94  # of the requirements of a pod hold for its aim
ARCH = "kubernetes.io/arch"
CORDON = "node.kubernetes.io/unschedulable"
ADDED = tuple(
    {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for what in ("not-ready", "unreachable")
)
"""What the API server adds to every pod that does not say it itself."""


def apply(scene: Scene, spec: Object, aim: Aim) -> None:
    """Writes all rules into the spec of a pod."""
    spec["nodeSelector"] = {**scene.mine, **_selector(scene, aim)}
    affinity: Object = {}
    if scene.has(Feature.NODE_AFFINITY, 0.35):
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": _terms(scene, aim)}
    if scene.has(Feature.PREFERRED, 0.25):
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": scene.dice.randint(1, 100), "preference": {"matchExpressions": [_expression(scene, aim)]}}
            for _ in range(scene.dice.randint(1, 2))
        ]
    if affinity:
        spec["affinity"] = {"nodeAffinity": affinity}
    spec["tolerations"] = [*tolerations(scene, aim.taints), *ADDED]
    if scene.has(Feature.HOST_PORTS, 0.2):
        _open_ports(scene.dice, spec)


def _selector(scene: Scene, aim: Aim) -> dict[str, str]:
    dice, chosen = scene.dice, dict[str, str]()
    if not scene.has(Feature.SELECTORS, 0.4):
        return chosen
    for _ in range(dice.randint(1, 2)):
        key = dice.pick((*LABELS, ARCH, "group", ZONE))
        if key == ZONE:
            if scene.zone_rule is None:
                chosen[key] = aim.labels[ZONE] if dice.chance(KEEPS) and ZONE in aim.labels else dice.pick(scene.zones)
            elif scene.zone_rule[0] == "In":
                chosen[key] = scene.zone_rule[1]
        elif key in aim.labels and dice.chance(KEEPS):
            chosen[key] = aim.labels[key]
        elif key in LABELS:
            chosen[key] = dice.pick(LABELS[key])
    return chosen


def _terms(scene: Scene, aim: Aim) -> list[Object]:
    dice = scene.dice
    terms = [_term(scene, aim) for _ in range(dice.pick((1, 1, 2, 3)))]
    if dice.chance(0.1):
        terms.insert(dice.randrange(len(terms) + 1), dice.pick(({}, {"matchExpressions": []})))
    return terms


def _term(scene: Scene, aim: Aim) -> Object:
    dice, term = scene.dice, Object()
    if scene.node_names and dice.chance(0.12):
        operator = dice.pick(("In", "NotIn", "NotIn"))
        term["matchFields"] = [{"key": "metadata.name", "operator": operator, "values": [dice.pick(scene.node_names)]}]
    if not term or dice.chance(0.5):
        term["matchExpressions"] = [_expression(scene, aim) for _ in range(dice.randint(1, 2))]
    return term


def _expression(scene: Scene, aim: Aim) -> Object:
    dice = scene.dice
    key = dice.pick((*LABELS, "gen", ARCH, ZONE, HOSTNAME, "absent", WORLD_LABEL))
    if key == ZONE:
        return _about_zone(scene, aim)
    if key == HOSTNAME and scene.node_names:
        return _requirement(key, dice.pick(("In", "NotIn", "NotIn")), dice.some(scene.node_names, 2))
    if key in (HOSTNAME, "absent", WORLD_LABEL):
        return _requirement(key, "DoesNotExist" if key == "absent" else "Exists", ())
    values = LABELS.get(key, ("amd64", "arm64"))
    return _about(dice, key, aim.labels, values, holds=dice.chance(KEEPS))


def _about_zone(scene: Scene, aim: Aim) -> Object:
    dice = scene.dice
    if dice.chance(0.1):
        return _requirement(ZONE, "Exists", ())
    if scene.zone_rule is not None:
        operator, zone = scene.zone_rule
        return _requirement(ZONE, operator, (zone,))
    return _about(dice, ZONE, aim.labels, ZONES, holds=dice.chance(KEEPS))


def _about(dice: Dice, key: str, labels: Labels, values: Sequence[str], holds: bool) -> Object:
    """A requirement on `key` that holds, or not, for `labels`."""
    have = labels.get(key)
    others = [value for value in values if value != have]
    if have is None:
        operator = dice.pick(("NotIn", "DoesNotExist") if holds else ("In", "Exists"))
        return _requirement(key, operator, dice.some(others, 2) if operator in ("In", "NotIn") else ())
    if have.isdigit() and dice.chance(0.5):
        operator = dice.pick(("Gt", "Lt"))
        up = (operator == "Lt") == holds
        return _requirement(key, operator, (str(int(have) + (1 if up else -1)),))
    if holds:
        operator = dice.pick(("In", "NotIn", "Exists"))
        chosen = [have, *dice.some(others, 2)] if operator == "In" else dice.some(others, 2)
    else:
        operator = dice.pick(("In", "NotIn", "DoesNotExist", "Gt"))
        chosen = {"In": dice.some(others, 2), "NotIn": [have], "Gt": [dice.pick(("100", "0"))]}.get(operator, [])
    return _requirement(key, operator, chosen if operator not in ("Exists", "DoesNotExist") else ())


def _requirement(key: str, operator: str, values: Sequence[str]) -> Object:
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


def tolerations(scene: Scene, taints: Sequence[Taint]) -> list[Object]:
    """Mostly of the aim's taints, in all forms that Kubernetes has; some of others, or of nearly the same."""
    dice, found = scene.dice, list[Object]()
    if Feature.TAINTS not in scene.features and Feature.UNSCHEDULABLE not in scene.features:
        return found
    for taint in taints:
        if dice.chance(KEEPS):
            found.append(_tolerating(dice, taint))
    if dice.chance(0.2):
        found.append(_nearly(dice, dice.pick(TAINTS)))
    if scene.has(Feature.UNSCHEDULABLE, 0.05):
        found.append({"key": CORDON, "operator": "Exists", "effect": "NoSchedule"})
    if dice.chance(0.03):
        found.append({"operator": "Exists"})
    return found


def _tolerating(dice: Dice, taint: Taint) -> Object:
    form = dice.randrange(4)
    if form == 0:
        return {"key": taint.key, "operator": "Exists"}
    if form == 1:
        return {"key": taint.key, "operator": "Exists", "effect": taint.effect}
    equal = {"key": taint.key, "operator": "Equal"} | ({"value": taint.value} if taint.value else {})
    if form == 2:
        return equal
    return equal | {"effect": taint.effect} | ({"tolerationSeconds": 60} if taint.effect == "NoExecute" else {})


def _nearly(dice: Dice, taint: Taint) -> Object:
    """Another value, or another effect; by luck another taint has just these."""
    if dice.chance(0.5):
        return {"key": taint.key, "operator": "Equal", "value": "other", "effect": taint.effect}
    effect = "PreferNoSchedule" if taint.effect == "NoSchedule" else "NoSchedule"
    return {"key": taint.key, "operator": "Exists", "effect": effect}


PORTS = (8080, 9100)
ADDRESSES = ("", "", "0.0.0.0", "127.0.0.1", "10.0.0.7")


def _open_ports(dice: Dice, spec: Object) -> None:
    """On a container, or on a sidecar, which holds its port as long; an init container that ends holds none."""
    holders = [*spec["containers"], *spec.get("initContainers", ())]
    asked = {(dice.pick(PORTS), dice.pick(("TCP", "TCP", "UDP")), dice.pick(ADDRESSES)) for _ in range(dice.randint(1, 2))}
    holder = dice.pick(holders)
    holder["ports"] = [
        {"containerPort": port, "hostPort": port, "protocol": protocol} | ({"hostIP": address} if address else {})
        for port, protocol, address in sorted(asked)
    ]
