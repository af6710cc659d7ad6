"""Plans, written once. A plan without steps keeps its summary only; the newest is kept whole, for whoever asks why."""

from datetime import timedelta

from spillway.aws.memo import Memo
from spillway.aws.table import keys, parts
from spillway.aws.table.store import ABSENT, Condition, Conflict, Item, Table, condition, expiry
from spillway.errors import NotFound
from spillway.model.base import decode, encode
from spillway.model.plan import Plan

_KEEP_S = parts.KEEP_S  # as long as the snapshots that it was made from
_known = Memo[tuple[Table, str], Plan](keep=timedelta(hours=1), most=8)


def put(table: Table, plan: Plan) -> bool:
    """False when it is stored already: ids are hashes of inputs and steps, so it is the same plan."""
    whole = _item(table, plan)
    stored = whole if plan.has_steps else _item(table, _summary(plan))
    is_new = _put(table, keys.plan(plan.plan_id), stored, ABSENT)
    newer = condition("attribute_not_exists(pk) OR created_at <= :created_at", created_at=whole["created_at"])
    _put(table, keys.LATEST_PLAN, whole, newer)
    return is_new


def get(table: Table, plan_id: str) -> Plan:
    """Raises NotFound. A stored plan never changes: a warm function reads it once for all its steps."""
    key = (table, plan_id)
    return _known.get([key], lambda _: {key: _plan(table, plan_id, keys.plan(plan_id))})[key]


def latest(table: Table) -> Plan:
    """The newest, with its reasons also when it has no steps; raises NotFound."""
    return _plan(table, "latest", keys.LATEST_PLAN)


def _summary(plan: Plan) -> Plan:
    return Plan(
        plan_id=plan.plan_id,
        cluster=plan.cluster,
        created_at=plan.created_at,
        policy_version=plan.policy_version,
        snapshots=plan.snapshots,
        summary=plan.summary,
    )


def _item(table: Table, plan: Plan) -> Item:
    pieces = parts.pack(encode(plan))
    item: Item = {
        "plan_id": plan.plan_id,
        "created_at": plan.created_at.isoformat(timespec="microseconds"),
        keys.TTL: expiry(_KEEP_S),
    }
    if len(pieces) == 1:
        return {**item, "body": pieces[0]}
    return {**item, "parts": [part for part, _ in parts.write(table, pieces, {})]}


def _put(table: Table, sk: str, item: Item, when: Condition) -> bool:
    try:
        table.put(sk, item, when)
    except Conflict:
        return False
    return True


def _plan(table: Table, plan_id: str, sk: str) -> Plan:
    item = table.get(sk)
    if item is None:
        raise NotFound("plan", plan_id)
    if "body" in item:
        return decode(parts.unpack([item["body"]]), Plan)
    pieces = parts.read(table, item["parts"], f"plan {plan_id}")
    return decode(parts.unpack([pieces[part] for part in item["parts"]]), Plan)
