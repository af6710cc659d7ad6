"""What a pod asks of its node: the scheduler's own sum.

Source: k8s.io/component-helpers/resource/helpers.go, PodRequests, with the gates of Kubernetes 1.37 (a resize in place of
containers and of whole pods counts). Sums are exact and rounded up once.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import msgspec

from spillway.kube.fields import Amounts, Part
from spillway.model import quantity
from spillway.model.base import Resources

Exact = dict[str, Fraction]


class _Resources(Part):
    requests: Amounts | None = None
    limits: Amounts | None = None


class ContainerRequest(msgspec.Struct, frozen=True):
    """Raw JSON: what it asks for, and of the kubelet's status what it runs with (`actual`) and what is set aside for it.

    `sidecar`: an init container with restartPolicy Always.
    """

    resources: bytes
    sidecar: bool = False
    actual: bytes = b""
    allocated: bytes = b""


class WholePod(msgspec.Struct, frozen=True):
    """What the pod as a whole asks for, and its status; `infeasible`: its node cannot do the resize that it waits for."""

    resources: bytes = b""
    actual: bytes = b""
    allocated: bytes = b""
    infeasible: bool = False


_resources = msgspec.json.Decoder(_Resources | None)
_amounts = msgspec.json.Decoder(Amounts | None)


def pod_requests(
    containers: Sequence[ContainerRequest],
    init: Sequence[ContainerRequest] = (),
    overhead: bytes = b"",
    whole: WholePod | None = None,
) -> Resources:
    """max(init containers, sum + sidecars), or what the pod as a whole asks for, plus overhead and one pod slot.

    Of a resize that is under way the largest of what is wanted, set aside and in use counts. Raises QuantityError, also for
    an amount below 0, and msgspec.ValidationError.
    """
    pod = whole or WholePod()
    spec = _sum(map(_asked, containers), init, map(_asked, init))
    total = dict(spec)
    if pod.infeasible or pod.allocated or any(c.actual or c.allocated for c in (*containers, *init)):
        total = {} if pod.infeasible else total
        for held in _held(containers, init, pod):
            _raise(total, held)
    total |= _as_a_whole(pod, spec)
    _add(total, _exact(overhead))
    return {name: quantity.whole(name, value) for name, value in sorted(total.items()) if value} | {"pods": 1}


def _sum(containers: Iterable[Exact], init: Sequence[ContainerRequest], amounts: Iterable[Exact]) -> Exact:
    """An init container runs beside the sidecars started before it."""
    total: Exact = {}
    for asked in containers:
        _add(total, asked)
    sidecars: Exact = {}
    peak: Exact = {}
    for container, asked in zip(init, amounts, strict=True):
        if container.sidecar:
            _add(sidecars, asked)
            _raise(peak, sidecars)
        else:
            _add(asked, sidecars)
            _raise(peak, asked)
    _add(total, sidecars)
    _raise(total, peak)
    return total


def _held(containers: Sequence[ContainerRequest], init: Sequence[ContainerRequest], pod: WholePod) -> tuple[Exact, Exact]:
    """What is set aside, and what is in use, by the status of the pod or else of its containers."""
    actual = _requests(pod.actual)
    if pod.allocated and actual is not None:
        return _exact(pod.allocated), actual

    def allocated(container: ContainerRequest) -> Exact:
        if container.allocated:
            return _exact(container.allocated)
        return {} if pod.infeasible else _asked(container)

    def used(container: ContainerRequest) -> Exact:
        found = _requests(container.actual)
        return allocated(container) if found is None else found

    return (
        _sum(map(allocated, containers), init, map(allocated, init)),
        _sum(map(used, containers), init, map(used, init)),
    )


def _as_a_whole(pod: WholePod, spec: Exact) -> Exact:
    found = _resources.decode(pod.resources) if pod.resources else None
    if found is None:
        return {}
    wanted = _parsed(found.requests)
    if found.limits:  # what the API server sets where only limits are said: defaultPodRequests
        wanted = _parsed(found.limits) | _overcommitted(spec) | wanted
    if pod.actual and wanted:
        wanted = {} if pod.infeasible else wanted
        for held in (_requests(pod.actual) or {}, _exact(pod.allocated)):
            _raise(wanted, held)
    return {name: value for name, value in wanted.items() if _counts_as_a_whole(name)}


def _overcommitted(amounts: Exact) -> Exact:
    """Without huge pages, for which nobody asks by asking for less than the limit."""
    return {name: value for name, value in amounts.items() if not name.startswith("hugepages-")}


def _counts_as_a_whole(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def _asked(container: ContainerRequest) -> Exact:
    """A limit without a request is the request: SetDefaults_Pod."""
    found = _resources.decode(container.resources) if container.resources else None
    return _parsed(found.limits) | _parsed(found.requests) if found else {}


def _requests(raw: bytes) -> Exact | None:
    found = _resources.decode(raw) if raw else None
    return None if found is None or found.requests is None else _parsed(found.requests)


def _exact(raw: bytes) -> Exact:
    return _parsed(_amounts.decode(raw) if raw else None)


def _parsed(amounts: Amounts | None) -> Exact:
    exact = {name: quantity.parse(text) for name, text in (amounts or {}).items()}
    for name, value in exact.items():
        if value < 0:
            raise quantity.QuantityError((amounts or {})[name], "is below 0")
    return exact


def _add(into: Exact, more: Mapping[str, Fraction]) -> None:
    for name, value in more.items():
        into[name] = into.get(name, Fraction()) + value


def _raise(into: Exact, floor: Mapping[str, Fraction]) -> None:
    for name, value in floor.items():
        into[name] = max(into.get(name, Fraction()), value)
