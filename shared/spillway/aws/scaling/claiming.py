"""Which new instances of a group came for which request: each is counted once, for the request that was made first."""

from collections import Counter

import msgspec

from spillway.aws.scaling.group import GroupNow
from spillway.aws.table import Table, requests
from spillway.model.memory import OpenRequest


def claim(table: Table, request: OpenRequest, now: GroupNow, known: dict[str, OpenRequest]) -> OpenRequest:
    """The request with the instances that came for it, written where they differ: members that the group did not have
    when it was asked, and that no other request has. `known` are all requests of the region, and is kept up to date.

    An instance that left before it was of use is taken off: Auto Scaling replaces it, and the next one counts.
    """
    others: set[str] = set()
    older: Counter[str] = Counter()  # instances that later requests found there: they can only have come for earlier ones
    for other in known.values():
        if other.id == request.id or other.group != request.group:
            continue
        older.update(other.before)
        is_earlier = (other.asked_at, other.id) < (request.asked_at, request.id)
        others |= set(other.instances) if is_earlier else set(other.instances) - set(request.instances)
    members = set(now.members)
    kept = [one for one in request.instances if one in members - others]
    new = sorted(members - others - set(request.before) - set(kept), key=lambda one: (-older[one], one))
    claimed = msgspec.structs.replace(request, instances=(*kept, *new)[: request.nodes - request.missing])
    if claimed != request and not requests.advance(table, request, claimed):
        claimed = requests.get(table, request.id) or request
    known[request.id] = claimed
    return claimed
