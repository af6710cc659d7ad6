"""DaemonSets: the pods that come with a node.

Source of what their controller adds: pkg/controller/daemon/util/daemonset_util.go, AddOrUpdateDaemonPodTolerations; of how it
knows the pods of its newest template: IsPodUpdated there.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec import Raw

from spillway.kube import fields
from spillway.kube.pods import SeenPod
from spillway.kube.recipes import Recipe, Template, shape_of_template, strings
from spillway.kube.shapes import ShapeError
from spillway.model.reason import Code, Reason
from spillway.model.workloads import Daemon

_TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_ON_HOST_NETWORK = ("node.kubernetes.io/network-unavailable", "NoSchedule")
_GENERATION = "pod-template-generation"  # label of its pods

Key = tuple[str, str]
"""Namespace and name."""


class _PodSpec(fields.Part):
    node_name: str | None = None
    host_network: bool | None = None


class _Template(fields.Part):
    spec: _PodSpec


class _Spec(fields.Part):
    template: Raw


class _Annotations(fields.Part, rename=None):
    generation: str = msgspec.field(default="", name="deprecated.daemonset.template.generation")


class _Meta(fields.Meta):
    uid: str = ""
    annotations: _Annotations | None = None


class _DaemonSet(fields.Part):
    metadata: _Meta
    spec: _Spec


class SeenDaemon(NamedTuple):
    """A DaemonSet. `template` None: it makes no more pods, as it is being deleted. `generation` is the template's, which the
    pods made of it bear, too."""

    template: Template | None
    uid: str = ""
    generation: str = ""


_daemon_set = msgspec.json.Decoder(_DaemonSet)
_template = msgspec.json.Decoder(_Template)
_tolerations = msgspec.json.Decoder(list[Raw] | None)


def read(raw: Raw | bytes) -> tuple[tuple[str, str], SeenDaemon]:
    found = _daemon_set.decode(raw)
    key = found.metadata.key
    spec = _template.decode(found.spec.template).spec
    if found.metadata.deletion_timestamp is not None:
        return key, SeenDaemon(None)
    template = shape_of_template(key[0], found.spec.template, "DaemonSet")
    added = [*_TOLERATED, *((_ON_HOST_NETWORK,) if spec.host_network else ())]
    own = template.recipe.tolerations
    tolerations = [*(_tolerations.decode(own) or () if own else ()), *map(_exists, added)]
    recipe = template.recipe._replace(tolerations=msgspec.json.encode(tolerations), node_name=spec.node_name or "")
    notes = found.metadata.annotations or _Annotations()
    return key, SeenDaemon(template._replace(recipe=recipe), found.metadata.uid, notes.generation)


def templates(found: Mapping[Key, SeenDaemon], pods: Mapping[Key, SeenPod]) -> dict[Key, Template]:
    """Of each DaemonSet, with what its newest pod asks for where there is one.

    Admission adds what no template says: the overhead of a RuntimeClass, defaults of a LimitRange, the value of a
    PriorityClass, the containers of a webhook. Where a pod may go stays as in the template, since its controller replaces that.
    """
    newest = _newest_of_their_template(found, pods)
    return {
        key: _as_admitted(one.template, newest[key]) if key in newest else one.template
        for key, one in found.items()
        if one.template is not None
    }


def daemons(
    found: Mapping[Key, Template], shape_of: Callable[[str, Template], str], warnings: list[Reason]
) -> Iterator[Daemon]:
    """By namespace and name. `shape_of` gives the id of a template's shape in a namespace, or raises ShapeError: such a one
    makes no pod."""
    for (namespace, name), template in sorted(found.items()):
        try:
            yield Daemon(namespace=namespace, name=name, shape=shape_of(namespace, template))
        except ShapeError as error:
            text = f"daemonset {namespace}/{name} is set aside: {error}"
            warnings.append(Reason(code=Code.OBJECT_UNREADABLE, text=text))


def _as_admitted(template: Template, pod: Recipe) -> Template:
    recipe = template.recipe._replace(
        containers=pod.containers,
        init=pod.init,
        whole=pod.whole,
        overhead=pod.overhead,
        priority=pod.priority,
        preemption_policy=pod.preemption_policy,
    )
    return template._replace(recipe=recipe)


def _newest_of_their_template(found: Mapping[Key, SeenDaemon], pods: Mapping[Key, SeenPod]) -> dict[Key, Recipe]:
    """Pods by their DaemonSet; a pod of an older template tells nothing of the next one."""
    newest: dict[Key, tuple[datetime, str, Recipe]] = {}
    current: dict[tuple[Key, bytes], bool] = {}  # by labels, which all pods of a template share
    for (namespace, name), pod in pods.items():
        if pod.owner is None or pod.owner.kind != "DaemonSet" or pod.recipe is None:
            continue
        key = (namespace, pod.owner.name)
        daemon = found.get(key)
        if daemon is None or daemon.uid != pod.owner.uid:
            continue
        if (key, pod.labels) not in current:
            current[key, pod.labels] = daemon.generation != "" and _generation(pod.labels) == daemon.generation
        age = (pod.created or fields.NEVER, name)
        if current[key, pod.labels] and (key not in newest or age > newest[key][:2]):
            newest[key] = (*age, pod.recipe)
    return {key: recipe for key, (_, _, recipe) in newest.items()}


def _generation(labels: bytes) -> str:
    try:
        return strings(labels).get(_GENERATION, "")
    except fields.UNREADABLE:
        return ""  # the pod itself is set aside with a warning


def _exists(taint: tuple[str, str]) -> dict[str, str]:
    key, effect = taint
    return {"key": key, "operator": "Exists", "effect": effect}
