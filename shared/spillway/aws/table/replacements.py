"""Whether the nodes have come for which a drain waits (the steps in `after`), in their group or a fallback."""

from enum import StrEnum

from spillway.aws.table import outcomes, requests
from spillway.aws.table.store import Table
from spillway.model.plan import OutcomeStatus, Plan, ScaleIn

_FAILED = (OutcomeStatus.UNSERVED, OutcomeStatus.CHANGED, OutcomeStatus.FAILED, OutcomeStatus.STOPPED)


class Coming(StrEnum):
    READY = "ready"
    WAITING = "waiting"
    FAILED = "failed"


def of(table: Table, plan: Plan, step: ScaleIn) -> tuple[Coming, str]:
    """With a reason, "" when all are Ready. A hop that was refused is told by the one after it."""
    told = {number: [one for one in outcomes.of_plan(table, plan.plan_id) if one.step == number] for number in step.after}
    for number, found in told.items():
        failed = next((one for one in found if one.status in _FAILED), None)
        if failed is not None:
            return Coming.FAILED, f"no replacement came (step {number}): {failed.reason}"
    live = {one.step for one in requests.of_plan(table, plan.plan_id) if requests.is_live(one)}
    for number, found in told.items():
        if number in live or not any(one.status is OutcomeStatus.DONE for one in found):
            return Coming.WAITING, f"node {step.node} waits until the nodes of step {number} are Ready"
    return Coming.READY, ""
