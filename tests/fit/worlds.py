"""Small random clusters as Kubernetes objects and groups, their plans, and what the checker makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from spillway import planner
from spillway.model.cluster import PodShape
from spillway.model.fleet import NodeGroup, Variant
from spillway.model.memory import Memory
from spillway.model.plan import Plan
from spillway.model.policy import Policy
from spillway.planner import clocks, explain
from spillway_local.judge.features import Feature
from tests import builders
from tests.fit.manifests import (
    HOSTNAME,
    PREFERRED,
    TYPE,
    ZONE,
    apart,
    app,
    beside,
    namespace,
    node,
    on_nodes,
    pod,
    ports,
    spread,
    term,
    where,
    with_ports,
)
from tests.fit.state import Key, key_of
from tests.kube.objects import Object, snapshot_of

ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
DEDICATED = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
SOFT = {"key": "soft", "value": "y", "effect": "PreferNoSchedule"}
SPACES = ("default", "other")
apps, disks = st.sampled_from(["web", "db"]), st.sampled_from(["ssd", "hdd"])


@dataclass(frozen=True)
class World:
    """`objects` of the cluster, `groups` of the fleet. `landing` are numbers by which groups choose zones and types."""

    objects: tuple[Object, ...]
    groups: tuple[NodeGroup, ...]
    landing: tuple[int, ...]

    def plan(self, rules: Policy | None = None) -> Plan:
        seen, fleet, rules = snapshot_of(*self.objects), builders.fleet(*self.groups), rules or Policy()
        memory = clocks.observe(Memory(), seen, fleet, rules, builders.NOW, builders.YESTERDAY)
        return planner.plan(seen, fleet, memory, rules, builders.NOW)

    def shapes(self) -> Sequence[PodShape]:
        return snapshot_of(*self.objects).shapes

    def waiting(self) -> list[Object]:
        return [one for one in self.objects if one["kind"] == "Pod" and "nodeName" not in one["spec"]]


@dataclass(frozen=True)
class Outcome:
    """A plan come true: all `objects` but the pods that wait, the new nodes among them, and where those pods are sent."""

    objects: list[Object]
    assigned: list[tuple[Object, str]]

    @property
    def served(self) -> set[Key]:
        return {key_of(pod) for pod, _ in self.assigned}


def outcome(world: World, plan: Plan) -> Outcome:
    pods, groups = {key_of(one): one for one in world.waiting()}, {one.name: one for one in world.groups}
    new: dict[str, Object] = {}
    assigned = []
    for entry in explain.assignments(plan, snapshot_of(*world.objects)):
        name, mark, _ = entry["node"].partition("#")
        if mark and entry["node"] not in new:
            new[entry["node"]] = _come(groups[name], entry["node"], world.landing[len(new) % len(world.landing)])
        assigned += [(pods[tuple(key.split("/"))], entry["node"]) for key in entry["pods"]]
    there = [one for one in world.objects if one["kind"] != "Pod" or "nodeName" in one["spec"]]
    return Outcome([*there, *new.values()], assigned)


def _come(group: NodeGroup, name: str, landing: int) -> Object:
    assert group.template is not None
    zone, choices = group.zones[landing % len(group.zones)], group.template.choices
    template = group.template.of(choices[landing // 3 % len(choices)]) if choices else group.template
    taints = [{"key": one.key, "value": one.value, "effect": one.effect} for one in template.taints]
    found = node(name, zone, labels=template.labels, spec={"taints": taints})
    have = {resource: f"{amount}m" if resource == "cpu" else amount for resource, amount in template.allocatable.items()}
    found["metadata"]["labels"] |= {HOSTNAME: name, ZONE: zone}
    found["status"]["allocatable"] = have
    return found


@st.composite
def worlds(draw: st.DrawFn, features: frozenset[Feature], choosy: bool = True) -> World:
    """Of rules between one pod and one node, and of `features` those between pods and what pods prefer. `choosy`: groups have
    several zones and types."""
    drawn = [draw(_groups(f"g{number}", features, choosy)) for number in range(draw(st.integers(1, 3)))]
    nodes = [one for _, members in drawn for one in members]
    running = [
        draw(_pods(f"r{number}", features, one["metadata"]["name"]))[0]
        for number, one in enumerate(nodes)
        if draw(st.booleans())
    ]
    waiting = [one for number in range(draw(st.integers(1, 4))) for one in draw(_pods(f"p{number}", features))]
    spaces = [namespace("default"), namespace("other", team="red")]
    landing = draw(st.lists(st.integers(0, 8), min_size=1, max_size=4))
    return World((*spaces, *nodes, *running, *waiting), tuple(group for group, _ in drawn), tuple(landing))


@st.composite
def _groups(draw: st.DrawFn, name: str, features: frozenset[Feature], choosy: bool) -> tuple[NodeGroup, list[Object]]:
    zones = sorted(draw(st.sets(st.sampled_from(ZONES), min_size=1, max_size=3 if choosy else 1)))
    labels, taints = {"disk": draw(disks)}, [DEDICATED] if draw(st.booleans()) else []
    taints += [SOFT] if Feature.PREFERRED in features and draw(st.booleans()) else []
    sorts = draw(_sorts) if choosy and draw(st.booleans()) else {}
    common = labels if not sorts else {}
    cpu, slots = draw(st.sampled_from([2, 4, 8])), draw(st.sampled_from([3, 110]))
    members = [
        node(
            f"{name}-{number}", draw(st.sampled_from(zones)), labels=labels, spec={"taints": taints},
            cpu=str(cpu), pods=str(slots),
        )
        for number in range(draw(st.integers(0, 2)))
    ]  # fmt: skip
    for one in members:
        place = one["metadata"]["labels"][ZONE]
        one["spec"]["providerID"] = f"aws:///{place}/i-{one['metadata']['name']}"
    instances = [builders.instance(one["metadata"]["name"], zone=one["metadata"]["labels"][ZONE]) for one in members]
    group = builders.group(
        name, instances=instances, zones=zones, cpu=str(cpu), memory="16Gi", slots=slots, labels=common,
        taints=[builders.Taint(**taint) for taint in taints], max_size=draw(st.integers(2, 12)),
        price=draw(st.sampled_from([0.1, 0.5])), sorts=sorts,
    )  # fmt: skip
    return group, members


@st.composite
def _pods(draw: st.DrawFn, name: str, features: frozenset[Feature], on: str = "") -> list[Object]:
    """One to four that are equal; `on` a node one, which asks for little."""
    spec: dict[str, Any] = {"priority": draw(st.sampled_from([0, 0, 10]))}
    if draw(st.booleans()):
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    if not on and draw(st.integers(0, 3)) == 0:
        spec["nodeSelector"] = {"disk": draw(disks)}
    if affinity := _affinity(draw, features) | (_to_nodes(draw) if not on and draw(st.integers(0, 3)) == 0 else {}):
        spec["affinity"] = affinity
    if Feature.TOPOLOGY_SPREAD in features and draw(st.booleans()):
        spec["topologySpreadConstraints"] = [_constraint(draw, key) for key in draw(_some_keys)]
    if Feature.PREFERRED in features:
        _prefer(draw, spec)
    cpu = "100m" if on else f"{draw(st.sampled_from([100, 500, 1500, 3000]))}m"
    opened = ports(8080, address=draw(st.sampled_from(["", "10.0.0.7"]))) if draw(st.integers(0, 4)) == 0 else ()
    count, space, label = 1 if on else draw(st.integers(1, 4)), draw(st.sampled_from(SPACES)), draw(apps)
    found = [pod(f"{name}-{number}", on, namespace=space, app=label, cpu=cpu, **spec) for number in range(count)]
    revision = draw(st.sampled_from(["1", "2"]))
    for one in found:
        one["metadata"]["labels"]["revision"] = revision
        with_ports(one, opened)
    return found


_variants = st.builds(
    lambda labels, tainted: Variant(labels=labels, taints=(builders.Taint(**DEDICATED),) if tainted else ()),
    st.fixed_dictionaries({TYPE: st.sampled_from(["large", "xlarge"])}, optional={"disk": disks}),
    st.booleans(),
)
_sorts = st.dictionaries(st.sampled_from(["m5.xlarge", "m6i.xlarge", "m7i.xlarge"]), _variants, min_size=1)
_wheres = st.sampled_from([
    ("disk", "NotIn", "hdd"), ("disk", "Exists"), ("disk", "DoesNotExist"), (TYPE, "In", "large"), (TYPE, "NotIn", "xlarge"),
    (ZONE, "NotIn", ZONES[0]), (ZONE, "In", *ZONES[:2]),
])  # fmt: skip
_weights = st.sampled_from([1, 50, 100])
_keys = st.sampled_from([HOSTNAME, ZONE, "disk"])
_some_keys = st.lists(_keys, min_size=1, max_size=2, unique=True)


def _affinity(draw: st.DrawFn, features: frozenset[Feature]) -> Object:
    found: Object = {}
    if Feature.POD_AFFINITY in features and draw(st.booleans()):
        found |= beside(*(_term(draw, key) for key in draw(_some_keys)))
    if Feature.POD_ANTI_AFFINITY in features and draw(st.booleans()):
        found |= apart(*(_term(draw, key) for key in draw(_some_keys)))
    return found


def _to_nodes(draw: st.DrawFn) -> Object:
    """Of one or two terms, any of which will do."""
    terms = draw(st.lists(st.lists(_wheres, min_size=1, max_size=2), min_size=1, max_size=2))
    return on_nodes(*({"matchExpressions": [where(*one) for one in term]} for term in terms))


def _prefer(draw: st.DrawFn, spec: Object) -> None:
    """Any of what a pod can prefer, beside what it demands."""
    found: Object = spec.get("affinity", {})
    if draw(st.booleans()):
        wanted = draw(st.lists(_wheres, min_size=1, max_size=2, unique=True))
        terms = [{"weight": draw(_weights), "preference": {"matchExpressions": [where(*one)]}} for one in wanted]
        found["nodeAffinity"] = {**found.get("nodeAffinity", {}), PREFERRED: terms}
    for kind in ("podAffinity", "podAntiAffinity"):
        if draw(st.integers(0, 2)) == 0:
            terms = [{"weight": draw(_weights), "podAffinityTerm": _term(draw, key)} for key in draw(_some_keys)]
            found[kind] = {**found.get(kind, {}), PREFERRED: terms}
    if found:
        spec["affinity"] = found
    if draw(st.booleans()):
        anyway = [{**_constraint(draw, key), "whenUnsatisfiable": "ScheduleAnyway"} for key in draw(_some_keys)]
        for one in anyway:
            one.pop("minDomains", None)  # of DoNotSchedule alone
        spec["topologySpreadConstraints"] = [*spec.get("topologySpreadConstraints", ()), *anyway]
    if draw(st.integers(0, 3)) == 0:
        spec["tolerations"] = [*spec.get("tolerations", ()), {"key": "soft", "operator": "Exists"}]


def _term(draw: st.DrawFn, key: str) -> Object:
    spaces: Sequence[Object] = (
        {}, {"namespaces": ["other"]}, {"namespaceSelector": {}}, {"namespaceSelector": {"matchLabels": {"team": "red"}}},
    )  # fmt: skip
    keys: Sequence[Object] = ({}, {}, {"matchLabelKeys": ["revision"]}, {"mismatchLabelKeys": ["revision"]})
    return term(key, app(draw(apps)), **draw(st.sampled_from(spaces)), **draw(st.sampled_from(keys)))


def _constraint(draw: st.DrawFn, key: str) -> Object:
    more: Sequence[Object] = (
        {}, {}, {"minDomains": 2}, {"matchLabelKeys": ["revision"]},
        {"nodeAffinityPolicy": "Ignore"}, {"nodeTaintsPolicy": "Honor"},
    )  # fmt: skip
    return spread(key, draw(st.integers(1, 2)), app(draw(apps)), **draw(st.sampled_from(more)))
