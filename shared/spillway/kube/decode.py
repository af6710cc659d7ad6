"""Raw JSON of Kubernetes objects to a ClusterSnapshot. The same code reads the live API and a dump's files."""

import gc
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from spillway.kube import fields
from spillway.kube.nodes import is_nameless, no_provider_id, node_of
from spillway.kube.pods import Recipe, holds_a_node, identified, is_finished, keys_read, recipe_of, resized, shape_of, state_of
from spillway.kube.scheduling import requirements
from spillway.model.cluster import ClusterSnapshot, Node, PodSet, PodShape, PodState
from spillway.model.quantity import QuantityError
from spillway.model.reason import Code, Reason

_kind = msgspec.json.Decoder(fields.Kind)
_envelope = msgspec.json.Decoder(fields.Envelope)
_pod = msgspec.json.Decoder(fields.Pod)
_bare_pod = msgspec.json.Decoder(fields.BarePod)
_node = msgspec.json.Decoder(fields.Node)
_budget = msgspec.json.Decoder(fields.Budget)
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError)  # a string of an object may be no UTF-8


class _SeenPod(NamedTuple):
    recipe: Recipe | None  # None: only its place is known
    state: PodState
    node: str
    created: datetime | None


class Objects:
    """What was read so far, already boiled down; a page's bytes are not kept. A later object replaces an earlier one."""

    def __init__(self) -> None:
        self._recipes: dict[Recipe, Recipe] = {}
        self.pods: dict[tuple[str, str], _SeenPod] = {}
        self.nodes: dict[str, fields.Node] = {}
        self.budgets: dict[tuple[str, str], fields.Budget] = {}
        self.unreadable: dict[str, list[Reason]] = defaultdict(list)
        self._readers: dict[str, Callable[[Raw | bytes], None]] = {
            "Pod": self._add_pod,
            "Node": self._add_node,
            "PodDisruptionBudget": self._add_budget,
        }

    def add(self, raw: bytes) -> str:
        """Takes a `List`, a `PodList` and the like, or a single object; other kinds are passed over.

        Returns the token of the list's next page, "" when there is none. An object that does not read is set
        aside with a warning that names it. Raises msgspec.DecodeError when `raw` is no JSON object.
        """
        envelope = _envelope.decode(raw)
        with paused_gc():
            if envelope.items is None:
                self._add_one(envelope.kind, raw)
                return ""
            kind = envelope.kind.removesuffix("List")  # items of a PodList do not say what they are
            for item in envelope.items:
                self._add_one(kind or _kind_of(item), item)
        return (envelope.metadata.next_page or "") if envelope.metadata else ""

    def forget(self, kind: str) -> None:
        """Drops all of one kind: its list has to be read again from the start."""
        kept: dict[str, dict[Any, Any]] = {"Pod": self.pods, "Node": self.nodes, "PodDisruptionBudget": self.budgets}
        kept[kind].clear()
        self.unreadable.pop(kind, None)

    def _add_one(self, kind: str, raw: Raw | bytes) -> None:
        reader = self._readers.get(kind)
        if reader is None:
            return
        try:
            reader(raw)
        except _UNREADABLE as error:
            self._set_aside(kind, raw, str(error))

    def _add_pod(self, raw: Raw | bytes) -> None:
        pod = _pod.decode(raw)
        key = (pod.metadata.namespace or "default", pod.metadata.name)
        if is_finished(pod):
            self.pods.pop(key, None)
            return
        recipe = resized(pod, recipe_of(pod))
        state, node = state_of(pod)
        self.pods[key] = _SeenPod(self._recipes.setdefault(recipe, recipe), state, node, pod.metadata.creation_timestamp)

    def _add_node(self, raw: Raw | bytes) -> None:
        node = _node.decode(raw)
        self.nodes[node.metadata.name] = node

    def _add_budget(self, raw: Raw | bytes) -> None:
        budget = _budget.decode(raw)
        self.budgets[budget.metadata.namespace or "default", budget.metadata.name] = budget

    def _set_aside(self, kind: str, raw: Raw | bytes, problem: str) -> None:
        name = f"{kind.lower()} without a readable name"
        try:
            bare = _bare_pod.decode(raw)
        except _UNREADABLE:
            pass
        else:
            namespace = bare.metadata.namespace or "default"
            name = f"node {bare.metadata.name}" if kind == "Node" else f"{kind.lower()} {namespace}/{bare.metadata.name}"
            if kind == "Pod" and holds_a_node(bare):
                # A node must not look idle because its pod does not read.
                node = bare.spec.node_name or "" if bare.spec else ""
                seen = _SeenPod(None, PodState.BOUND, node, None)
                self.pods[namespace, bare.metadata.name] = seen
        self.unreadable[kind].append(_unreadable(name, problem))


