"""Large documents in compressed parts. A part's key is the hash of its content, so what did not change is not written
again, and a part that is there is whole: it can never be half of two writes.
"""

import hashlib
import zlib
from collections.abc import Mapping, Sequence

from spillway.aws.table import keys
from spillway.aws.table.store import Table, expiry
from spillway.errors import NotFound

MAX_BYTES = 350_000  # an item holds 400 KB with its keys
KEEP_S = 3 * 86400
_REFRESH_S = 86400  # a part that is still used is written anew when it would go sooner than this
_SK = "PART"


def pack(data: bytes) -> list[bytes]:
    """Compressed, in pieces that fit an item."""
    whole = zlib.compress(data, 3)  # level 3: 12 % larger than 6, in half the time
    return [whole[at : at + MAX_BYTES] for at in range(0, len(whole), MAX_BYTES)]


def unpack(pieces: Sequence[bytes]) -> bytes:
    return zlib.decompress(b"".join(pieces))


def write(table: Table, pieces: Sequence[bytes], there: Mapping[str, int]) -> list[tuple[str, int]]:
    """(part id, epoch seconds of its expiry) in order; `there` names the parts known to be in the table, with theirs."""
    result: list[tuple[str, int]] = []
    for piece in pieces:
        part = hashlib.sha256(piece).hexdigest()[:32]
        until = there.get(part, 0)
        if until < expiry(_REFRESH_S):
            until = expiry(KEEP_S)
            table.put(_SK, {"body": piece, keys.TTL: until}, pk=keys.snapshot(table.cluster, part))
        result.append((part, until))
    return result


def read(table: Table, parts: Sequence[str], what: str) -> dict[str, bytes]:
    """Pieces by part id; raises NotFound when one is missing."""
    pairs = [(keys.snapshot(table.cluster, part), _SK) for part in dict.fromkeys(parts)]
    found = table.get_many(pairs)
    for pk, sk in pairs:
        if (pk, sk) not in found:
            raise NotFound(f"a part of {what}", pk)
    return {part: found[keys.snapshot(table.cluster, part), _SK]["body"] for part in parts}
