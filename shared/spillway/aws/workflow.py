"""Starting the workflow of a plan, asking whether it runs, and waking it. An execution bears its plan's id."""

from typing import Any

import msgspec
from botocore.exceptions import ClientError

from spillway.aws import clients
from spillway.env import env
from spillway.model.plan import Plan, ScaleOut

_OVER = frozenset({"TaskTimedOut", "TaskDoesNotExist", "InvalidToken"})  # nobody waits there any more


def start(plan: Plan) -> bool:
    """True when this call started it, False when it was started before: names cannot be used twice in 90 days.

    Raises AwsForbidden or AwsUnavailable.
    """
    region = env().home_region
    with clients.asking(region, "states:StartExecution"):
        try:
            clients.client("stepfunctions", region).start_execution(
                stateMachineArn=env().state_machine_arn,
                name=plan.plan_id,
                input=msgspec.json.encode(arguments(plan), order="deterministic").decode(),
            )
        except ClientError as error:
            if clients.code(error) == "ExecutionAlreadyExists":
                return False
            raise
    return True


def arguments(plan: Plan) -> dict[str, Any]:
    """The input of the execution: ids only, since it may be 256 KiB at most and the plan is in the table.

    `grow` has every region that a step or one of its fallbacks names: each needs a loop that waits for what is asked there.
    """
    regions = {step.region for step in plan.scale_out}
    regions |= {fallback.region for step in plan.scale_out for fallback in step.fallbacks}
    return {
        "cluster": plan.cluster,
        "plan_id": plan.plan_id,
        "grow": [_loop(plan, region) for region in sorted(regions)],
        "drains": [{"step": step.step, "region": step.region} for step in plan.scale_in],
        "give_back": [
            {"region": region, "steps": [step.step for step in plan.give_back if step.region == region]}
            for region in sorted({step.region for step in plan.give_back})
        ],
    }


def is_running(plan_id: str) -> bool:
    """False when it ended, however, or never was. Raises AwsForbidden or AwsUnavailable."""
    region = env().home_region
    arn = env().state_machine_arn.replace(":stateMachine:", ":execution:") + f":{plan_id}"
    with clients.asking(region, "states:DescribeExecution"):
        try:
            status = clients.client("stepfunctions", region).describe_execution(executionArn=arn)["status"]
        except ClientError as error:
            if clients.code(error) == "ExecutionDoesNotExist":
                return False
            raise
    return str(status) in ("RUNNING", "PENDING_REDRIVE")


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
