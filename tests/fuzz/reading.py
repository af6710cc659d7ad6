"""What holds of any bytes that an API server or a dump may give us: nothing breaks, and all else is read as ever.

`test_reading.py` has hypothesis write the bytes, `__main__.py` a fuzzer.
"""

import json
from collections.abc import Iterator
from typing import Any

from spillway import planner
from spillway.kube.fields import UNREADABLE
from spillway.kube.objects import Objects
from spillway.kube.reduce import reduce
from spillway.model.base import decode, encode
from spillway.model.cluster import ClusterSnapshot, PodState
from spillway.model.memory import Memory
from spillway.model.plan import Plan
from spillway.model.policy import Policy
from tests import builders
from tests.kube.every_kind import HOME, samples, waiting_pod
from tests.kube.objects import NOW, node, pod, set_of

Path = tuple[str | int, ...]
SAMPLES = samples() | {"Pod, waiting": waiting_pod()}
KINDS = sorted(SAMPLES)
_BASE = [
    json.dumps(one).encode() for one in (pod("good"), pod("there", node="n1"), node("n1"), node(HOME), *samples().values())
]
_FLEET = builders.fleet(builders.group("g", nodes=[builders.node("n1")]))
_LONGEST = 20_000  # of a snapshot's and a plan's JSON, less what is the object's own


def paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """Of the value and all within."""
    yield at
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from paths(inner, (*at, key))


def put(value: Any, at: Path, new: Any) -> Any:
    """A copy with `new` at that place; the value itself where there is no such place."""
    if not at:
        return new
    copy = json.loads(json.dumps(value))
    inner = copy
    try:
        for key in at[:-1]:
            inner = inner[key]
        inner[at[-1]] = new
    except (KeyError, IndexError, TypeError):
        return value
    return copy


def holds(kind: str, raw: bytes) -> tuple[ClusterSnapshot, Plan]:
    """Reads the object beside healthy ones of each kind, stores what comes of it, and plans. Fails where something breaks."""
    found = Objects()
    for one in _BASE:
        found.add(one)
    found.put(kind.partition(",")[0], raw)
    seen = reduce(found, cluster="c", taken_at=NOW)
    assert decode(encode(seen), ClusterSnapshot) == seen
    assert set_of(seen, "good").state == PodState.UNSCHEDULABLE
    assert set_of(seen, "there").node == "n1"
    plan = planner.plan(seen, _FLEET, Memory(), Policy(), NOW)
    assert decode(encode(plan), Plan) == plan
    assert max(len(encode(seen)), len(encode(plan))) <= _LONGEST + 8 * len(raw)
    return seen, plan


def page(raw: bytes) -> None:
    """Bytes in place of a page: they read, or are refused as a whole."""
    found = Objects()
    try:
        found.add(raw)
    except UNREADABLE:
        return
    reduce(found, cluster="c", taken_at=NOW)
