"""Waiting loops of the workflow, and the news that ends their waiting.

A loop stores its task token and then looks whether there was news since it last looked; intake counts the news
and then looks for tokens. Whichever comes second sees the other, so no news is ever slept through.
"""

from collections.abc import Iterator

from spillway.aws.table import keys
from spillway.aws.table.store import Conflict, Table, condition, expiry

_KEEP_S = 3600  # a token lives for one poll


def news(table: Table, region: str) -> int:
    """How often there was news of the region; grows."""
    item = table.get(keys.news(region))
    return item["news"] if item else 0


def count_news(table: Table, region: str) -> int:
    return int(table.update(keys.news(region), "ADD news :one", one=1)["news"])


def store(table: Table, plan_id: str, region: str, token: str) -> None:
    """The loop's newest token; an older one timed out."""
    table.put(keys.wait(plan_id, region), {"task_token": token, "region": region, keys.TTL: expiry(_KEEP_S)})


def take(table: Table, plan_id: str, region: str, token: str) -> bool:
    """Takes the token back, so that it is used once; False when somebody else has it."""
    try:
        table.delete(keys.wait(plan_id, region), condition("task_token = :token", token=token))
    except Conflict:
        return False
    return True


def waiting(table: Table, region: str) -> Iterator[tuple[str, str]]:
    """(plan id, token) of the loops that wait for this region."""
    for item in table.query(keys.WAIT):
        if item["region"] == region:
            plan_id = item["sk"].removeprefix(keys.WAIT).removesuffix(f"#{region}")
            yield plan_id, item["task_token"]
