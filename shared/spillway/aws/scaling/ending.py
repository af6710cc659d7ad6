"""Ending a drained node's instance: by id, once, with decrement, and only while the group may shrink."""

from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from spillway import clock
from spillway.aws import clients
from spillway.aws.scaling import following, group
from spillway.aws.scaling.group import GroupNow, Rejected
from spillway.aws.table import leases, notices, settings
from spillway.aws.tasks import Task
from spillway.errors import PolicyError
from spillway.model.fleet import Instance
from spillway.model.memory import Notice, Told
from spillway.model.plan import ScaleIn, Why
from spillway.model.policy import Policy
from spillway.planner import ownership

_HELD = "Terminating:Wait"  # by lifecycle hooks, each for an hour unless it says otherwise
_GONE = ("terminated", "")  # "": EC2 no longer knows the id
_STOPPED = ("stopping", "stopped")  # a warm pool that takes instances back ends none of them


@dataclass(frozen=True)
class Ended:
    """`status`: ending (wait), gone (EC2 says so), refused (it stays; `reason` tells why). `is_new`: ended by this call."""

    status: str
    reason: str = ""
    is_new: bool = False


def terminate(task: Task, step: ScaleIn) -> Ended:
    """Raises LeaseHeld when somebody else drains the node or writes to the group, AwsForbidden or AwsUnavailable."""
    if not step.group:
        return _outside(step, state_of(step.region, step.instance_id))
    with leases.group(task.table, step.region, step.group, f"{task.plan.plan_id}#{step.step}#0"):
        now = group.read(task.table, step.region, step.group)
        member = now.instance(step.instance_id) if now else None
        if now is None or member is None:
            return _outside(step, state_of(step.region, step.instance_id))
        if _is_leaving(member):
            return Ended("ending", f"{step.instance_id} is {member.lifecycle} already")  # FC-38: never ended twice
        may_shrink = now.desired - member.weight >= _floor(task, step, now)
        if problem := _problem(task, step, now, member.protected, may_shrink):
            return Ended("refused", problem)
        try:
            group.terminate(now, step.instance_id, decrement=may_shrink)
        except Rejected as error:
            return _after_rejection(task, step, error)
        if may_shrink:  # until the fleet snapshot shows it; else EC2's own word on it would look like a loss
            ended = Notice(region=step.region, subject=step.instance_id, told=Told.ENDED, at=clock.utcnow())
            notices.put(task.table, ended)
    return Ended("ending", is_new=True)


def confirm(task: Task, step: ScaleIn) -> Ended:
    """What is so, also when nobody knows whether `terminate` came through: only an instance that its group keeps is refused.

    Raises AwsForbidden or AwsUnavailable.
    """
    state = state_of(step.region, step.instance_id)
    if not step.group or state in _GONE or state == "shutting-down":
        return _outside(step, state)
    now = group.read(task.table, step.region, step.group)
    member = now.instance(step.instance_id) if now else None
    if now and member and not _is_leaving(member):
        return Ended("refused", f"group {now.key} keeps {step.instance_id}: it is {member.lifecycle}")
    if now and member and member.lifecycle == _HELD:
        return Ended("ending", _released(task, now, member))
    if member is None and state in _STOPPED:
        return Ended("gone", f"{step.instance_id} is {state} and no member of {step.region}/{step.group} any more")
    return Ended("ending", f"{step.instance_id} is {state}")


def _released(task: Task, now: GroupNow, member: Instance) -> str:
    """Completes the hooks that waited for our drain alone, and tells which others hold the instance."""
    hooks, names = group.termination_hooks(now), _hooks_of_ours(task)
    ours = [hook for hook in hooks if any(fnmatchcase(hook, name) for name in names)]
    others = [hook for hook in hooks if hook not in ours]
    for hook in ours:
        with suppress(Rejected):  # it holds the instance no longer
            group.complete(now, member.id, hook)
    held = f", held by {' and '.join(others)}" if others else ""
    return f"{member.id} is {member.lifecycle}{held}"


def _hooks_of_ours(task: Task) -> tuple[str, ...]:
    """By the policy as it is now; the instance is ending whatever else is wrong with that."""
    try:
        return settings.policy(task.table)[0].drain.complete_hooks
    except PolicyError:
        return Policy().drain.complete_hooks


def state_of(region: str, instance_id: str) -> str:
    """EC2's state of an instance, "" when it no longer knows it. A filter, unlike an id, is no error for an unknown one."""
    pages = clients.pages("ec2", region, "describe_instances", Filters=[{"Name": "instance-id", "Values": [instance_id]}])
    found: list[dict[str, Any]] = [
        instance for page in pages for reservation in page["Reservations"] for instance in reservation["Instances"]
    ]
    return str(found[0]["State"]["Name"]) if found else ""


def _is_leaving(member: Instance) -> bool:
    return member.lifecycle.startswith("Terminat")  # Terminating, with its :Wait and :Proceed, and Terminated


def _outside(step: ScaleIn, state: str) -> Ended:
    """No member of its group: on its way out, or detached by somebody, who then has it. `state` is EC2's."""
    if state in _GONE:
        return Ended("gone")
    if state == "shutting-down":
        return Ended("ending", f"{step.instance_id} is shutting down")
    group_name = f"{step.region}/{step.group}" if step.group else f"any group in {step.region}"
    return Ended("refused", f"{step.instance_id} is {state} and no member of {group_name} any more")


def _floor(task: Task, step: ScaleIn, now: GroupNow) -> int:
    return max(now.min_size, task.policy.for_group(step.group).min or 0)


def _problem(task: Task, step: ScaleIn, now: GroupNow, protected: bool, may_shrink: bool) -> str:
    """What AWS takes in any case is ended by us whatever protects it, and replaced by a group at its minimum."""
    is_taken = step.why is Why.INTERRUPTED
    if not may_shrink and not is_taken:
        return f"group {now.key} is at its minimum of {_floor(task, step, now)}"
    if unable := now.unable_to("Terminate"):
        return unable
    known = following.known_group(task.table, step.region, step.group)
    if (going_on := ownership.change(known)) and not is_taken:
        return f"group {now.key} is left alone: {going_on}"
    if task.policy.for_group(step.group).ignore:
        return f"group {now.key} is one that the policy ignores"
    if protected and not is_taken and task.policy.for_group(step.group).scale_in.respect_protection:
        return f"{step.instance_id} is protected from scale in, which the policy respects"
    return ""


def _after_rejection(task: Task, step: ScaleIn, error: Rejected) -> Ended:
    """Another call was faster: it took the group to its minimum, or ended the instance."""
    now = group.read(task.table, step.region, step.group)
    if now is None or now.instance(step.instance_id) is None:
        return _outside(step, state_of(step.region, step.instance_id))
    return Ended("refused", f"Auto Scaling keeps {step.instance_id} of {now.key}: {error.__cause__}")
