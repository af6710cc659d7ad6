"""Reading a whole cluster: every list to its end, or nothing at all."""

import contextlib
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial

import msgspec

from spillway import clock
from spillway.kube.fields import Part
from spillway.kube.objects import Objects, paused_gc
from spillway.kube.pages import read_list
from spillway.kube.reduce import reduce
from spillway.kube.session import Answer, Session
from spillway.model.cluster import ClusterSnapshot


@dataclass(frozen=True)
class _Resource:
    kind: str
    name: str
    path: str
    field_selector: str = ""


# Nodes before pods: a pod that is bound meanwhile then makes its node busy, never the other way round.
_LISTS = (
    _Resource("Node", "nodes", "/api/v1/nodes"),
    _Resource("Pod", "pods", "/api/v1/pods", "status.phase!=Succeeded,status.phase!=Failed"),
    _Resource("PodDisruptionBudget", "poddisruptionbudgets.policy", "/apis/policy/v1/poddisruptionbudgets"),
)


class _Version(Part):
    git_version: str = ""


_version = msgspec.json.Decoder(_Version)


@dataclass(frozen=True)
class Reading:
    """`body_bytes` is what the answers hold once unpacked."""

    snapshot: ClusterSnapshot
    requests: int
    body_bytes: int


class _Reader:
    def __init__(self) -> None:
        self.objects = Objects()
        self.requests = self.body_bytes = 0
        self.taken_at: datetime | None = None

    def note(self, answer: Answer) -> None:
        self.requests += 1
        self.body_bytes += len(answer.body)
        self.taken_at = self.taken_at or _date(answer)  # of the first answer: no part of the snapshot is older

    def take(self, answer: Answer) -> str:
        self.note(answer)
        return self.objects.add(answer.body).next_page


def read(session: Session) -> Reading:
    """The cluster as it is now. Raises ClusterUnauthorized, ClusterForbidden or ClusterUnavailable: half a view is none."""
    reader = _Reader()
    version = session.call("GET", "/version", ("get", "/version"))
    reader.note(version)
    with paused_gc():
        for resource in _LISTS:
            query = {"fieldSelector": resource.field_selector} if resource.field_selector else {}
            forget = partial(reader.objects.forget, resource.kind)
            read_list(session, resource.path, resource.name, reader.take, forget, query)
        snapshot = reduce(
            reader.objects,
            cluster=session.cluster,
            taken_at=reader.taken_at or clock.utcnow(),
            server_version=_git_version(session, version),
        )
    return Reading(snapshot, reader.requests, reader.body_bytes)


def _git_version(session: Session, answer: Answer) -> str:
    try:
        return _version.decode(answer.body).git_version
    except msgspec.DecodeError as error:
        raise session.unavailable(f"get /version: the answer is no JSON: {error}") from error


def _date(answer: Answer) -> datetime | None:
    with contextlib.suppress(ValueError, TypeError):
        return parsedate_to_datetime(answer.headers.get("Date", "")).astimezone(UTC)
    return None
