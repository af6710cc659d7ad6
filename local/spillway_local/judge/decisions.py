"""Single decisions: the scheduler's word on one pod and one node, beside ours, with reasons of the same kind."""

import re
from collections.abc import Iterable, Iterator, Mapping, Set

from spillway.model.reason import Code, Reason
from spillway_local.judge import singles
from spillway_local.judge.features import BUILT, Feature
from spillway_local.judge.pinned import Disagreement, pinned
from spillway_local.judge.scene import CLUSTER_WIDE, Key, key_of
from spillway_local.judge.singles import Pair
from spillway_local.judge.stage import Stage, Verdict

PAIRS = 200  # of a seed, at once
_NARROWED = "node(s) didn't satisfy plugin(s) [NodeAffinity]"  # those that the pin leaves out
_OTHER_NODES = re.compile(r"(, )?\d+ " + re.escape(_NARROWED))
_OF_OTHERS = frozenset({"labels", "taints"})
_KINDS = {
    "node(s) were unschedulable": "taints",
    "node(s) had untolerated taint(s)": "taints",
    "node(s) didn't match Pod's node affinity/selector": "labels",
    "node(s) didn't match the requested node name": "labels",
    "node(s) didn't have free ports for the requested pod ports": "room",
    "pod affinity terms conflict. not found": "labels",
    "Too many pods": "room",
}
_INSUFFICIENT = "Insufficient "
_OURS = {
    Code.SELECTOR: "labels", Code.AFFINITY: "labels", Code.ZONE: "labels", Code.TAINT: "taints", Code.TOO_SMALL: "room",
}  # fmt: skip


def judge(stage: Stage, seed: int, count: int = PAIRS, features: frozenset[Feature] = BUILT) -> list[Disagreement]:
    """`count` pairs at once; the stage is emptied before and after. Raises NotAtRest and Refusal."""
    stage.clear()
    pairs = singles.pairs(seed, count, features)
    stage.put([*CLUSTER_WIDE, *singles.namespaces(seed)])
    stage.put(one for pair in pairs for one in (pair.node, *pair.running))
    stage.put(pinned(pair.pod, pair.node["metadata"]["name"]) for pair in pairs)
    found = stage.settle()
    stage.clear()
    return list(_compare(seed, pairs, found))


def _compare(seed: int, pairs: Iterable[Pair], found: Mapping[Key, Verdict]) -> Iterator[Disagreement]:
    for pair in pairs:
        ours, theirs = singles.refusals(pair), found[key_of(pair.pod)]
        same = agree({_OURS[one.code] for one in ours}, theirs.text) if ours and not theirs.node else not ours and theirs.node
        if not same:
            yield Disagreement(seed, key_of(pair.pod), _told(ours), theirs.text)


def agree(ours: Set[str], theirs: str) -> bool:
    """Of a pod that both refuse: whether the kinds of our rules that do have the one that the scheduler names, its first.

    Where a rule of the pod keeps the scheduler from seeing that one node alone may do, it also names what keeps the pod
    from all other nodes: their labels, or their taints before those are looked at.
    """
    named = _kinds(theirs)
    if not named:
        return False
    if _NARROWED in theirs or not named <= {*_OF_OTHERS, "room"}:
        return named <= ours
    return named - _OF_OTHERS <= ours and (bool(named - _OF_OTHERS) or bool(ours & _OF_OTHERS))


def _kinds(text: str) -> set[str]:
    """`labels`, `taints`, `room`, or the scheduler's own words for any other."""
    reasons = _OTHER_NODES.sub("", text.partition("available: ")[2]).rstrip(". ").split(", ")
    texts = [re.sub(r"^\d+ ", "", reason) for reason in reasons]
    return {"room" if text.startswith(_INSUFFICIENT) else _KINDS.get(text, text) for text in texts if text}


def _told(ours: Iterable[Reason]) -> str:
    return "; ".join(f"{one.code}, {one.text}" for one in ours) or "it may go there"
