"""Reading a cluster in a warm process: what changed since the last tick, by short watches, or all lists anew.

docs/adr/0012: when a watch has caught up, and what bounds the doubt that is left.
"""

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta

from spillway import clock
from spillway.errors import ClusterForbidden
from spillway.kube import resources
from spillway.kube.changes import Doubt, Kept, apply, number, version_of
from spillway.kube.objects import Objects, paused_gc
from spillway.kube.read import Reader, Reading
from spillway.kube.resources import Resource
from spillway.kube.session import Answer, Session
from spillway.kube.streams import Streams, Told, What
from spillway.telemetry import logger

QUIET_S = 0.15  # a watch of which nothing comes for so long has told all that there was when it began
ANEW_EVERY = timedelta(minutes=10)  # then all is listed, whatever the watches said
_ROUND_S = 10.0  # a round that lasts longer is in doubt
_LIFE_S = 10  # the server's own end of a watch that nobody ended
_FIRST = (resources.NODES.kind, resources.PODS.kind)

_warm: dict[tuple[str, str, str], Kept] = {}


def follow(session: Session, label_keys: Collection[str] = ()) -> Reading:
    """The cluster as it is now; `label_keys` are labels of pods that the policy reads.

    Raises what `read` raises. Then nothing is kept, and the next call lists all.
    """
    key = _key(session)
    kept = _warm.pop(key, None)
    if kept is not None and not timedelta(0) <= clock.utcnow() - kept.listed_at < ANEW_EVERY:
        kept = None  # before the new one is read: both would not fit
    with paused_gc():
        reader = Reader(session, kept.objects if kept else Objects())
        version = reader.server_version()
        if kept is None:
            kept = Kept(clock.utcnow(), reader.objects, reader.versions)
            reader.read_all()
        else:
            reader.versions = kept.versions
            _catch_up(reader, kept)
        reading = reader.reading(version, label_keys)
    _warm[key] = kept
    return reading


def kept(session: Session) -> Kept | None:
    """What is known since the last `follow` that did not fail, to go on from."""
    return _warm.get(_key(session))


def forget(session: Session) -> None:
    """The next `follow` lists all."""
    _warm.pop(_key(session), None)


def clear() -> None:
    """Forgets all clusters; for tests."""
    _warm.clear()


def _key(session: Session) -> tuple[str, str, str]:
    access = session.access
    return access.cluster, access.server, access.ca


def _catch_up(reader: Reader, kept: Kept) -> None:
    """All watches at once, then the lists that are in doubt. A doubt of nodes or pods is one of all: what came of them must
    be no older than what nodes and pods tell."""
    lists = reader.lists()
    gone = kept.versions.keys() | kept.objects.unread.keys()
    for kind in gone - {resource.kind for resource in lists}:  # its API has gone
        kept.objects.forget(kind)
        kept.versions.pop(kind, None)
    doubts = _Round(reader, kept, [resource for resource in lists if resource.kind in kept.versions]).run()
    doubts |= {resource.kind: "it is new" for resource in lists if resource.kind not in kept.versions}
    if doubts:
        logger.info("lists are read again", extra={"doubts": doubts})
    if not doubts.keys().isdisjoint(_FIRST):
        kept.listed_at = clock.utcnow()
        kept.versions.clear()
        for resource in lists:
            kept.objects.forget(resource.kind)
        reader.read_all()
    else:
        reader.read_each([resource for resource in lists if resource.kind in doubts])


@dataclass
class _State:
    """Of one watch: `wanted` is the server's version when it was asked, `quiet_at` when its silence is taken for the end."""

    wanted: int = 0
    quiet_at: float | None = None
    is_done: bool = False


class _Round:
    """Every watch is read until the version is reached that the server had when the round began, or nothing more comes.

    All end together, so that no kind is seen later than another.
    """

    def __init__(self, reader: Reader, kept: Kept, lists: Iterable[Resource]) -> None:
        self._reader, self._kept, self._lists = reader, kept, tuple(lists)
        self._states = {resource.kind: _State() for resource in self._lists}
        self._doubts: dict[str, str] = {}

    def run(self) -> dict[str, str]:
        """The kinds in doubt, and why. Raises ClusterForbidden."""
        end = time.monotonic() + min(_ROUND_S, self._reader.session.left_s)
        with Streams(self._reader.session) as streams:
            for resource in self._lists:
                streams.open(resource, self._kept.versions[resource.kind], _LIFE_S)
            while waiting := self._waiting():
                now = time.monotonic()
                told = streams.next(min([end, *(s.quiet_at for s in waiting.values() if s.quiet_at is not None)]) - now)
                if told is not None:
                    self._hear(told)
                elif time.monotonic() >= end:
                    self._doubts |= dict.fromkeys(waiting, "it took too long")
                else:
                    for state in waiting.values():
                        state.is_done = state.quiet_at is not None and state.quiet_at <= time.monotonic()
        return self._doubts

    def _waiting(self) -> dict[str, _State]:
        return {kind: state for kind, state in self._states.items() if not state.is_done and kind not in self._doubts}

    def _hear(self, told: Told) -> None:
        kind = told.resource.kind
        if kind in self._doubts:
            return
        try:
            self._take(told, self._states[kind])
        except Doubt as doubt:
            self._doubts[kind] = str(doubt)

    def _take(self, told: Told, state: _State) -> None:
        kind, reader = told.resource.kind, self._reader
        if told.what == What.PROBED:
            reader.note(Answer(200, told.body, told.headers, len(told.body)))  # too short to be compressed
            state.wanted = version_of(told.body)
            if state.wanted < number(self._kept.versions[kind]):
                raise Doubt("the server is behind what it told before")
        elif told.what == What.OPENED:
            reader.requests += 1
            state.quiet_at = time.monotonic() + QUIET_S
        elif told.what == What.EVENT:
            reader.body_bytes += len(told.body)
            reader.wire_bytes += len(told.body)
            version = apply(self._kept, told.resource, told.body).version
            state.quiet_at = time.monotonic() + QUIET_S
            state.is_done = state.is_done or version >= state.wanted
        else:
            raise self._ended(told)

    def _ended(self, told: Told) -> Doubt | ClusterForbidden:
        """Nobody but us ends a watch so soon."""
        if told.status == 403:
            message = Answer(403, told.body, {}).message
            return ClusterForbidden(self._reader.session.cluster, "watch", told.resource.name, message)
        if told.status == 404:
            resources.forget(self._reader.session)
        return Doubt(told.problem or f"the watch ended {told.status or ''}".strip())
