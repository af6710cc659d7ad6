"""What a rule of scale in says of a node, and what one of drainability says of pods."""

from enum import Enum
from typing import NamedTuple

from spillway.model.plan import Why
from spillway.model.reason import Code


class Stays(NamedTuple):
    """`text` goes on from "node n1 "."""

    code: Code
    text: str


class Goes(NamedTuple):
    """The node may go, for `why`; limits and a place for its pods are still to be looked at."""

    why: Why
    code: Code
    text: str


Verdict = Stays | Goes
"""A rule that says neither leaves the node to the next one."""


class Pods(Enum):
    """`SKIPPED` pods are as good as gone, and ask for no place. `MOVABLE` ones may be evicted: whatever the rules after say."""

    SKIPPED = "skipped"
    MOVABLE = "movable"


class Held(NamedTuple):
    """The pods keep their node. `text` goes on from "default/web-1 "."""

    code: Code
    text: str


PodVerdict = Pods | Held
