"""Large documents in compressed parts. A part's key is the hash of its content, so what did not change is not written
again, and a part that is there is whole: it can never be half of two writes.
"""

import hashlib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from spillway.aws.table import keys
from spillway.aws.table.store import Table, expiry
from spillway.errors import NotFound

MAX_BYTES = 350_000  # an item holds 400 KB with its keys
KEEP_S = 3 * 86400
_REFRESH_S = 86400  # a part that is still used is written anew when it would go sooner than this
_SK = "PART"
_THREADS = 8  # a write is mostly waiting; a client keeps ten connections


def pack(data: bytes) -> list[bytes]:
    """Compressed, in pieces that fit an item."""
    whole = zlib.compress(data, 3)  # level 3: 12 % larger than 6, in half the time
    return [whole[at : at + MAX_BYTES] for at in range(0, len(whole), MAX_BYTES)]


def unpack(pieces: Sequence[bytes]) -> bytes:
    return zlib.decompress(b"".join(pieces))


def write(table: Table, pieces: Iterable[bytes], there: Mapping[str, int]) -> list[tuple[str, int]]:
    """(part id, epoch seconds of its expiry) in order; `there` names the parts known to be in the table, with theirs.

    Several are written at once. Raises what Table.put raises; then some may be there, of which nobody knows.
    """
    soon, until = expiry(_REFRESH_S), expiry(KEEP_S)
    ids = [(hashlib.sha256(piece).hexdigest()[:32], piece) for piece in pieces]
    found = dict(ids)
    kept = {part: there[part] for part in found if there.get(part, 0) >= soon}

    def put(part: str) -> None:
        table.put(_SK, {"body": found[part], keys.TTL: until}, pk=keys.snapshot(table.cluster, part))

    new = [part for part in found if part not in kept]
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="part") as threads:
        for _ in threads.map(put, new):
            pass  # raises what the thread raised
    return [(part, kept.get(part, until)) for part, _ in ids]


def read(table: Table, parts: Sequence[str], what: str) -> dict[str, bytes]:
    """Pieces by part id; raises NotFound when one is missing."""
    pairs = [(keys.snapshot(table.cluster, part), _SK) for part in dict.fromkeys(parts)]
    found = table.get_many(pairs)
    for pk, sk in pairs:
        if (pk, sk) not in found:
            raise NotFound(f"a part of {what}", pk)
    return {part: found[keys.snapshot(table.cluster, part), _SK]["body"] for part in parts}
