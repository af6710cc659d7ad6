"""ProvisioningRequests: capacity that is asked for before its pods are there.

Source: cluster-autoscaler/apis/provisioningrequest/autoscaling.x-k8s.io/v1.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec
from msgspec import Raw

from spillway.kube import fields
from spillway.kube.buffers import Of, ShapeOf
from spillway.kube.gang_objects import Group
from spillway.kube.recipes import Template
from spillway.model.workloads import ProvisioningRequest, RequestedPods

KIND = "ProvisioningRequest.autoscaling.x-k8s.io"


class _Named(fields.Part):
    name: str = ""


class _PodSet(fields.Part):
    pod_template_ref: _Named | None = None
    count: int = 0


class _Spec(fields.Part):
    provisioning_class_name: str = ""
    pod_sets: list[_PodSet] | None = None


class _Status(fields.Part):
    conditions: list[fields.PodCondition] | None = None


class _Request(fields.Part):
    metadata: fields.BareMeta
    spec: _Spec | None = None
    status: _Status | None = None


_request = msgspec.json.Decoder(_Request)


class Asked(NamedTuple):
    """A request as it is kept: templates by name and how many pods of each, and as a gang of those that consume it."""

    class_name: str
    pod_sets: tuple[tuple[str, int], ...]
    conditions: Mapping[str, str]
    group: Group


def read(raw: Raw | bytes) -> tuple[tuple[str, str], Asked]:
    found = _request.decode(raw)
    spec = found.spec or _Spec()
    pod_sets = tuple((one.pod_template_ref.name if one.pod_template_ref else "", one.count) for one in spec.pod_sets or ())
    conditions = {one.type: one.status for one in (found.status.conditions if found.status else None) or ()}
    group = Group({"": sum(count for _, count in pod_sets)})
    asked = Asked(spec.provisioning_class_name, pod_sets, dict(sorted(conditions.items())), group)
    return found.metadata.key, asked


def templates(of: Of) -> Iterable[Template]:
    """Those that some request names."""
    for (namespace, _), asked in of(KIND).items():
        for name, _ in asked.pod_sets:
            if template := of("PodTemplate").get((namespace, name)):
                yield template


def requests(of: Of, shape_of: ShapeOf) -> Iterable[ProvisioningRequest]:
    """All of them by namespace and name; `of` gives the kept objects of a kind."""
    for (namespace, name), asked in sorted(of(KIND).items(), key=lambda one: one[0]):
        pod_sets: list[RequestedPods] = []
        problem = ""
        for template_name, count in asked.pod_sets:
            template = of("PodTemplate").get((namespace, template_name))
            try:
                if template is None:
                    raise ValueError(f"no PodTemplate {namespace}/{template_name} was read")
                pod_sets.append(RequestedPods(shape=shape_of(namespace, template)[0], pods=count))
            except ValueError as error:
                problem = str(error)
        yield ProvisioningRequest(
            namespace=namespace,
            name=name,
            class_name=asked.class_name,
            pod_sets=() if problem else tuple(pod_sets),  # a part of what is asked for is of no use
            conditions=asked.conditions,
            problem=problem,
        )
