"""A random world: Kubernetes objects and the fleet behind them, to be set up, written down, and planned."""

import copy
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from spillway import clock
from spillway_local.judge import launches, planning
from spillway_local.judge.features import Feature
from spillway_local.judge.planning import Planned
from spillway_local.judge.scene import CLUSTER, CLUSTER_WIDE, NOW, REGION, Object

__all__ = ["Planned", "RandomWorld"]


@dataclass(frozen=True)
class RandomWorld:
    """`objects` are the world's own, as an API server would list them at NOW; `answers` are its region's. `closed` are zones
    in which AWS has no room for groups that have another one. `name` begins every name in it."""

    seed: int
    name: str
    features: frozenset[Feature]
    objects: tuple[Object, ...]
    answers: Mapping[str, Any]
    policy: Mapping[str, Any]
    closed: tuple[str, ...] = ()

    def standing(self, planned: Planned | None = None) -> list[Object]:
        """All but the pods that wait, with what every world needs once a cluster; nodes that `planned` gives back as they
        are then."""
        given_back = planned.uncordoned if planned else {}
        return [*CLUSTER_WIDE, *(given_back.get(_node_name(one), one) for one in self.objects if not _waits(one))]

    def waiting(self) -> list[Object]:
        """Pods that no node suits yet, oldest first."""
        pods = [one for one in self.objects if _waits(one)]
        return sorted(pods, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))

    def plan(self, objects: Iterable[Object] | None = None, now: datetime | None = None) -> Planned:
        """The plan for the world as it was made or, with `objects`, for what an API server says of it at `now`.

        `objects` are this world's alone, each with its kind; the time of their plan is the clock's unless `now` is given.
        """
        seen, at = (self.objects, NOW) if objects is None else (objects, clock.utcnow())
        return planning.plan(seen, self.answers, self.policy, now or at, self.closed)

    def bought(self, planned: Planned) -> "RandomWorld":
        """The world once all that the plan asks for has come: instances in service, desired raised, nodes Ready."""
        answers = copy.deepcopy(dict(self.answers))
        for target, name in planned.targets.items():
            launches.add_instance(answers, target.rpartition("#")[0], planned.nodes[name])
        kept = (planned.uncordoned.get(_node_name(one), one) for one in self.objects)
        return replace(self, objects=(*kept, *planned.nodes.values(), *planned.company), answers=answers)

    def write(self, folder: Path) -> None:
        """A dump (docs/dump.md) of the world as it was made, into a folder made here."""
        region = folder / "fleet" / REGION
        region.mkdir(parents=True)
        (folder / "cluster").mkdir()
        items = [*CLUSTER_WIDE, *self.objects]
        _write(folder / "meta.json", {"cluster": CLUSTER, "home_region": REGION, "now": NOW.isoformat()})
        _write(folder / "cluster" / "objects.json", {"apiVersion": "v1", "kind": "List", "items": items})
        _write(region / "answers.json", self.answers)
        if self.policy:
            _write(folder / "policy.yaml", self.policy)


def _waits(one: Object) -> bool:
    return one["kind"] == "Pod" and "nodeName" not in one["spec"]


def _node_name(one: Object) -> str:
    return one["metadata"]["name"] if one["kind"] == "Node" else ""


def _write(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
