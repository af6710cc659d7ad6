"""How a row of `failure_table.py` is written, and the pieces that its wordings share."""

from dataclasses import dataclass
from itertools import permutations

from spillway.model.fleet import CapacityType, FailureClass, Scope


@dataclass(frozen=True)
class Row:
    """`codes` and `wordings` (regular expressions, any case) of one meaning. `market` is what they imply of it, if anything.

    A wording may name the groups `zone` and `type`.
    """

    failure: FailureClass
    scope: Scope
    codes: tuple[str, ...] = ()
    wordings: tuple[str, ...] = ()
    market: CapacityType | None = None


def together(*words: str) -> str:
    """All of them in one sentence, in whatever order it puts them."""
    return "|".join("…".join(order) for order in permutations(words))


TYPE = r"[a-z][a-z0-9-]*\.[a-z0-9-]+"
ZONE = r"[a-z]{2}[a-z0-9-]*-\d[a-z0-9-]*"  # a name; an id (use1-az6) is not what groups call their zones
NAMED_TYPE = rf"\W*(?P<type>{TYPE})"
A_ZONE = r"\b(?:Availability|Local|Wavelength) Zone"
NAMED_ZONE = rf"(?:\W*(?P<zone>{ZONE}))?"
NOT_OFFERED = r"(?:not|no longer) (?:currently )?(?:supported|available|offered)"
QUOTA = r"\b(?:limits?|quotas?|maximum number)\b"
USED_UP = r"\b(?:exceed|reach)\w*"
MISSING = (
    r"(?:do(?:es)? not exist|doesn't exist|not found|can ?not be found|could not be found|no longer exists?|unknown|deleted)"
)
