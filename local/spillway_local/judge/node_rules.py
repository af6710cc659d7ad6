"""Rules of a random pod on nodes: selector, node affinity, tolerations, host ports.

Most pods suit their aim. The others miss it narrowly, by a single rule and by as little as that rule allows: that tells
most of a planner that reads a rule otherwise than the scheduler.
"""

from collections.abc import Callable, Sequence

from spillway.model.cluster import Taint
from spillway_local.judge.features import Feature
from spillway_local.judge.fleet import KINDS, TAINTS
from spillway_local.judge.scene import HOSTNAME, LABELS, WORLD_LABEL, ZONE, ZONES, Aim, Dice, Object, Scene

SUITS = 0.75  # of the pods suit their aim in all that is written here
ARCH, TYPE, ABSENT = "kubernetes.io/arch", "node.kubernetes.io/instance-type", "absent"
VALUES = {**LABELS, ARCH: ("amd64", "arm64"), TYPE: tuple(kind.name for kind in KINDS), ABSENT: ("yes", "no")}
CORDON = "node.kubernetes.io/unschedulable"
ADDED = tuple(
    {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for what in ("not-ready", "unreachable")
)
"""What the API server adds to every pod that does not say it itself."""


def apply(scene: Scene, spec: Object, aim: Aim) -> None:
    """Writes all rules into the spec of a pod."""
    dice, missed = scene.dice, _missed(scene, aim)
    spec["nodeSelector"] = dict(scene.mine)
    if missed is Feature.SELECTORS or scene.has(Feature.SELECTORS, 0.35):
        spec["nodeSelector"] |= _selector(scene, aim, missed is not Feature.SELECTORS)
    affinity: Object = {}
    if missed is Feature.NODE_AFFINITY or scene.has(Feature.NODE_AFFINITY, 0.35):
        terms = _terms(scene, aim, missed is not Feature.NODE_AFFINITY)
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if scene.has(Feature.PREFERRED, 0.25):
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": dice.randint(1, 100), "preference": {"matchExpressions": [_expression(scene, aim, dice.chance(0.5))]}}
            for _ in range(dice.randint(1, 2))
        ]
    if affinity:
        spec["affinity"] = {"nodeAffinity": affinity}
    spec["tolerations"] = [*tolerations(scene, aim.taints, missed is not Feature.TAINTS), *ADDED]
    if scene.has(Feature.HOST_PORTS, 0.3):
        _open_ports(dice, spec)


def _missed(scene: Scene, aim: Aim) -> Feature | None:
    """The one kind of rule by which the pod misses its aim; None for a pod that suits it."""
    if scene.dice.chance(SUITS):
        return None
    repels = any(taint.effect != "PreferNoSchedule" for taint in aim.taints)
    choices = [Feature.SELECTORS, Feature.NODE_AFFINITY, *([Feature.TAINTS] * 2 if repels else [])]
    choices = [one for one in choices if one in scene.features]
    return scene.dice.pick(choices) if choices else None


def _selector(scene: Scene, aim: Aim, suits: bool) -> dict[str, str]:
    """Labels that the aim has, but for the last where it is to be missed."""
    dice = scene.dice
    have = [key for key in (*LABELS, ARCH, TYPE, "group") if key in aim.labels]
    zone = scene.zone_rule[1] if scene.zone_rule else dice.pick(aim.zones)
    if _zone_holds(scene, aim, "In", zone) and (not scene.zone_rule or scene.zone_rule[0] == "In"):
        have.append(ZONE)
    chosen = {key: zone if key == ZONE else aim.labels[key] for key in dice.some(have, 2)}
    if suits:
        return chosen
    if scene.zone_rule == ("In", zone) and not _zone_holds(scene, aim, "In", zone) and dice.chance(0.6):
        return {**chosen, ZONE: zone}
    key = dice.pick((*LABELS, ARCH))
    return {**chosen, key: dice.pick([value for value in VALUES[key] if value != aim.labels.get(key)])}


def _terms(scene: Scene, aim: Aim, suits: bool) -> list[Object]:
    """Terms of which one holds, or none: any that does not fails by a single requirement."""
    dice = scene.dice
    terms = [_term(scene, aim, holds=False) for _ in range(dice.pick((0, 0, 1, 2) if suits else (1, 1, 2, 3)))]
    if suits:
        terms.insert(dice.randrange(len(terms) + 1), _term(scene, aim, holds=True))
    if dice.chance(0.1 if suits else 0.25):
        terms.insert(dice.randrange(len(terms) + 1), dice.pick(({}, {"matchExpressions": []})))
    return terms


def _term(scene: Scene, aim: Aim, holds: bool) -> Object:
    dice, number = scene.dice, scene.dice.randint(1, 3)
    fails = -1 if holds else dice.randrange(number)
    term: Object = {}
    for index in range(number):
        if scene.node_names and dice.chance(0.12) and "matchFields" not in term:
            term["matchFields"] = [_about_name("metadata.name", scene, aim, index != fails, 1)]
        else:
            term.setdefault("matchExpressions", []).append(_expression(scene, aim, index != fails))
    return term


