"""Outcomes: what happened to a step, written once by the task that saw it."""

from spillway.aws.table import keys
from spillway.aws.table.store import ABSENT, Conflict, Table, expiry
from spillway.model.base import decode, encode
from spillway.model.plan import Outcome

_KEEP_S = 7 * 86400


def put(table: Table, outcome: Outcome) -> bool:
    """False when the step (and hop) has one already: a late answer changes nothing."""
    sk = keys.outcome(outcome.plan_id, outcome.step, outcome.hop)
    try:
        table.put(sk, {"body": encode(outcome).decode(), keys.TTL: expiry(_KEEP_S)}, ABSENT)
    except Conflict:
        return False
    return True


def get(table: Table, plan_id: str, step: int, hop: int = 0) -> Outcome | None:
    item = table.get(keys.outcome(plan_id, step, hop))
    return decode(item["body"], Outcome) if item else None


def of_plan(table: Table, plan_id: str) -> tuple[Outcome, ...]:
    """By step, then hop, as text sorts them."""
    return tuple(decode(item["body"], Outcome) for item in table.query(f"{keys.OUTCOME}{plan_id}#"))
