"""What a pod asks of its node: the scheduler's own sum.

Source: k8s.io/component-helpers/resource/helpers.go, PodRequests. Sums are exact and rounded up once.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec
from msgspec import Raw

from spillway.kube.fields import ABSENT, Amounts, Part
from spillway.model import quantity
from spillway.model.base import Resources

Exact = dict[str, Fraction]


class _Resources(Part):
    requests: Amounts | None = None
    limits: Amounts | None = None


class _ContainerStatus(Part):
    name: str = ""
    resources: Raw = ABSENT
    allocated_resources: Amounts | None = None


class ContainerRequest(msgspec.Struct, frozen=True):
    """`sidecar`: an init container with restartPolicy Always."""

    name: str
    resources: bytes
    sidecar: bool = False


class Resize(msgspec.Struct, frozen=True):
    """A resize in place that is under way: what the kubelet says it has set aside, as raw container statuses."""

    statuses: tuple[bytes, ...]
    infeasible: bool


_resources = msgspec.json.Decoder(_Resources | None)
_amounts = msgspec.json.Decoder(Amounts | None)
_statuses = msgspec.json.Decoder(list[_ContainerStatus])


def pod_requests(
    containers: Sequence[ContainerRequest],
    init: Sequence[ContainerRequest] = (),
    overhead: bytes = b"",
    pod_level: bytes = b"",
    resize: Resize | None = None,
) -> Resources:
    """max(init containers, sum + sidecars), or what the pod as a whole asks for, plus overhead and one pod slot.

    An init container runs beside the sidecars started before it. Raises QuantityError and msgspec.ValidationError.
    """
    held = _held(resize)
    total: Exact = {}
    for container in containers:
        _add(total, _container(container, held, resize))
    sidecars: Exact = {}
    peak: Exact = {}
    for container in init:
        asked = _container(container, held, resize)
        if container.sidecar:
            _add(sidecars, asked)
            _raise(peak, sidecars)
        else:
            _add(asked, sidecars)
            _raise(peak, asked)
    _add(total, sidecars)
    _raise(total, peak)
    total = _with_pod_level(total, pod_level)
    _add(total, _exact(_amounts.decode(overhead) if overhead else None))
    return {name: quantity.whole(name, value) for name, value in sorted(total.items()) if value} | {"pods": 1}


def _with_pod_level(total: Exact, raw: bytes) -> Exact:
    found = _resources.decode(raw) if raw else None
    if found is None:
        return total
    # A pod-level limit stands in for a request only where no container asks for that resource: SetDefaults_Pod.
    return _exact(found.limits) | total | _exact(found.requests)


def _container(container: ContainerRequest, held: Mapping[str, Exact], resize: Resize | None) -> Exact:
    found = _resources.decode(container.resources) if container.resources else None
    asked = _exact(found.limits) | _exact(found.requests) if found else {}
    if resize is None or container.name not in held:
        return asked
    if resize.infeasible:
        return dict(held[container.name])
    _raise(asked, held[container.name])
    return asked


def _held(resize: Resize | None) -> dict[str, Exact]:
    held: dict[str, Exact] = {}
    for raw in resize.statuses if resize else ():
        for status in _statuses.decode(raw):
            actual = _resources.decode(status.resources) if status.resources != ABSENT else None
            most = _exact(status.allocated_resources)
            _raise(most, _exact(actual.requests if actual else None))
            if most:
                held[status.name] = most
    return held


def _exact(amounts: Amounts | None) -> Exact:
    return {name: quantity.parse(text) for name, text in (amounts or {}).items()}


def _add(into: Exact, more: Mapping[str, Fraction]) -> None:
    for name, value in more.items():
        into[name] = into.get(name, Fraction()) + value


def _raise(into: Exact, floor: Mapping[str, Fraction]) -> None:
    for name, value in floor.items():
        into[name] = max(into.get(name, Fraction()), value)
