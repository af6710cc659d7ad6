"""What a handler that speaks to the cluster needs: a table, an API server, and one clock for both."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest
import yaml

from spillway import clock
from spillway.aws.table import Table, plans, snapshots
from spillway.env import env
from spillway.kube import retry, session
from spillway.model.cluster import ClusterSnapshot
from spillway.model.plan import Plan, ScaleIn, Summary, Why
from spillway.model.reason import Code, Reason
from spillway_local.clock import VirtualClock
from spillway_local.handlers import ROOT, Handlers
from spillway_local.kube_api import Cluster, FakeCluster
from tests.kube.objects import Object
from tests.workflow.world import CLUSTER, HOME, NOW, open_world

ROLE, BINDING = yaml.safe_load_all((ROOT / "deploy" / "rbac.yaml").read_text(encoding="utf-8"))
"""What Spillway may do in the cluster, as it is shipped."""
WHY = Reason(code=Code.EMPTY, text="node n1 has had no work for 600 s")


@dataclass
class World:
    table: Table
    api: Cluster
    time: VirtualClock

    def call(self, function: str, **event: Any) -> dict[str, Any]:
        """The real handler, with an event of this cluster."""
        answer: dict[str, Any] = Handlers()[function]({"cluster": CLUSTER, "plan_id": "p1", **event}, None)
        return json.loads(json.dumps(answer))

    def snapshot(self, *objects: Object) -> ClusterSnapshot:
        """What the function stored once the cluster holds these, too."""
        for one in objects:
            self.api.add(one)
        self.call("snapshot_cluster")
        return snapshots.latest_cluster(self.table)

    def plan(self, *, created_at: datetime | None = None, **steps: Any) -> Plan:
        """Stores a plan as of now."""
        stored = Plan(
            plan_id="p1", cluster=CLUSTER, created_at=created_at or self.time.now(), policy_version="0", snapshots=(),
            summary=Summary(), **steps,
        )  # fmt: skip
        plans.put(self.table, stored)
        return stored

    def pass_s(self, seconds: float) -> None:
        self.time.call_in(seconds, lambda: None)
        self.time.run(limit_s=seconds)

    def node(self, name: str = "n1") -> dict[str, Any]:
        found = self.api.get("Node", name)
        assert found is not None
        return found

    def labels(self, name: str = "n1") -> dict[str, str]:
        return dict(self.node(name)["metadata"].get("labels") or {})


@contextmanager
def open_handlers() -> Iterator[World]:
    """Over the fake cluster, of which these tests drive the time."""
    with FakeCluster(VirtualClock(NOW)) as api, handlers_on(api) as opened:
        yield opened


@contextmanager
def handlers_on(api: Cluster, user: str = "tester") -> Iterator[World]:
    """`api` serves already, and its clock is a virtual one; the handlers come to it as `user`."""
    time = api.clock
    assert isinstance(time, VirtualClock)
    with open_world() as aws, pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "utcnow", time.now)
        patch.setattr(retry, "sleep", lambda seconds: None)
        patch.setattr(retry, "jitter", lambda: 0.0)
        patch.setenv("SPILLWAY_ACCESS", "json:" + json.dumps({"server": api.url, "token": api.tokens[user]}))
        patch.setenv("POWERTOOLS_METRICS_DISABLED", "true")
        env.cache_clear()
        try:
            yield World(aws.table, api, time)
        finally:
            session.close()


def scale_in(**fields: Any) -> ScaleIn:
    """A step that takes the empty node n1 away."""
    given = {"step": 1, "region": HOME, "group": "a", "node": "n1", "instance_id": "i-0a", "why": Why.EMPTY}
    return ScaleIn(**{**given, "deadline_s": 3600, "reason": WHY, **fields})


def samples(function: str) -> dict[str, dict[str, Any]]:
    """The sample events of a function by their case."""
    files = sorted((ROOT / "events").glob(f"{function}.*.json"))
    return {file.name.split(".")[1]: json.loads(file.read_text()) for file in files}
