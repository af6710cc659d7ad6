"""An API server, a session with it, and time that passes only when a test says so."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest

from spillway import clock
from spillway.kube import retry, session
from spillway.kube.session import Session
from spillway.model.access import Access
from spillway_local.clock import VirtualClock
from spillway_local.kube_api import Cluster


@dataclass
class World:
    """`waits` are the seconds that a retry would have slept."""

    api: Cluster
    session: Session
    time: VirtualClock
    waits: list[float]

    def as_stranger(self) -> Session:
        return replace(self.session, access=replace(self.session.access, token="wrong"))


@contextmanager
def open_cluster(api: Cluster, name: str = "prod") -> Iterator[World]:
    """`api` serves already, and its clock is a virtual one."""
    time = api.clock
    assert isinstance(time, VirtualClock)
    waits: list[float] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "utcnow", time.now)
        patch.setattr(retry, "sleep", waits.append)
        patch.setattr(retry, "jitter", lambda: 0.0)
        try:
            yield World(api, Session(Access(name, api.url, token=api.token)), time, waits)
        finally:
            session.close()
