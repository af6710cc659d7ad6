"""A large cluster's API server in a process of its own: `python -m bench.large_api FOLDER`, a dump; it prints its URL.

It encodes and compresses each answer once and sends the same bytes ever after, so that who asks is measured, not who answers.
Answers are compressed as a real server's are. What a dump leaves out is made to fit: a CSINode for each node, and for the
owner of pods ten old ReplicaSets beside the one that they are from, as a Deployment keeps them.
"""

import gzip
import json
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from spillway import clock
from spillway_local.clock import WallClock
from spillway_local.dump_files import files
from spillway_local.kube_api.discovery import discover
from spillway_local.kube_api.faults import Faults
from spillway_local.kube_api.kinds import Kinds
from spillway_local.kube_api.requests import Answer, Call
from spillway_local.kube_api.server import Server, Traffic

_GZIP_LEVEL = 1  # defaultGzipContentEncodingLevel of k8s.io/apiserver
_OLD_REVISIONS = 10  # a Deployment's default revisionHistoryLimit
Lists = Mapping[str, list[bytes]]


class Recorded:
    """A backend of `Server` that knows lists by plural, in pages, and what servers tell of themselves."""

    def __init__(self, lists: Lists) -> None:
        self.kinds = Kinds()
        self._lists = lists
        self._known: dict[str, Answer] = {}
        self._lock = threading.Lock()

    def start(self) -> None:
        """Nothing is to be begun."""

    def stop(self) -> None:
        """No answer is a stream."""

    def answer(self, call: Call) -> Answer:
        with self._lock:
            if call.target not in self._known:
                self._known[call.target] = self._packed(call)
            return self._known[call.target]

    def _packed(self, call: Call) -> Answer:
        body = self._list(call) if call.ask else json.dumps(discover(self.kinds, call.target)).encode()
        return Answer(body=[gzip.compress(body, _GZIP_LEVEL)], headers={"Content-Encoding": "gzip"})

    def _list(self, call: Call) -> bytes:
        ask = call.ask
        assert ask is not None
        items = self._lists.get(ask.kind.plural, [])
        start = int(ask.query.get("continue", "0"))
        end = start + int(ask.query["limit"])
        meta = {"resourceVersion": "1000"} | ({"continue": str(end)} if end < len(items) else {})
        head = {"kind": f"{ask.kind.name}List", "apiVersion": ask.kind.api_version, "metadata": meta}
        return json.dumps(head, separators=(",", ":")).encode()[:-1] + b',"items":[' + b",".join(items[start:end]) + b"]}"


class _List(msgspec.Struct):
    items: list[msgspec.Raw]


def lists(folder: Path) -> Lists:
    """Of a dump of nodes and pods, each in files of their own."""
    found: dict[str, list[bytes]] = {"nodes": [], "pods": []}
    for file, raw in files(folder / "cluster"):
        found[file.name.partition(".")[0].partition("-")[0]] += map(bytes, msgspec.json.decode(raw, type=_List).items)
    found["replicasets"] = list(_replica_sets(found["pods"]))
    found["csinodes"] = list(_csi_nodes(found["nodes"]))
    found["namespaces"] = [b'{"metadata": {"name": "default"}}']
    return found


def _replica_sets(pods: Iterable[bytes]) -> Iterable[bytes]:
    made: set[str] = set()
    for pod in map(msgspec.json.decode, pods):
        meta: Any = pod["metadata"]
        name = meta["ownerReferences"][0]["name"]
        if name in made:
            continue
        made.add(name)
        deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": f"d-{name}", "controller": True}
        for revision in range(_OLD_REVISIONS + 1):
            suffix, replicas = (f"-{revision}", 0) if revision else ("", 3)
            own = {"name": name + suffix, "uid": f"rs-{name}{suffix}", "ownerReferences": [deployment]}
            template = {"metadata": {"labels": meta["labels"]}, "spec": pod["spec"]}
            yield json.dumps({"metadata": meta | own, "spec": {"replicas": replicas, "template": template}}).encode()


def _csi_nodes(nodes: Iterable[bytes]) -> Iterable[bytes]:
    driver = {"name": "ebs.csi.aws.com", "nodeID": "i-1", "topologyKeys": [], "allocatable": {"count": 25}}
    for node in map(msgspec.json.decode, nodes):
        yield json.dumps({"metadata": {"name": node["metadata"]["name"]}, "spec": {"drivers": [driver]}}).encode()


def main() -> None:
    """Serves until its standard input ends."""
    server = Server(Recorded(lists(Path(sys.argv[1]))), WallClock(clock.utcnow()), Faults(), Traffic())
    server.start()
    try:
        print(server.url, flush=True)
        sys.stdin.read()
    finally:
        server.stop()


if __name__ == "__main__":
    main()
