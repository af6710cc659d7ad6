"""How many calls of AWS a tick of `snapshot_fleet` takes: counted on the emulated AWS, and written into docs/aws-calls.md."""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from botocore.client import BaseClient

from spillway.aws import clients
from spillway_local import many_groups
from spillway_local.cloudformation import ROOT
from spillway_local.emulator.patching import Patch, patched
from spillway_local.world import World

PAGE = ROOT / "docs" / "aws-calls.md"
HEADING = "## As counted\n\n"
FLEETS = {10: 1, 100: 1, 2000: 5}
"""Groups in all, and over how many regions: each has as many of them, and is asked the same."""
TICKS = ("first", "idle", "five minutes on", "busy")
_REGION = "us-east-1"
_OURS = frozenset({"dynamodb"})  # the table is no part of the fleet

Calls = Mapping[str, int]


@dataclass(frozen=True)
class Counted:
    """Calls by operation, as in `ec2:DescribeInstances`, of each of `TICKS` in one region."""

    groups: int
    ticks: Mapping[str, Calls]


def count(groups: int) -> Counted:
    """Of a region with so many groups; in the busy tick every twentieth has asked for a node that is not there yet."""
    ticks: dict[str, Calls] = {}
    with World(many_groups.fleet([_REGION], groups), ticks=False) as world:

        def tick(name: str, after_s: float) -> None:
            world.clock.run(limit_s=after_s)
            with counting() as calls:
                world.aws.functions.invoke("snapshot_fleet", {})
            ticks[name] = calls

        tick("first", 0)
        tick("idle", 60)
        tick("five minutes on", 240)
        for number in range(0, groups, 20):
            clients.client("autoscaling", _REGION).set_desired_capacity(
                AutoScalingGroupName=many_groups.name_of(number), DesiredCapacity=2
            )
        tick("busy", 10)
    return Counted(groups, ticks)


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """Each call that a client of this process makes while this holds, a page a call, retries apart."""
    calls: Counter[str] = Counter()
    lock, stock = threading.Lock(), BaseClient._make_api_call  # type: ignore[attr-defined]

    def call(self: Any, operation: str, request: Any) -> Any:
        service = self.meta.service_model.service_name
        if service not in _OURS:
            with lock:
                calls[f"{service}:{operation}"] += 1
        return stock(self, operation, request)

    with patched([Patch(BaseClient, "_make_api_call", call)]):
        yield calls


def tables(counted: Mapping[int, Counted]) -> str:
    """`counted` by the groups of the whole fleet."""
    lines = [f"| Groups | Regions | {' | '.join(name.capitalize() for name in TICKS)} |", "|---|---|" + "---|" * len(TICKS)]
    for groups, regions in FLEETS.items():
        lines.append(f"| {groups:,} | {regions} | {' | '.join(_sums(counted[groups], regions))} |")
    largest = counted[max(FLEETS)]
    lines += ["", f"Of one region with {largest.groups} groups:", ""]
    lines += [f"| Call | {' | '.join(name.capitalize() for name in TICKS)} |", "|---|" + "---|" * len(TICKS)]
    for operation in sorted({name for calls in largest.ticks.values() for name in calls}):
        numbers = " | ".join(str(largest.ticks[tick].get(operation) or "") for tick in TICKS)
        lines.append(f"| `{operation}` | {numbers} |")
    return "\n".join(lines) + "\n"


def _sums(counted: Counted, regions: int) -> Iterator[str]:
    return (str(regions * sum(counted.ticks[tick].values())) for tick in TICKS)


def write() -> None:
    """Renews the tables of docs/aws-calls.md, below its heading `As counted`."""
    counted = {groups: count(groups // regions) for groups, regions in FLEETS.items()}
    PAGE.write_text(PAGE.read_text(encoding="utf-8").partition(HEADING)[0] + HEADING + tables(counted), encoding="utf-8")


if __name__ == "__main__":
    write()
