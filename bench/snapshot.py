"""The large cluster read, reduced and stored: one tick of `snapshot_cluster` from its event to the head in the table.

Three processes: an API server that sends recorded pages (bench.large_api), the function (bench.one_tick), and this one, which
holds the emulated table (moto, over loopback HTTP). `value` is the handler's time from its event, all imports done: those
are `cold_start_snapshot_cluster`'s, and `import_s` is what the Kubernetes client's would have added. The table's share of it
is the emulation's: `store_s` is what the function waited for it, `table_s` what moto took to answer. `floor_s` is what no
reader of these answers can save on one core: bytes over loopback, unpacking, and passing over the JSON once, without keeping
any of it.
"""

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import msgspec
import urllib3
from moto import mock_aws

from bench import data
from bench.aws_server import serving
from bench.check import Wrong
from bench.data import ROOT
from bench.figure import Figure, Seconds, timed
from spillway.aws import clients
from spillway.kube.fields import Envelope, Part
from spillway.kube.resources import PODS

RUNS = 3
GOAL_S, GOAL_MB = 10.0, 512
PODS_IN_ALL, NODES_IN_ALL = 150_000, 5_000
_REGION, _TABLE = "us-east-1", "spillway"
_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
_ENVIRONMENT = {
    "SPILLWAY_CLUSTER": "large", "SPILLWAY_HOME_REGION": _REGION, "SPILLWAY_REGIONS": _REGION, "SPILLWAY_TABLE": _TABLE,
    "SPILLWAY_STATE_MACHINE_ARN": "arn:aws:states:us-east-1:123456789012:stateMachine:execute-plan",
    "AWS_DEFAULT_REGION": _REGION, "AWS_EC2_METADATA_DISABLED": "true", "PYTHONPATH": os.pathsep.join(("shared", "local")),
}  # fmt: skip
_PAGE, _GZIP = 500, 31
_LIMIT_S = 120


def snapshot() -> Iterator[Figure]:
    """Seconds, the median of `RUNS`, and the most memory that a run held."""
    with data.large(fat=True) as folder, _api(folder) as url:
        _once(url)  # has the server record what it answers
        runs = sorted((_once(url) for _ in range(RUNS)), key=lambda run: run["s"])
        floor = _floor(url)
    run = runs[RUNS // 2]
    yield {
        "figure": "snapshot_150000",
        "value": round(run["s"], 2),
        "unit": "s",
        "goal": GOAL_S,
        "least": round(runs[0]["s"], 2),
        "cpu_s": round(run["cpu_s"], 2),
        "import_s": round(run["import_s"], 2),
        "read_s": round(run["s"] - run["reduce_s"] - run["store_s"], 2),
        "reduce_s": round(run["reduce_s"], 2),
        "store_s": round(run["store_s"], 2),
        "table_s": round(run["table_s"], 2),
        "floor_s": {name: round(seconds.wall, 2) for name, seconds in floor.items()},
        "requests": run["answer"]["requests"],
        "answers_mb": round(run["answer"]["bytes"] / 1e6, 1),
        "table_writes": run["first"]["writes"],
        "table_kb": round(run["first"]["bytes"] / 1024, 1),
        "after_one_change": run["again"],
        "runs": RUNS,
        "checked": True,
    }
    yield {
        "figure": "snapshot_150000_mb",
        "value": round(median(run["peak_mb"] for run in runs), 1),
        "unit": "MB",
        "goal": GOAL_MB,
        "most": round(max(run["peak_mb"] for run in runs), 1),
    }


@contextmanager
def _api(folder: Path) -> Iterator[str]:
    """The recorded API server's URL."""
    command = [sys.executable, "-m", "bench.large_api", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.stdin.close()


def _once(url: str) -> dict[str, Any]:
    """What one tick tells, with the table's own time. Raises Wrong."""
    with mock_aws(), patch.dict(os.environ, _CREDENTIALS), serving() as aws:
        clients.clear()
        clients.client("dynamodb", _REGION).create_table(
            TableName=_TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        )
        environment = {**os.environ, **_ENVIRONMENT, "AWS_ENDPOINT_URL": aws.address, "SPILLWAY_ACCESS": _access(url)}
        command = [sys.executable, "-m", "bench.one_tick"]
        child = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=_LIMIT_S)
        clients.clear()
    if child.returncode:
        raise Wrong(f"the function did not answer: {(child.stderr.strip().splitlines() or ['it said nothing'])[-1]}")
    told: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    if (told["answer"]["pods"], told["answer"]["nodes"], told["answer"]["warnings"]) != (PODS_IN_ALL, NODES_IN_ALL, 0):
        raise Wrong(f"not all of the cluster is in the snapshot: {told['answer']}")
    return told | {"table_s": aws.seconds}


def _access(url: str) -> str:
    return "json:" + json.dumps({"server": url, "token": "any"})


def _floor(url: str) -> Mapping[str, Seconds]:
    """One pass over all pods."""
    skip = msgspec.json.Decoder(Part)
    loopback, unpacking, json_ = Seconds(), Seconds(), Seconds()
    with urllib3.PoolManager() as pool:
        token: str | None = "0"
        while token:
            path = f"{url}{PODS.path}?limit={_PAGE}&continue={token}"
            packed = pool.request("GET", path, preload_content=False).read(decode_content=False)
            with timed(loopback):
                packed = pool.request("GET", path, preload_content=False).read(decode_content=False)
            with timed(unpacking):
                page = zlib.decompress(packed, _GZIP)
            with timed(json_):
                skip.decode(page)
            token = _next_page(page)
    return {"loopback": loopback, "unpacking": unpacking, "json": json_}


def _next_page(page: bytes) -> str | None:
    meta = msgspec.json.decode(page, type=Envelope).metadata
    return meta.next_page if meta else None
