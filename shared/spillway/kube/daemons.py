"""DaemonSets: the pods that come with a node.

Source of what their controller adds: pkg/controller/daemon/util/daemonset_util.go, AddOrUpdateDaemonPodTolerations.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec import Raw

from spillway.kube import fields
from spillway.kube.recipes import Template, shape_of_template
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


class _PodSpec(fields.Part):
    node_name: str | None = None
    host_network: bool | None = None


class _Template(fields.Part):
    spec: _PodSpec


class _Spec(fields.Part):
    template: Raw


class _DaemonSet(fields.Part):
    metadata: fields.Meta
    spec: _Spec


class SeenDaemon(NamedTuple):
    """A DaemonSet. `template` None: it brings a new node no pod, as it is being deleted or meant for one node by name."""

    template: Template | None


_daemon_set = msgspec.json.Decoder(_DaemonSet)
_template = msgspec.json.Decoder(_Template)
_tolerations = msgspec.json.Decoder(list[Raw] | None)


def read(raw: Raw | bytes) -> tuple[tuple[str, str], SeenDaemon]:
    found = _daemon_set.decode(raw)
    key = found.metadata.key
    spec = _template.decode(found.spec.template).spec
    if found.metadata.deletion_timestamp is not None or spec.node_name:
        return key, SeenDaemon(None)
    template = shape_of_template(key[0], found.spec.template, "DaemonSet")
    added = [*_TOLERATED, *((_ON_HOST_NETWORK,) if spec.host_network else ())]
    own = template.recipe.tolerations
    tolerations = [*(_tolerations.decode(own) or () if own else ()), *map(_exists, added)]
    recipe = template.recipe._replace(tolerations=msgspec.json.encode(tolerations))
    return key, SeenDaemon(template._replace(recipe=recipe))


def templates(found: Iterable[SeenDaemon]) -> Iterator[Template]:
    return (one.template for one in found if one.template is not None)


def daemons(
    found: Mapping[tuple[str, str], SeenDaemon], shape_of: Callable[[str, Template], str], warnings: list[Reason]
) -> Iterator[Daemon]:
    """By namespace and name. `shape_of` gives the id of a template's shape in a namespace, or raises ShapeError: such a one
    makes no pod."""
    for (namespace, name), one in sorted(found.items()):
        if one.template is not None:
            try:
                yield Daemon(namespace=namespace, name=name, shape=shape_of(namespace, one.template))
            except ShapeError as error:
                text = f"daemonset {namespace}/{name} is set aside: {error}"
                warnings.append(Reason(code=Code.OBJECT_UNREADABLE, text=text))


def _exists(taint: tuple[str, str]) -> dict[str, str]:
    key, effect = taint
    return {"key": key, "operator": "Exists", "effect": effect}
