"""`spillway plan`: what Spillway would do with a dump, and why. Nothing is written anywhere."""

import argparse
import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spillway_local.options import Subparsers, command, moment

if TYPE_CHECKING:
    from spillway.model.plan import Plan
    from spillway_local.dump import Dump


def register(commands: Subparsers) -> None:
    plan = command(
        commands,
        "plan",
        run,
        summary="show what would be done with a dump",
        description="Plan from a dump of a cluster and its fleet (docs/dump.md) and say why. Nothing is written anywhere.",
    )
    plan.add_argument("--from", dest="folder", type=Path, required=True, metavar="DIR", help="folder of the dump")
    plan.add_argument(
        "--output", choices=("table", "json"), default="table", help="tables, or one JSON object (default: table)"
    )
    plan.add_argument("--assign", action="store_true", help="also name the pods that each node is planned to take")
    plan.add_argument(
        "--assume-idle-since",
        type=moment,
        metavar="TIME",
        help="nodes that the memory does not know have been idle or unneeded since then, as in 2026-01-01T00:00:00Z "
        "(default: the dump's own time)",
    )


def run(arguments: argparse.Namespace) -> int:
    from spillway_local import dump

    read = dump.read(arguments.folder)
    plan = plan_of(read, arguments.folder, arguments.assume_idle_since)
    if arguments.output == "json":
        print(json.dumps(document(plan, read, assign=arguments.assign), indent=2))
    else:
        from spillway.planner import explain
        from spillway_local import tables

        tables.show(plan, explain.assignments(plan, read.cluster, read.fleet) if arguments.assign else ())
    return 0


def plan_of(read: "Dump", folder: Path, assume_idle_since: datetime | None = None) -> "Plan":
    """The plan of a dump; raises DumpError where `assume_idle_since` lies after it."""
    from spillway import planner
    from spillway.errors import DumpError
    from spillway.planner import clocks

    if assume_idle_since and assume_idle_since > read.now:
        raise DumpError(str(folder / "meta.json"), "now", f"it lies before --assume-idle-since {assume_idle_since.isoformat()}")
    memory = clocks.observe(read.memory, read.cluster, read.fleet, read.policy, read.now, assume_idle_since)
    return planner.plan(read.cluster, read.fleet, memory, read.policy, read.now)


def document(plan: "Plan", read: "Dump", *, assign: bool = False) -> dict[str, Any]:
    """The plan as JSON-able values (docs/schema/plan.json), with `assignments` where asked for."""
    from spillway.planner import explain

    found: dict[str, Any] = explain.document(plan)
    return found | {"assignments": explain.assignments(plan, read.cluster, read.fleet)} if assign else found
