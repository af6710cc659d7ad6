"""What AWS refused of late, by how far the refusal reaches, and for how long it is passed over.

Keys name the scope: `us-east-1/group/us-east-1a` (zone), `us-east-1/spot/m5.large` (offering), `us-east-1/group`,
`us-east-1/on-demand/standard` (quota), `us-east-1` (region). The breaker of a group, `us-east-1/group`, is a scope of its own:
it counts how often the group was raised in a row and did not grow, whatever AWS said to that, or did not say.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from spillway.model.fleet import FailureClass, Instance, LaunchFailure, NodeGroup, Scope
from spillway.model.memory import Unavailable
from spillway.model.policy import Backoff
from spillway.model.quotas import quota_class

FORGOTTEN_AFTER = timedelta(hours=3)  # since the last refusal; then the next one starts anew (Cluster Autoscaler's)
PROOF_AFTER = timedelta(seconds=60)  # instances of one request come and fail within a minute of each other
LASTING = frozenset({
    FailureClass.IMAGE,
    FailureClass.KEY_PAIR,
    FailureClass.SECURITY_GROUP,
    FailureClass.SNAPSHOT,
    FailureClass.TEMPLATE,
    FailureClass.UNSUPPORTED,
})  # fmt: skip
"""What another definition mends, and no waiting: it waits longest at once."""


BREAKER = "breaker"


def quota_keys(group: NodeGroup) -> tuple[str, ...]:
    return tuple(sorted({f"{group.region}/{group.capacity_type}/{quota_class(name).name}" for name in _types(group)}))


def offering_keys(group: NodeGroup) -> tuple[str, ...]:
    return tuple(sorted(f"{group.region}/{group.capacity_type}/{name}" for name in _types(group)))


def _types(group: NodeGroup) -> tuple[str, ...]:
    return group.template.instance_types if group.template else ()


def key_of(group: NodeGroup, failure: LaunchFailure) -> tuple[Scope, str]:
    """The narrowest scope that is sure, and its key: where zone, type, market or quota class are in doubt, the group.

    A group of several types was refused all of them, whichever of them the text names.
    """
    if failure.scope is Scope.REGION:
        return failure.scope, group.region
    if failure.scope is Scope.ZONE and failure.zone:
        return failure.scope, f"{group.key}/{failure.zone}"
    if failure.capacity_type in (None, group.capacity_type):
        if failure.scope is Scope.OFFERING and _types(group) == (failure.instance_type,):
            return failure.scope, offering_keys(group)[0]
        if failure.scope is Scope.QUOTA and len(keys := quota_keys(group)) == 1:
            return failure.scope, keys[0]
    return Scope.GROUP, group.key


def proven_since(instances: Iterable[Instance], moment: datetime) -> bool:
    """An instance was launched well after the refusal: there is capacity again."""
    return any(i.launched_at is not None and i.launched_at > moment + PROOF_AFTER for i in instances)


def refused(before: Unavailable | None, group: NodeGroup, failure: LaunchFailure, backoff: Backoff) -> Unavailable:
    """The record of a scope after one more refusal: the wait doubles when it had ended and moves on when it had not.

    What nobody knows the meaning of waits shortest, however often it comes back, and shortens nothing.
    """
    scope, key = key_of(group, failure)
    is_known = failure.failure is not FailureClass.UNKNOWN
    times, until = 1, failure.at
    if before is not None and failure.at <= before.since:
        return before
    if before is not None and failure.at <= _remembered_until(before):
        times, until = before.times + (is_known and failure.at >= before.until), before.until
    is_lasting = failure.failure in LASTING
    wait_s = min(backoff.first_s * 2 ** min(times - 1, 20), backoff.max_s)
    if is_lasting or not is_known:
        wait_s = backoff.max_s if is_lasting else backoff.first_s
    return Unavailable(
        scope=scope,
        key=key,
        until=max(until, failure.at + timedelta(seconds=wait_s)),
        since=failure.at,
        times=times,
        reason=f"{failure.failure}: {failure.text}",
        fingerprint=group.template.fingerprint if is_lasting and group.template and scope is Scope.GROUP else "",
    )


def not_grown(before: Unavailable | None, region: str, name: str, asked_at: datetime, backoff: Backoff) -> Unavailable:
    """The breaker of a group that was raised at `asked_at` and of which nothing came: open from the `breaker_after`-th time on.

    A raise counts once, however often it is told.
    """
    if before is not None and asked_at <= before.since:
        return before
    times = before.times + 1 if before is not None and asked_at <= _remembered_until(before) else 1
    is_open = times >= backoff.breaker_after
    return Unavailable(
        scope=BREAKER,
        key=f"{region}/{name}",
        until=asked_at + timedelta(seconds=backoff.max_s if is_open else 0),
        since=asked_at,
        times=times,
        reason=f"the breaker: raised {times} {'times in a row' if times > 1 else 'time'}, it did not grow",
    )


def open_breakers(records: Iterable[Unavailable], now: datetime) -> int:
    return sum(1 for one in records if one.scope == BREAKER and one.until > now)


def passed_over(group: NodeGroup, records: Iterable[Unavailable], now: datetime) -> Unavailable | None:
    """The record that keeps the group from being asked, None when nothing does.

    A group of several zones is passed over when each of its zones is: Auto Scaling goes to the others by itself.
    """
    live = {(one.scope, one.key): one for one in records if one.until > now and not _is_mended(one, group)}
    if not live:
        return None
    wider = (
        (Scope.REGION, (group.region,)),
        (Scope.QUOTA, quota_keys(group)),
        (Scope.OFFERING, offering_keys(group)),
        (Scope.GROUP, (group.key,)),
        (BREAKER, (group.key,)),
    )
    for scope, keys in wider:
        found = [live.get((str(scope), key)) for key in keys]
        if found and all(found):
            return found[0]
    zones = [live.get((Scope.ZONE.value, f"{group.key}/{zone}")) for zone in group.zones]
    known = [record for record in zones if record is not None]
    return min(known, key=lambda record: (record.until, record.key)) if known and len(known) == len(zones) else None


def _is_mended(record: Unavailable, group: NodeGroup) -> bool:
    """What launches the group's nodes is no longer what was refused. The record stays, so that the old refusal counts once."""
    return bool(record.fingerprint) and group.template is not None and group.template.fingerprint != record.fingerprint


def _remembered_until(record: Unavailable) -> datetime:
    return max(record.until, record.since + FORGOTTEN_AFTER)


def lasts(record: Unavailable, groups: Iterable[NodeGroup], now: datetime) -> bool:
    """Whether the record is still worth remembering: it ends by a success in its scope, or long after its time."""
    if now > _remembered_until(record):
        return False
    return not any(proven_since(_in_scope(record, group), record.since) for group in groups)


def _in_scope(record: Unavailable, group: NodeGroup) -> tuple[Instance, ...]:
    if record.scope == Scope.REGION:
        return group.instances if group.region == record.key else ()
    if record.scope == Scope.QUOTA:
        return group.instances if quota_keys(group) == (record.key,) else ()
    if record.scope == Scope.OFFERING:
        market = f"{group.region}/{group.capacity_type}"
        return tuple(i for i in group.instances if f"{market}/{i.instance_type}" == record.key)
    if record.scope in (Scope.GROUP, BREAKER):
        return group.instances if group.key == record.key else ()
    return tuple(i for i in group.instances if f"{group.key}/{i.zone}" == record.key)
