"""Rules of a random pod on other pods: affinity, anti-affinity, spread.

No term reaches beyond the world: selectors of namespaces ask for the world's label, and a spread that counts nodes which
its pod may not use does so over a label that only this world's nodes have.
"""

from collections.abc import Mapping

from spillway_local.judge.features import Feature
from spillway_local.judge.scene import CAPACITY_TYPE, HOSTNAME, LABELS, WORLD_LABEL, ZONE, Dice, Object, Scene

APP, ROLE, REVISION = "app", "role", "revision"
ROLES = ("front", "back", "cache")
REVISIONS = ("r1", "r2")


def labels(dice: Dice, app: str) -> dict[str, str]:
    """Of a pod: what the selectors below read."""
    return {APP: app, ROLE: dice.pick(ROLES), REVISION: dice.pick(REVISIONS)}


def apply(scene: Scene, spec: Object, own: Mapping[str, str]) -> None:
    for feature, name in ((Feature.POD_AFFINITY, "podAffinity"), (Feature.POD_ANTI_AFFINITY, "podAntiAffinity")):
        if scene.has(feature, 0.25):
            affinity = spec.setdefault("affinity", {}).setdefault(name, {})
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = [
                _term(scene, own) for _ in range(scene.dice.pick((1, 1, 2)))
            ]
            if scene.dice.chance(0.3):
                affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
                    {"weight": scene.dice.randint(1, 100), "podAffinityTerm": _term(scene, own)}
                    for _ in range(scene.dice.pick((1, 2)))
                ]
    if scene.has(Feature.TOPOLOGY_SPREAD, 0.3):
        spec["topologySpreadConstraints"] = [
            _spread(scene, own, key) for key in scene.dice.some((ZONE, HOSTNAME, CAPACITY_TYPE, "tier", scene.rack), 2)
        ]


def _selector(dice: Dice, own: Mapping[str, str]) -> Object:
    """Most often of the pods of its own workload, as people write them; few of the others meet in a small world."""
    way = dice.pick((0, 0, 0, 1, 2, 3, 4))
    if way == 0:
        return {"matchLabels": {APP: own[APP]}}
    if way == 1:
        return {"matchLabels": {ROLE: dice.pick(ROLES)}}
    if way == 2:
        return {"matchExpressions": [{"key": ROLE, "operator": dice.pick(("In", "NotIn")), "values": dice.some(ROLES, 2)}]}
    if way == 3:
        roles = [{"key": ROLE, "operator": "In", "values": dice.some(ROLES, 2)}]
        return {"matchLabels": {APP: own[APP]}, "matchExpressions": roles}
    return {"matchExpressions": [{"key": ROLE, "operator": "Exists"}]}


def _term(scene: Scene, own: Mapping[str, str]) -> Object:
    dice = scene.dice
    term: Object = {
        "topologyKey": dice.pick((HOSTNAME, HOSTNAME, ZONE, ZONE, CAPACITY_TYPE, "group", *LABELS)),
        "labelSelector": _selector(dice, own),
    }
    if dice.chance(0.3):
        term["namespaces"] = dice.some(scene.namespaces, 2)
    if dice.chance(0.3):
        team = {"team": dice.pick(LABELS["team"])} if dice.chance(0.5) else {}
        term["namespaceSelector"] = {"matchLabels": {WORLD_LABEL: scene.prefix, **team}}
    if dice.chance(0.2):
        term[dice.pick(("matchLabelKeys", "mismatchLabelKeys"))] = [REVISION]
    return term


def _spread(scene: Scene, own: Mapping[str, str], key: str) -> Object:
    dice = scene.dice
    constraint: Object = {
        "topologyKey": key,
        "maxSkew": dice.randint(1, 3),
        "whenUnsatisfiable": dice.pick(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": _selector(dice, own),
    }
    if constraint["whenUnsatisfiable"] == "DoNotSchedule" and dice.chance(0.3):
        constraint["minDomains"] = dice.randint(1, 4)
    if dice.chance(0.2):
        constraint["matchLabelKeys"] = [REVISION]
    if dice.chance(0.3):
        constraint["nodeTaintsPolicy"] = dice.pick(("Honor", "Ignore"))
    policy = dice.pick(("Honor", "Ignore")) if key == scene.rack else "Honor"
    return constraint | {"nodeAffinityPolicy": policy}
