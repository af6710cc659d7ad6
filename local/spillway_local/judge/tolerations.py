"""Tolerations of a random pod: of its aim's taints in all forms that Kubernetes has, or of something near them."""

from collections.abc import Sequence

from spillway.model.cluster import Taint
from spillway_local.judge.features import Feature
from spillway_local.judge.groups import TAINTS
from spillway_local.judge.scene import Dice, Object, Scene

ADDED = tuple(
    {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for what in ("not-ready", "unreachable")
)
"""What the API server adds to every pod that does not say it itself."""


def tolerations(scene: Scene, taints: Sequence[Taint], suits: bool) -> list[Object]:
    """Of all of `taints`, and now and then of others; where these are to be missed, one is tolerated nearly or not at all."""
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
