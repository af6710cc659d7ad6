"""CapacityBuffers: room that is to be kept free for pods that are not there yet.

Source: cluster-autoscaler/apis/capacitybuffer/autoscaling.x-k8s.io/v1. What its controller writes into the status is not asked
for: a cluster need not have that controller.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from spillway.kube import fields
from spillway.kube.kinds import kind_in
from spillway.kube.owners import Controller
from spillway.kube.recipes import Template, shape_of_template
from spillway.model import quantity
from spillway.model.base import Resources
from spillway.model.workloads import CapacityBuffer

KIND = "CapacityBuffer.autoscaling.x-k8s.io"
STRATEGY = "active-capacity"  # the only one of the API
_SCALABLE = ("ReplicaSet", "ReplicationController", "StatefulSet", "Job")
Of = Callable[[str], Mapping[tuple[str, str], Any]]
ShapeOf = Callable[[str, Template], tuple[str, Resources]]
"""A namespace and a template to the id and the requests of its shape. Raises ValueError, which says what does not read."""


class _Named(fields.Part):
    name: str = ""


class _Scalable(fields.Part):
    kind: str = ""
    name: str = ""
    api_group: str = ""


class _Spec(fields.Part):
    provisioning_strategy: str | None = None
    pod_template_ref: _Named | None = None
    scalable_ref: _Scalable | None = None
    replicas: int | None = None
    percentage: int | None = None
    limits: fields.Amounts | None = None


class _Buffer(fields.Part):
    metadata: fields.BareMeta
    spec: _Spec | None = None


_buffer = msgspec.json.Decoder(_Buffer)


class Wanted(NamedTuple):
    """A buffer, and of what its pods would be made: `scale` is how many pods the object wants that it goes by."""

    namespace: str
    name: str
    spec: _Spec
    template: Template | None = None
    scale: int | None = None
    problem: str = ""


def read(raw: Raw | bytes) -> tuple[tuple[str, str], _Spec]:
    found = _buffer.decode(raw)
    return found.metadata.key, found.spec or _Spec()


def wanted(of: Of) -> list[Wanted]:
    """All buffers by namespace and name; `of` gives the kept objects of a kind."""
    scaled = _Scaled(of)
    return [
        _resolved(of, scaled, namespace, name, spec)
        for (namespace, name), spec in sorted(of(KIND).items(), key=lambda one: one[0])
    ]


def buffers(found: Iterable[Wanted], shape_of: ShapeOf) -> Iterable[CapacityBuffer]:
    for one in found:
        if one.template is None:
            yield CapacityBuffer(namespace=one.namespace, name=one.name, problem=one.problem)
            continue
        try:
            shape, requests = shape_of(one.namespace, one.template)
            pods = _pods(one.spec, one.scale, requests)
        except ValueError as error:
            yield CapacityBuffer(namespace=one.namespace, name=one.name, problem=str(error))
        else:
            yield CapacityBuffer(namespace=one.namespace, name=one.name, shape=shape, pods=pods)


def _resolved(of: Of, scaled: "_Scaled", namespace: str, name: str, spec: _Spec) -> Wanted:
    if spec.provisioning_strategy not in (None, "", STRATEGY):
        return Wanted(namespace, name, spec, problem=f"its strategy {spec.provisioning_strategy} is not {STRATEGY}")
    if spec.pod_template_ref:
        template = of("PodTemplate").get((namespace, spec.pod_template_ref.name))
        missing = f"no PodTemplate {namespace}/{spec.pod_template_ref.name} was read"
        return Wanted(namespace, name, spec, template, problem="" if template else missing)
    if spec.scalable_ref is None:
        return Wanted(namespace, name, spec, problem="it names neither a pod template nor what it scales with")
    template, scale, problem = scaled.of(namespace, spec.scalable_ref)
    return Wanted(namespace, name, spec, template, scale, problem)


class _Scaled:
    """What buffers scale with. A thousand buffers may name one object: each is looked for and read once."""

    def __init__(self, of: Of) -> None:
        self._of = of
        self._known: dict[tuple[str, str, str], tuple[Template | None, int | None, str]] = {}

    def of(self, namespace: str, ref: _Scalable) -> tuple[Template | None, int | None, str]:
        """Its template, how many pods it wants, and what is wrong with it."""
        kind = kind_in(f"{ref.api_group}/", ref.kind)
        key = (kind, namespace, ref.name)
        if key not in self._known:
            self._known[key] = self._read(*key)
        return self._known[key]

    def _read(self, kind: str, namespace: str, name: str) -> tuple[Template | None, int | None, str]:
        found: Controller | None = None
        if kind == "Deployment":
            found = self._newest.get((namespace, name))
        elif kind in _SCALABLE:
            found = self._of(kind).get((namespace, name))
        else:
            return None, None, f"what a {kind} makes pods of is not read"
        if found is None or not found.template:
            return None, None, f"there is no {kind} {namespace}/{name}"
        try:
            template = shape_of_template(namespace, found.template, "")
        except fields.UNREADABLE as error:
            return None, None, f"the template of {kind} {namespace}/{name} does not read: {error}"
        return template, found.replicas if found.wanted is None else found.wanted, ""

    @cached_property
    def _newest(self) -> Mapping[tuple[str, str], Controller]:
        """The ReplicaSet of each Deployment's newest revision, which has its template."""
        newest: dict[tuple[str, str], Controller] = {}
        for (namespace, _), found in self._of("ReplicaSet").items():
            if found.owner and found.owner.kind == "Deployment":
                key = (namespace, found.owner.name)
                newest[key] = max(newest.get(key, found), found, key=lambda one: one.revision)
        return newest


def _pods(spec: _Spec, scale: int | None, requests: Resources) -> int:
    """The larger of replicas and percentage, as far as the limits go; the limits alone where neither is said."""
    counts = [] if spec.replicas is None else [max(0, spec.replicas)]
    if spec.percentage is not None and scale is not None:
        counts.append(max(1, -(-spec.percentage * scale // 100)) if spec.percentage > 0 else 0)
    limits = quantity.resources(spec.limits or {})
    fit = [limit // requests[name] for name, limit in limits.items() if requests.get(name)]
    if not counts and not fit:
        raise ValueError("it says neither replicas nor a percentage, nor a limit of what its pods ask for")
    return max(0, min([max(counts), *fit] if counts else fit))
