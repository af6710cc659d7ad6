"""Watch mode: within its minute a function follows the pods, and wants a snapshot soon after one turns unschedulable.

The stream of pods only tells when. The snapshot itself is read as at any other tick, from where the last one ended.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from spillway import clock
from spillway.errors import ClusterForbidden
from spillway.kube import follow, retry
from spillway.kube.changes import Doubt, Kept, apply
from spillway.kube.pods import SeenPod
from spillway.kube.resources import PODS
from spillway.kube.session import Answer, Session
from spillway.kube.streams import Streams, Told, What
from spillway.model.cluster import PodState
from spillway.telemetry import logger

IDLE = timedelta(seconds=1)  # without another such pod; pods come in bursts, and one plan is to serve them all
LONGEST = timedelta(seconds=10)  # since the first of them
REFUSALS = 4
"""In a row, once a view was not refused: a server that begins anew does not know its roles for a moment and refuses all."""
_LIFE_S = 10  # the server ends each watch after that, so one that hangs is known by its silence
_OPENS_S = 5.0  # a server that takes longer hangs

sleep: Callable[[float], None] = time.sleep
"""Waiting, as a module attribute: tests and the local world put their own here."""


@dataclass
class Batch:
    """Pods that turned unschedulable since the last snapshot, by when the first and the last of them did."""

    first: datetime | None = None
    last: datetime | None = None

    def note(self, now: datetime) -> None:
        self.first, self.last = self.first or now, now

    @property
    def due(self) -> datetime | None:
        return min(self.last + IDLE, self.first + LONGEST) if self.first and self.last else None


@dataclass
class Failures:
    """How many there were since the server told something: reads that failed, and watches that broke, or were refused."""

    number: int = 0
    refused: int = 0

    def wait(self, end: datetime) -> None:
        """Longer after each, but not beyond `end`: a list of all is the greatest load that we put on a server."""
        sleep(max(0.0, min((end - clock.utcnow()).total_seconds(), retry.pause_s(self.number, None))))
        self.number += 1


def wanted(session: Session, end: datetime) -> Iterator[None]:
    """Yields whenever a snapshot is to be read by `follow`: at once, after each batch, and until one did not fail. What is
    pending at `end` is due then.

    Raises ClusterForbidden when watching is refused for good. Nothing else that happens to the server raises: the next tick
    reads again.
    """
    failures = Failures()
    yield
    while clock.utcnow() < end:
        if _is_due(session, end, failures):
            yield


def _is_due(session: Session, end: datetime, failures: Failures) -> bool:
    """Follows the pods until a snapshot is due, or `end` has come."""
    kept = follow.kept(session)
    if kept is None:
        failures.wait(end)
        return clock.utcnow() < end
    batch = Batch()
    while clock.utcnow() < min(end, batch.due or end):
        try:
            with Streams(session) as streams:
                streams.open(PODS, kept.versions[PODS.kind], _LIFE_S, probe=False)
                ended = _hear(streams, kept, batch, end, failures)
        except Doubt as doubt:
            logger.info("pods are listed again", extra={"doubt": str(doubt)})
            follow.forget(session)
            failures.wait(end)
            return True
        failures.refused = failures.refused + 1 if ended and ended.status == 403 else 0
        if ended and failures.refused == REFUSALS:
            raise ClusterForbidden(session.cluster, "watch", PODS.name, Answer(403, ended.body, {}).message)
        if ended and (ended.problem or ended.status):
            logger.warning("the watch of pods broke", extra={"problem": ended.problem, "status": ended.status})
            failures.wait(min(end, batch.due or end))
    return batch.due is not None


def _hear(streams: Streams, kept: Kept, batch: Batch, end: datetime, failures: Failures) -> Told | None:
    """How the watch ended; None when it is our turn before. Raises Doubt."""
    opens, is_open = clock.utcnow() + timedelta(seconds=_OPENS_S), False
    while (left_s := (min(end, batch.due or end) - clock.utcnow()).total_seconds()) > 0:
        told = streams.next(left_s if is_open else min(left_s, _OPENS_S))
        if told is None:
            if not is_open and clock.utcnow() >= opens:
                return Told(PODS, What.ENDED, problem="no answer")
            continue
        is_open = True
        if told.what == What.ENDED:
            if told.status == 410:
                raise Doubt("the server has forgotten the version of the last read")
            if told.status == 401:
                raise Doubt("the server does not accept our credentials any more")  # a read renews them, or says so
            failures.number = failures.number if told.problem or told.status else 0
            return told
        if told.what == What.EVENT:
            failures.number = 0
            applied = apply(kept, PODS, told.body)
            if _waits(applied.after) and not _waits(applied.before):
                batch.note(clock.utcnow())
    return None


def _waits(pod: object | None) -> bool:
    return isinstance(pod, SeenPod) and pod.state == PodState.UNSCHEDULABLE
