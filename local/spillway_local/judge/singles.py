"""Single decisions: may this pod go on this node? One node for each pod, and what runs there already."""

from collections.abc import Iterable
from dataclasses import dataclass

from spillway.model import quantity
from spillway.model.fleet import FleetSnapshot
from spillway.model.memory import Memory
from spillway.model.policy import Policy
from spillway.model.reason import Code, Reason
from spillway.planner import demand
from spillway.planner.amounts import Dimensions
from spillway.planner.daemons import Daemons
from spillway.planner.fit import Fit
from spillway.planner.new_nodes import NewNodes
from spillway.planner.preferences.wishes import unasked
from spillway.planner.rooms import Rooms
from spillway.planner.rules import FILTERS
from spillway.planner.view import view
from spillway_local.judge import groups, launches, nodes, planning, scene, workload
from spillway_local.judge.features import NODE_LOCAL, Feature
from spillway_local.judge.scene import CLUSTER, NOW, REGION, WORLD_LABEL, Aim, Dice, Object, Scene

OWN_AIM = 0.96  # of the pods are made for their own node, the others for some other


@dataclass(frozen=True)
class Pair:
    """`pod` selects `node` by a label that no other node has; `running` are the pods on it."""

    name: str
    pod: Object
    node: Object
    running: tuple[Object, ...]


def pairs(seed: int, count: int, features: frozenset[Feature]) -> list[Pair]:
    """Equal for equal seeds. Of `features` those that one node and one pod decide between themselves."""
    dice = Dice(seed)
    local = frozenset(feature for feature in features if feature in NODE_LOCAL)
    common = Scene(seed, f"p{seed}", dice, local, _spaces(seed))
    known = [group for _ in range(4) for group in launches.read(groups.answers(common)).groups]
    machines = [nodes.joined(dice.pick(known), f"p{seed}-{i}", dice.pick(common.zones), scene.ago(90000)) for i in range(count)]
    aims = [nodes.aim_of(node) for node in machines]
    return [_pair(Scene(seed, f"p{seed}-{i}", dice, local, _spaces(seed)), node, aims) for i, node in enumerate(machines)]


def namespaces(seed: int) -> list[Object]:
    """That the pairs of this seed live in."""
    return scene.namespaces(Scene(seed, f"p{seed}", Dice(seed), frozenset(), _spaces(seed)))


def _spaces(seed: int) -> tuple[str, ...]:
    return (f"p{seed}-pairs",)


def _pair(own: Scene, node: Object, aims: list[Aim]) -> Pair:
    dice, name = own.dice, own.prefix
    node["metadata"]["labels"][WORLD_LABEL] = name
    node = nodes.aged(own, node)
    own.node_names += [name, own.named("other")]
    standing = nodes.load(own, node)
    form = workload.template(own, name, standing.aim if dice.chance(OWN_AIM) else dice.pick(aims))
    (pod,) = workload.waiting(own, form, 0, 600)
    return Pair(name, pod, node, standing.pods)


def refusals(pair: Pair) -> tuple[Reason, ...]:
    """Why our planner would not put the pod on the node: each rule alone, in its order, then amounts. () when it would."""
    cluster = planning.snapshot([pair.node, *pair.running, pair.pod], NOW)
    seen = view(cluster, FleetSnapshot(CLUSTER, REGION, NOW), Memory(), Policy(), NOW)
    (lot,) = demand.waiting(seen)
    dimensions = Dimensions([lot.shape])
    daemons = Daemons(seen, dimensions)
    new_nodes = NewNodes(seen, dimensions, daemons)
    found = []
    for rule in FILTERS:
        fit = Fit([lot.shape], [rule])
        (room,) = Rooms(seen, dimensions, fit, new_nodes, daemons, unasked(seen)).all({})
        if refused := fit.refusal(fit.shape_kind(lot.shape), room.host):
            found.append(Reason(code=refused.code, text=f"pod {pair.name} {refused.text}"))
    short = [(dimension, amount) for dimension, amount in dimensions.need(lot.shape).alone if amount > room.free[dimension]]
    if short:
        found.append(Reason(code=Code.TOO_SMALL, text=f"pod {pair.name} needs {_listed(dimensions, short)}"))
    return tuple(found)


def _listed(dimensions: Dimensions, amounts: Iterable[tuple[int, int]]) -> str:
    return " and ".join(f"{quantity.show(dimensions.names[d], amount)} {dimensions.names[d]}" for d, amount in amounts)
