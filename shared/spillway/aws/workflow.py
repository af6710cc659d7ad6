"""Starting the workflow of a plan, asking whether it runs, and waking it. An execution bears its plan's id."""

from collections.abc import Mapping
from itertools import count
from typing import Any

import msgspec
from botocore.exceptions import ClientError

from spillway.aws import clients
from spillway.env import env
from spillway.model.plan import Plan, ScaleOut

DRAINS_EACH = 20
"""Drains of one execution: a drain that a budget holds for an hour takes 800 of the 25,000 events that its history may have."""

_OVER = frozenset({"TaskTimedOut", "TaskDoesNotExist", "InvalidToken"})  # nobody waits there any more


def start(plan: Plan) -> bool:
    """True when any of it runs by this call; False when all had ended before: names cannot be used twice in 90 days.

    A second call starts nothing twice. Raises AwsForbidden or AwsUnavailable.
    """
    started = [_start(_name(plan.plan_id, part), given) for part, given in enumerate(parts(plan), 1)]
    return any(started)


def _start(name: str, given: Mapping[str, Any]) -> bool:
    region = env().home_region
    with clients.asking(region, "states:StartExecution"):
        try:
            clients.client("stepfunctions", region).start_execution(
                stateMachineArn=env().state_machine_arn,
                name=name,
                input=msgspec.json.encode(given, order="deterministic").decode(),
            )
        except ClientError as error:
            if clients.code(error) == "ExecutionAlreadyExists":
                return False
            raise
    return True


def parts(plan: Plan) -> list[dict[str, Any]]:
    """The inputs of the plan's executions: ids only, since an input may be 256 KiB at most and the plan is in the table.

    `grow` has every region that a step or one of its fallbacks names: each needs a loop that waits for what is asked there.
    One execution does it all, but for drains beyond DRAINS_EACH, which have executions of their own; and so have all drains
    of a plan with loops, since a loop may fill a history by itself.
    """
    regions = {step.region for step in plan.scale_out}
    regions |= {fallback.region for step in plan.scale_out for fallback in step.fallbacks}
    drains = [{"step": step.step, "region": step.region} for step in plan.scale_in]
    here = 0 if regions else DRAINS_EACH
    first = {
        "cluster": plan.cluster,
        "plan_id": plan.plan_id,
        "grow": [_loop(plan, region) for region in sorted(regions)],
        "drains": drains[:here],
        "give_back": [
            {"region": region, "steps": [step.step for step in plan.give_back if step.region == region]}
            for region in sorted({step.region for step in plan.give_back})
        ],
    }
    further = range(here, len(drains), DRAINS_EACH)
    return [first, *({**first, "grow": [], "give_back": [], "drains": drains[at : at + DRAINS_EACH]} for at in further)]


def is_running(plan_id: str) -> bool:
    """Whether any execution of the plan is. False when they ended, however, or never were.

    Raises AwsForbidden or AwsUnavailable.
    """
    for part in count(1):
        status = _status(_name(plan_id, part))
        if status in ("RUNNING", "PENDING_REDRIVE"):
            return True
        if not status:
            break
    return False


def _status(name: str) -> str:
    """Step Functions' own word, "" when there is no such execution."""
    region = env().home_region
    arn = env().state_machine_arn.replace(":stateMachine:", ":execution:") + f":{name}"
    with clients.asking(region, "states:DescribeExecution"):
        try:
            return str(clients.client("stepfunctions", region).describe_execution(executionArn=arn)["status"])
        except ClientError as error:
            if clients.code(error) == "ExecutionDoesNotExist":
                return ""
            raise


def _name(plan_id: str, part: int) -> str:
    return plan_id if part == 1 else f"{plan_id}-{part}"


def wake(token: str) -> bool:
    """Ends the waiting of the loop that holds the token; False when it no longer waits."""
    region = env().home_region
    with clients.asking(region, "states:SendTaskSuccess"):
        try:
            clients.client("stepfunctions", region).send_task_success(taskToken=token, output='{"news": true}')
        except ClientError as error:
            if clients.code(error) in _OVER:
                return False
            raise
    return True


def _loop(plan: Plan, region: str) -> dict[str, Any]:
    steps: list[ScaleOut] = [step for step in plan.scale_out if step.region == region]
    return {
        "region": region,
        "steps": [step.step for step in steps],
        "uncordon": any(step.uncordon for step in steps),
    }