def _expression(scene: Scene, aim: Aim, holds: bool) -> Object:
    """A requirement that holds for the aim, or not."""
    dice = scene.dice
    key = dice.pick((*LABELS, "gen", ARCH, TYPE, ZONE, HOSTNAME, ABSENT, WORLD_LABEL))
    if key == ZONE:
        return _about_zone(scene, aim, holds)
    if key == HOSTNAME and scene.node_names:
        return _about_name(key, scene, aim, holds, 2)
    if key in (HOSTNAME, WORLD_LABEL):
        return _requirement(key, "Exists" if holds else "DoesNotExist")
    return _about(dice, key, aim.labels.get(key), holds)


def _about_name(key: str, scene: Scene, aim: Aim, holds: bool, most: int) -> Object:
    """The API server takes a single value for a field."""
    others = [name for name in scene.node_names if name != aim.name] or [scene.named("gone")]
    if aim.name and scene.dice.chance(0.5):
        return _requirement(key, "In" if holds else "NotIn", [aim.name])
    return _requirement(key, "NotIn" if holds else "In", scene.dice.some(others, most))


def _about_zone(scene: Scene, aim: Aim, holds: bool) -> Object:
    """In a world with a zone rule that rule, where it says what is wanted."""
    dice = scene.dice
    if scene.zone_rule is None:
        return _about(dice, ZONE, aim.labels.get(ZONE), holds)
    operator, zone = scene.zone_rule
    if _zone_holds(scene, aim, operator, zone) is holds:
        return _requirement(ZONE, operator, [zone])
    return _requirement(ZONE, "Exists" if holds else "DoesNotExist")


def _zone_holds(scene: Scene, aim: Aim, operator: str, zone: str) -> bool:
    """In each zone in which the aim may come to be."""
    return all((one == zone) is (operator == "In") for one in aim.zones)


def _about(dice: Dice, key: str, have: str | None, holds: bool) -> Object:
    """A requirement on `key` that holds, or not, for the value `have`, None for no such label."""
    others = [value for value in VALUES.get(key, ZONES) if value != have]
    ways: list[Callable[[], Object]]
    if have is None:
        yes = [lambda: _requirement(key, "NotIn", dice.some(others, 2)), lambda: _requirement(key, "DoesNotExist")]
        no = [
            lambda: _requirement(key, "In", dice.some(others, 2)),
            lambda: _requirement(key, "Exists"),
            lambda: _requirement(key, dice.pick(("Gt", "Lt")), ["5"]),
        ]
        return dice.pick(yes if holds else no)()
    ways = [
        lambda: _requirement(key, "In", sorted([have, *dice.some(others, 2)]) if holds else dice.some(others, 2)),
        lambda: _requirement(key, "NotIn", dice.some(others, 2) if holds else sorted([have, *dice.some(others, 2)])),
        lambda: _requirement(key, "Exists" if holds else "DoesNotExist"),
    ]
    if have.isdigit():
        # The bound itself is neither above nor below.
        ways += [
            lambda: _requirement(key, "Gt", [str(int(have) - holds)]),
            lambda: _requirement(key, "Lt", [str(int(have) + holds)]),
        ]
    elif not holds:
        ways += [lambda: _requirement(key, "Gt", ["0"]), lambda: _requirement(key, "Lt", ["100"])]
    return dice.pick(ways)()


def _requirement(key: str, operator: str, values: Sequence[str] = ()) -> Object:
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


def tolerations(scene: Scene, taints: Sequence[Taint], suits: bool) -> list[Object]:
    """Of the aim's taints, in all forms that Kubernetes has, and of some other; where the aim is to be missed, one of its
    taints is tolerated nearly or not at all."""
    dice, found = scene.dice, list[Object]()
    if Feature.TAINTS not in scene.features and Feature.UNSCHEDULABLE not in scene.features:
        return found
    repelling = [taint for taint in taints if taint.effect != "PreferNoSchedule"]
    missed = None if suits or not repelling else dice.pick(repelling)
    for taint in taints:
        if taint is missed:
            found += _nearly(dice, taint)
        elif taint in repelling or dice.chance(0.3):
            found.append(_tolerating(dice, taint))
    if missed is None and dice.chance(0.1):
        found += _nearly(dice, dice.pick(TAINTS))
    if missed is None and dice.chance(0.03):
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


def _nearly(dice: Dice, taint: Taint) -> list[Object]:
    """Another value, another effect, or nothing."""
    effects = [effect for effect in ("NoSchedule", "NoExecute", "PreferNoSchedule") if effect != taint.effect]
    return dice.pick(
        (
            [{"key": taint.key, "operator": "Equal", "value": "other"}],
            [{"key": taint.key, "operator": "Equal", "effect": taint.effect} | ({} if taint.value else {"value": "other"})],
            [{"key": taint.key, "operator": "Exists", "effect": dice.pick(effects)}],
            [{"operator": "Exists", "effect": dice.pick(effects)}],
            [],
        )
    )


PORTS = (8080, 8080, 8080, 9100)
ADDRESSES = ("", "0.0.0.0", "127.0.0.1", "10.0.0.7")


def _open_ports(dice: Dice, spec: Object) -> None:
    """On a container, or on a sidecar, which holds its port as long; an init container that ends holds none."""
    holders = [*spec["containers"], *spec.get("initContainers", ())]
    asked = {(dice.pick(PORTS), dice.pick(("TCP", "TCP", "UDP")), dice.pick(ADDRESSES)) for _ in range(dice.randint(1, 2))}
    holder = dice.pick(holders)
    holder["ports"] = [
        {"containerPort": port, "hostPort": port, "protocol": protocol} | ({"hostIP": address} if address else {})
        for port, protocol, address in sorted(asked)
    ]
