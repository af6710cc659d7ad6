"""What events told of instances and capacity blocks, by region and id, until the fleet snapshot shows it or it is over."""

from collections.abc import Iterator

from spillway.aws.table import keys
from spillway.aws.table.store import Conflict, Table, condition, expiry
from spillway.model.base import decode, encode
from spillway.model.memory import Notice, Told

_KEEP_S = 3600  # after the end that it tells of, or after it was told


def put(table: Table, notice: Notice) -> bool:
    """False when the table has as new a word on it, since events come in any order, or knows that we ended it ourselves."""
    at = notice.at.isoformat(timespec="microseconds")
    keep_s = _KEEP_S + max(0.0, ((notice.ends_at or notice.at) - notice.at).total_seconds())
    item = {"body": encode(notice).decode(), "told": notice.told.value, "told_at": at, keys.TTL: expiry(keep_s)}
    newer = condition("attribute_not_exists(pk) OR (told_at < :at AND told <> :ended)", at=at, ended=Told.ENDED.value)
    try:
        table.put(keys.notice(notice.region, notice.subject), item, newer)
    except Conflict:
        return False
    return True


def known(table: Table) -> Iterator[Notice]:
    for item in table.query(keys.NOTICE):
        yield decode(item["body"], Notice)
