"""One tick of `snapshot_cluster` in a process of its own, as in Lambda's: `python -m bench.one_tick`.

The environment says where the cluster and the table are. The last line on standard output tells where the time went, the
most memory that the process held, and of a second store, in which one node has changed, how long it took.
"""

import importlib
import json
import resource
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import msgspec

from bench.data import ROOT
from bench.figure import Seconds, timed
from spillway.aws.table import Table, snapshots
from spillway.env import env
from spillway.kube import read
from spillway.model.cluster import ClusterSnapshot


class Writes:
    """Single items put into the table, and the bytes of their bodies."""

    def __init__(self) -> None:
        self.writes = self.bytes = 0

    def told(self) -> dict[str, int]:
        return {"writes": self.writes, "bytes": self.bytes}


def main() -> None:
    sys.path.insert(0, str(ROOT / "functions" / "snapshot_cluster"))
    app: Any = importlib.import_module("app")
    importing, whole, reducing, storing, again = (Seconds() for _ in range(5))
    with timed(importing):
        importlib.import_module("kubernetes.client").ApiClient  # noqa: B018  which a cold function does at its first request
    with (
        _counted() as writes,
        _timed(read, "reduce", reducing),
        _timed(snapshots, "store_cluster", storing),
        timed(whole),
    ):
        answer = app.handler({}, None)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = {
        "s": whole.wall, "cpu_s": whole.cpu, "import_s": importing.wall, "reduce_s": reducing.wall, "store_s": storing.wall,
        "peak_mb": peak_mb,
        "answer": answer, "first": writes.told(),
    }  # fmt: skip
    table = Table(env().table, env().cluster)
    changed = _with_one_change(snapshots.latest_cluster(table))
    with _counted() as writes, timed(again):
        snapshots.store_cluster(table, changed)
    print("\n" + json.dumps({**told, "again": {**writes.told(), "s": round(again.wall, 2)}}))


@contextmanager
def _counted() -> Iterator[Writes]:
    plain, writes = Table.put, Writes()

    def put(table: Table, sk: str, attributes: Mapping[str, Any], *rest: Any, **named: Any) -> None:
        writes.writes += 1
        writes.bytes += len(attributes["body"])
        plain(table, sk, attributes, *rest, **named)

    with patch.object(Table, "put", put):
        yield writes


@contextmanager
def _timed(owner: Any, name: str, seconds: Seconds) -> Iterator[None]:
    """What the function of that name takes while this holds."""
    plain = getattr(owner, name)

    def timing(*args: Any, **named: Any) -> Any:
        with timed(seconds):
            return plain(*args, **named)

    with patch.object(owner, name, timing):
        yield


def _with_one_change(seen: ClusterSnapshot) -> ClusterSnapshot:
    middle = len(seen.nodes) // 2
    changed = msgspec.structs.replace(seen.nodes[middle], ready=not seen.nodes[middle].ready)
    return msgspec.structs.replace(seen, nodes=(*seen.nodes[:middle], changed, *seen.nodes[middle + 1 :]))


if __name__ == "__main__":
    main()
