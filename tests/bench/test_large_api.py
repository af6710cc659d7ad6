"""The API server of the large cluster's bench: what it recorded is what a client reads, page by page."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.large_api import Recorded, lists
from spillway import clock
from spillway.kube import session as sessions
from spillway.kube.read import read
from spillway.kube.session import Session
from spillway.model.access import Access
from spillway_local.clock import WallClock
from spillway_local.kube_api.faults import Faults
from spillway_local.kube_api.server import Server, Traffic
from tests.kube.objects import listed, node, pod

PODS, NODES = 1200, 3


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    owner = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs-web", "controller": True}]
    folder = tmp_path / "cluster"
    folder.mkdir()
    (folder / "nodes.json").write_bytes(listed(*(node(f"n{n}") for n in range(NODES))))
    mine = [pod(f"p{n}", node=f"n{n % NODES}", labels={"app": "web"}, ownerReferences=owner) for n in range(PODS)]
    (folder / "pods-running.json").write_bytes(listed(*mine))
    server = Server(Recorded(lists(tmp_path)), WallClock(clock.utcnow()), Faults(), Traffic())
    server.start()
    try:
        yield server.url
    finally:
        sessions.close()
        server.stop()


@pytest.mark.feature("CS-16")
def test_all_that_was_recorded_is_read_with_what_controllers_would_have_beside_it(url: str) -> None:
    reading = read(Session(Access("large", url, token="any")))

    seen = reading.snapshot
    assert sum(len(one.names) for one in seen.pods) == PODS
    assert len(seen.nodes) == NODES
    assert {one.attach_limits["ebs.csi.aws.com"] for one in seen.nodes} == {25}
    assert [(shape.owner_missing, shape.owner_replicas) for shape in seen.shapes] == [(False, 3)]
    assert seen.warnings == ()


@pytest.mark.feature("CS-16")
def test_answers_come_compressed_and_are_the_same_bytes_each_time(url: str) -> None:
    server = Session(Access("large", url, token="any"))
    first, again = (server.call("GET", "/api/v1/pods", ("list", "pods"), {"limit": 500}) for _ in range(2))

    assert first.headers["Content-Encoding"] == "gzip"
    assert first.body == again.body
    assert json.loads(first.body)["metadata"] == {"resourceVersion": "1000", "continue": "500"}
