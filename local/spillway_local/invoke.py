"""Runs one handler by hand against a small emulated world: `make invoke FUNCTION=plan EVENT=events/plan.burst.json`.

The world is an example dump after its first tick, with a plan that waits to be carried out. An event's `cluster`,
`region`, `plan_id` and steps need not be known beforehand: the world's cluster, one of its regions and a plan with steps
of these numbers take their place. What the workflow does before a task (a cordon before an eviction, say) is done
first, so every event of events/ works on its own.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from spillway.aws.table import plans, requests, settings
from spillway.errors import SpillwayError
from spillway.model.memory import OpenRequest, RequestState
from spillway.model.plan import Plan
from spillway_local.emulator.functions import FunctionFailed
from spillway_local.handlers import ROOT, Handlers
from spillway_local.world import World

DONE, FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130
_GROWS, _SHRINKS = "burst", "idle"
_WORLD_OF = {"drain": _SHRINKS, "scale_in": _SHRINKS, "remove_node": _SHRINKS}
_IDLE_MINUTES = 15  # until the idle example has nodes to remove

# What comes before a task in the workflow, as (function, action).
_BEFORE: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {
    ("drain", "evict"): (("drain", "begin"),),
    ("drain", "abandon"): (("drain", "begin"),),
    ("scale_in", "terminate"): (("drain", "begin"),),
    ("scale_in", "confirm"): (("drain", "begin"), ("scale_in", "terminate")),
    ("remove_node", ""): (("drain", "begin"), ("scale_in", "terminate")),
    ("verify_instances", "check"): (("scale_out", ""),),
    ("verify_instances", "wait"): (("scale_out", ""),),
    ("verify_nodes", ""): (("scale_out", ""),),
}


class WrongUsage(Exception):
    """What was asked for cannot be run; the text says what can."""


def main(arguments: Sequence[str] | None = None) -> int:
    """0 done, 1 the handler failed, 2 wrong usage or a bad event."""
    parser = argparse.ArgumentParser(
        prog="make invoke", usage="make invoke FUNCTION=name EVENT=file", description=(__doc__ or "").partition(":")[0] + "."
    )
    parser.add_argument("function", metavar="FUNCTION", help="a folder of functions/")
    parser.add_argument("event", metavar="EVENT", type=Path, help="a JSON file, as in events/")
    asked = parser.parse_args(arguments)
    try:
        answer = invoke(asked.function, _read(asked.event))
    except (WrongUsage, SpillwayError) as error:
        print(error, file=sys.stderr)
        return WRONG_USAGE
    except FunctionFailed as failure:
        print(f"{failure.error_type}: {failure.message}", file=sys.stderr)
        return WRONG_USAGE if failure.error_type == "EventError" else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    print(json.dumps(answer, indent=2))
    return DONE


def invoke(function: str, event: Mapping[str, Any]) -> Any:
    """The handler's answer; raises WrongUsage, and FunctionFailed with the handler's own error."""
    known = Handlers()
    if function not in known:
        raise WrongUsage(f"there is no function {function!r}; there are {', '.join(known)}")
    example = ROOT / "examples" / _WORLD_OF.get(function, _GROWS)
    waits = {"mode": "dry_run", "may_be_empty": True}  # the plan is made and stored, and nobody carries it out
    with World.from_dump(example, policy=waits, ticks=False) as world:
        if function == "plan":
            world.aws.minutes.once()  # heads to plan on, and nobody has planned yet
        else:
            _let_plan(world, shrinks=example.name == _SHRINKS)
        settings.put_policy(world.table, waits | {"mode": "run"}, by="invoke")
        with world.clock.busy():
            return _invoke(world, function, dict(event))


def _let_plan(world: World, shrinks: bool) -> None:
    for _ in range(_IDLE_MINUTES if shrinks else 1):
        world.tick()
        plan = world.latest_plan()
        if plan is not None and plan.has_steps and (plan.scale_in or not shrinks):
            return
        world.clock.run(limit_s=57)


def _invoke(world: World, function: str, event: dict[str, Any]) -> Any:
    if "cluster" in event:
        event |= {"cluster": world.raw.cluster}
    if "plan_id" in event:
        plan = world.latest_plan()
        if plan is not None:
            event |= _fit(world, plan, event)
        for name, action in _BEFORE.get((function, event.get("action", "")), ()):
            world.aws.functions.invoke(name, _like(event, world.raw.home, name, action))
    return world.aws.functions.invoke(function, event)


def _fit(world: World, plan: Plan, event: Mapping[str, Any]) -> dict[str, Any]:
    """Stores the plan under the event's id with its step numbers, and moves the event to where those steps are."""
    steps = [*event.get("steps", ()), *([event["step"]] if "step" in event else [])]
    region = event.get("region", "")
    if plan.scale_in and "step" in event:
        step = plan.scale_in[0]
        plan = msgspec.structs.replace(plan, scale_in=(msgspec.structs.replace(step, step=event["step"]),))
        region = step.region
    elif plan.scale_out and steps:
        mine = [step for step in plan.scale_out if step.region == region] or list(plan.scale_out)
        made = tuple(msgspec.structs.replace(step, step=number) for step, number in zip(mine, steps, strict=False))
        plan, region = msgspec.structs.replace(plan, scale_out=made), made[0].region
    plans.put(world.table, msgspec.structs.replace(plan, plan_id=event["plan_id"]))
    for request_id in event.get("requests", ()):
        region = _ask(world, plan, request_id, region)
    return {"region": region} if "region" in event else {}


def _ask(world: World, plan: Plan, request_id: str, region: str) -> str:
    """Writes down a request that a refusal has handed on, for the first group of the region; gives the region."""
    groups = [group for group in world.aws.groups().values() if group.region == region] or list(world.aws.groups().values())
    plan_id, step, hop = request_id.split("#")
    request = OpenRequest(
        id=request_id, plan_id=plan_id, step=int(step), hop=int(hop), region=groups[0].region, group=groups[0].name,
        from_desired=groups[0].desired_capacity, to_desired=groups[0].desired_capacity + 1, nodes=1,
        asked_at=plan.created_at, state=RequestState.PLANNED,
    )  # fmt: skip
    requests.create(world.table, request)
    return request.region


def _like(event: Mapping[str, Any], home: str, function: str, action: str) -> dict[str, Any]:
    """The event of an earlier task of the same step."""
    wanted = {"region": home} | {key: event[key] for key in ("cluster", "plan_id", "region", "step", "steps") if key in event}
    if function == "scale_out":
        wanted.setdefault("steps", [1])
    return wanted | ({"action": action} if action else {})


def _read(file: Path) -> dict[str, Any]:
    try:
        event = json.loads(file.read_text())
    except OSError as error:
        raise WrongUsage(f"{file} cannot be read: {error.strerror}; sample events are in events/") from error
    except ValueError as error:
        raise WrongUsage(f"{file} is no JSON: {error}") from error
    if not isinstance(event, dict):
        raise WrongUsage(f"{file}: an event is a JSON object")
    return event


if __name__ == "__main__":
    sys.exit(main())
