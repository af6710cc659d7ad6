"""Rules of a random pod on nodes: selector and node affinity, with tolerations and host ports beside them.

Most pods suit their aim. The others miss it narrowly, by a single rule and by as little as that rule allows: that tells
most of a planner that reads a rule otherwise than the scheduler.
"""

from spillway_local.judge.features import Feature
from spillway_local.judge.host_ports import open_ports
from spillway_local.judge.requirements import ABSENT, ARCH, VALUES, about, requirement
from spillway_local.judge.scene import HOSTNAME, LABELS, TYPE, WORLD_LABEL, ZONE, Aim, Object, Scene
from spillway_local.judge.tolerations import ADDED, tolerations

SUITS = 0.75  # of the pods suit their aim in all that is written here


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
        open_ports(dice, spec)


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
    if _zone_holds(aim, "In", zone) and (not scene.zone_rule or scene.zone_rule[0] == "In"):
        have.append(ZONE)
    chosen = {key: zone if key == ZONE else aim.labels[key] for key in dice.some(have, 2)}
    if suits:
        return chosen
    if len(aim.zones) > 1 and scene.zone_rule == ("In", zone) and dice.chance(0.7):
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
        elif index == fails and len(aim.zones) > 1 and dice.chance(0.5):
            term.setdefault("matchExpressions", []).append(_about_zone(scene, aim, holds=False))
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
        return requirement(key, "Exists" if holds else "DoesNotExist")
    return about(dice, key, aim.labels.get(key), holds)


def _about_name(key: str, scene: Scene, aim: Aim, holds: bool, most: int) -> Object:
    """The API server takes a single value for a field."""
    others = [name for name in scene.node_names if name != aim.name] or [scene.named("gone")]
    if aim.name and scene.dice.chance(0.5):
        return requirement(key, "In" if holds else "NotIn", [aim.name])
    return requirement(key, "NotIn" if holds else "In", scene.dice.some(others, most))


def _about_zone(scene: Scene, aim: Aim, holds: bool) -> Object:
    """In a world with a zone rule that rule, where it says what is wanted."""
    if scene.zone_rule is None:
        return about(scene.dice, ZONE, aim.labels.get(ZONE), holds)
    operator, zone = scene.zone_rule
    if _zone_holds(aim, operator, zone) is holds:
        return requirement(ZONE, operator, [zone])
    return requirement(ZONE, "Exists" if holds else "DoesNotExist")


def _zone_holds(aim: Aim, operator: str, zone: str) -> bool:
    """In each zone in which the aim may come to be."""
    return all((one == zone) is (operator == "In") for one in aim.zones)
