"""Reading a whole cluster: every list to its end, or nothing at all."""

import contextlib
import threading
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import msgspec

from spillway import clock
from spillway.errors import ClusterSlow, ClusterUnavailable
from spillway.kube import resources
from spillway.kube.fields import UNREADABLE, Listed, Part
from spillway.kube.objects import Objects, paused_gc
from spillway.kube.pages import read_list
from spillway.kube.reduce import reduce
from spillway.kube.resources import Resource
from spillway.kube.session import Answer, Session
from spillway.model.cluster import ClusterSnapshot
from spillway.model.reason import Code, Reason

_THREADS = 4  # a list of the small kinds is mostly waiting for the network
_OPTIONAL_S = 25.0  # for those that a plan can do without: a webhook that hangs leaves time for all else
_SKEW = timedelta(seconds=30)


class _Version(Part):
    git_version: str = ""


_version = msgspec.json.Decoder(_Version)


@dataclass(frozen=True)
class Reading:
    """`body_bytes` is what the answers hold once unpacked, `wire_bytes` what came over the network. `lists` are the kinds that
    were read from their lists' start, which are all but in a warm process."""

    snapshot: ClusterSnapshot
    requests: int
    body_bytes: int
    wire_bytes: int
    lists: int


class Reader:
    """Lists of one cluster into `objects`, and what that cost. `versions` are the lists' resourceVersions by kind.

    Several threads may use it at once, each for other kinds.
    """

    def __init__(self, session: Session, objects: Objects) -> None:
        self.session, self.objects = session, objects
        self.versions: dict[str, str] = {}
        self.requests = self.body_bytes = self.wire_bytes = self.listed = 0
        self.taken_at: datetime | None = None
        self.skew: timedelta | None = None
        self._lock = threading.Lock()

    def note(self, answer: Answer) -> None:
        """Counts an answer. The first one's Date is the time of all: no part of what is read is older."""
        with self._lock:
            self.requests += 1
            self.body_bytes += len(answer.body)
            self.wire_bytes += answer.wire_bytes
            if self.taken_at is None:
                date, now = _date(answer), clock.utcnow()
                self.taken_at, self.skew = date or now, date - now if date else None

    def lists(self) -> tuple[Resource, ...]:
        """All that this server has, in the order in which they are to be read."""
        return (resources.NODES, resources.PODS, *resources.OTHERS, *resources.optional(self.session, self.note))

    def read(self, resource: Resource) -> None:
        """One list to its end, in place of what was there of its kind. Raises what `pages.read_list` raises."""
        self._read(resource, self.session)

    def read_each(self, several: Iterable[Resource]) -> None:
        """Several lists at once. One that is optional and is not given is noted in `Objects.unread`.

        Raises what `pages.read_list` raises of the others, and ClusterForbidden and ClusterUnauthorized of each.
        """
        patient = replace(self.session)  # within the time of the session's own, and for optional lists alone
        until = clock.utcnow() + timedelta(seconds=min(_OPTIONAL_S, self.session.left_s))
        threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="list")
        with patient.limited(until):
            try:
                readings = [
                    threads.submit(self._read_optional, one, patient) if one.optional else threads.submit(self.read, one)
                    for one in several
                ]
                for reading in readings:
                    reading.result()
            finally:
                threads.shutdown(cancel_futures=True)  # after a failure the rest would be read for nothing

    def _read_optional(self, resource: Resource, session: Session) -> None:
        try:
            self._read(resource, session)
        except (ClusterUnavailable, ClusterSlow) as error:
            self.session.in_time(f"list {resource.name}")
            slow = f"list {resource.name}: not all of it came within {_OPTIONAL_S:.0f} s"
            self.versions.pop(resource.kind, None)
            self.objects.give_up(resource.kind, error.problem if isinstance(error, ClusterUnavailable) else slow)

    def _read(self, resource: Resource, session: Session) -> None:
        def forget() -> None:
            self.objects.forget(resource.kind)
            self.versions.pop(resource.kind, None)

        def take(answer: Answer, more: Callable[[Listed], object]) -> None:
            self.note(answer)
            if answer.status == 404:  # its API has gone since we asked what there is, or amid the pages
                resources.forget(self.session)
                forget()
            else:
                self.versions[resource.kind] = self.objects.add(answer.body, more).version

        forget()
        with self._lock:
            self.listed += 1
        read_list(session, resource, take, forget, (404,) if resource.optional else ())

    def read_all(self) -> None:
        """Nodes before pods: a pod that is bound meanwhile then makes its node busy, never the other way round. Pods before
        all others: what a pod was made from, and what it claims, was there before it. The others at once."""
        nodes, pods, *others = self.lists()
        self.read(nodes)
        self.read(pods)
        self.read_each(others)

    def server_version(self) -> str:
        answer = self.session.call("GET", "/version", ("get", "/version"))
        self.note(answer)
        try:
            version = _version.decode(answer.body).git_version
        except UNREADABLE as error:
            raise self.session.unavailable(f"get /version: the answer is no JSON: {error}") from error
        if not version:
            raise self.session.unavailable(f"get /version: the answer names none: {answer.message}")
        return version

    def reading(self, server_version: str, label_keys: Collection[str]) -> Reading:
        """What was read, reduced, and what that cost. Raises ClusterSlow when the time for it is over."""
        self.session.in_time("reduce what was read")
        seen = self._snapshot(server_version, label_keys)
        return Reading(seen, self.requests, self.body_bytes, self.wire_bytes, self.listed)

    def _snapshot(self, server_version: str, label_keys: Collection[str]) -> ClusterSnapshot:
        """With a warning when the server's clock and ours differ."""
        seen = reduce(
            self.objects,
            cluster=self.session.cluster,
            taken_at=self.taken_at or clock.utcnow(),
            server_version=server_version,
            label_keys=label_keys,
        )
        if self.skew is None or abs(self.skew) <= _SKEW:
            return seen
        warnings = sorted((*seen.warnings, _skewed(self.skew)), key=lambda w: (w.code, w.text))
        return msgspec.structs.replace(seen, clock_ahead_s=round(self.skew.total_seconds()), warnings=tuple(warnings))


def read(session: Session, label_keys: Collection[str] = ()) -> Reading:
    """The cluster as it is now; `label_keys` are labels of pods that the policy reads.

    Raises ClusterUnauthorized, ClusterForbidden, ClusterUnavailable or ClusterSlow: half a view is none.
    """
    reader = Reader(session, Objects())
    with paused_gc():
        version = reader.server_version()
        reader.read_all()
        return reader.reading(version, label_keys)


def _date(answer: Answer) -> datetime | None:
    with contextlib.suppress(ValueError, TypeError):
        return parsedate_to_datetime(answer.headers.get("Date", "")).astimezone(UTC)
    return None


def _skewed(skew: timedelta) -> Reason:
    """By how much the server is ahead of us, or behind."""
    seconds = round(skew.total_seconds())
    where = "ahead of" if seconds > 0 else "behind"
    return Reason(
        code=Code.CLOCK_SKEW,
        text=f"the API server's clock is {abs(seconds)} s {where} ours: ages in the cluster are counted by the server's, "
        "ages in AWS by ours; mend the clock of the API server's machine",
    )