def reduce(objects: Objects, *, cluster: str, taken_at: datetime, server_version: str = "") -> ClusterSnapshot:
    """The snapshot of all that was added; equal objects in any order give an equal snapshot."""
    with paused_gc():
        warnings = [reason for reasons in objects.unreadable.values() for reason in reasons]
        nodes = list(_nodes(objects, taken_at, warnings))
        shapes, pods = _pods(objects, taken_at, warnings)
    return ClusterSnapshot(
        cluster=cluster,
        taken_at=taken_at,
        nodes=tuple(sorted(nodes, key=lambda n: n.name)),
        shapes=tuple(sorted(shapes, key=lambda s: s.id)),
        pods=tuple(sorted(pods, key=lambda p: (p.shape, p.node, p.state))),
        server_version=server_version,
        warnings=tuple(sorted(set(warnings), key=lambda w: (w.code, w.text))),
    )


def _nodes(objects: Objects, taken_at: datetime, warnings: list[Reason]) -> Iterator[Node]:
    nameless: list[str] = []
    for raw in objects.nodes.values():
        try:
            node = node_of(raw, taken_at)
        except QuantityError as error:
            warnings.append(_unreadable(f"node {raw.metadata.name}", str(error)))
            continue
        if is_nameless(raw, node):
            nameless.append(node.name)
        yield node
    if nameless:
        warnings.append(no_provider_id(sorted(nameless)))


def _pods(objects: Objects, taken_at: datetime, warnings: list[Reason]) -> tuple[list[PodShape], list[PodSet]]:
    # By id() of the recipe, as each is kept once and hashing it again costs seconds; by namespace for opaque pods.
    full: dict[int | str, PodShape] = {}
    members: dict[tuple[int | str, PodState, str], list[tuple[datetime, str]]] = defaultdict(list)
    problems: dict[int | str, str] = {}
    for (namespace, name), pod in objects.pods.items():
        key: int | str = namespace if pod.recipe is None else id(pod.recipe)
        if pod.recipe is not None and key not in full and key not in problems:
            try:
                full[key] = shape_of(pod.recipe)
            except (QuantityError, msgspec.ValidationError) as error:
                problems[key] = str(error)
        if key in problems:
            warnings.append(_unreadable(f"pod {namespace}/{name}", problems[key]))
            if not pod.node:
                continue
            key = namespace
        if key == namespace:
            full.setdefault(key, _opaque(namespace))
        state, node = pod.state, pod.node
        if state == PodState.NOMINATED and node not in objects.nodes:
            state, node = PodState.UNSCHEDULABLE, ""  # the scheduler forgets a nomination whose node is gone
        members[key, state, node].append((pod.created or taken_at, name))
    read = {r.key for b in objects.budgets.values() for r in requirements(b.spec.selector if b.spec else None) or ()}
    keys = frozenset(read.union(*(keys_read(shape) for shape in full.values())))
    final = {key: identified(shape, keys) for key, shape in full.items()}
    together: dict[tuple[str, PodState, str], list[tuple[datetime, str]]] = defaultdict(list)
    for (key, state, node), pods in members.items():
        together[final[key].id, state, node] += pods
    return list({shape.id: shape for shape in final.values()}.values()), [
        PodSet(
            shape=shape,
            state=state,
            names=tuple(name for _, name in sorted(pods)),
            created=tuple(created for created, _ in sorted(pods)),
            node=node,
        )
        for (shape, state, node), pods in together.items()
    ]


def _kind_of(item: Raw) -> str:
    try:
        return _kind.decode(item).kind
    except _UNREADABLE:
        return ""  # no kind of ours


def _opaque(namespace: str) -> PodShape:
    """A pod that is there but does not read: it takes a slot and keeps its node busy."""
    return PodShape(id="", namespace=namespace, requests={"pods": 1})


def _unreadable(name: str, problem: str) -> Reason:
    return Reason(code=Code.OBJECT_UNREADABLE, text=f"{name} is set aside: {problem}")


@contextmanager
def paused_gc() -> Iterator[None]:
    """Millions of young objects and no cycles: the collector would only cost (2 to 3 times the run)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
