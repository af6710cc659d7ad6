"""One round of a drain: short, since a function's time is; the workflow comes again until the node is empty or time is up."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from spillway import clock
from spillway.kube import markers
from spillway.kube.detach import attached
from spillway.kube.drain import VOLUNTARY, Phase, Remaining, counted, named, remaining
from spillway.kube.evict import Eviction, Verdict, evict
from spillway.kube.live_pods import LivePod, pods_on
from spillway.kube.node import LiveNode
from spillway.kube.session import Session
from spillway.model.plan import AtDeadline, ScaleIn
from spillway.model.policy import Policy
from spillway.telemetry import logger

_AGAIN_S = 10  # Cluster Autoscaler's own pace of evictions
_LONGEST_S = 240  # of one wait, so that the node's lease is renewed in time
_ROUND = timedelta(seconds=20)  # in which a round asks pods to go: a third of the function's time


class State(StrEnum):
    EMPTY = "empty"
    WAITING = "waiting"
    DEADLINE = "deadline"
    ABANDONED = "abandoned"


@dataclass(frozen=True)
class Round:
    """Come again in `wait_s`, and in `left_s` at the latest. `told` is what the step's outcome must say of an empty node: what
    was left on it."""

    state: State
    reason: str
    evicted: int = 0
    wait_s: int = 0
    left_s: int = 0
    told: str = ""


def begun(node: LiveNode) -> datetime:
    """When the drain began, which the taint says."""
    values = [taint.get("value", "") for taint in node.taints if taint.get("key") == markers.LEAVING_TAINT]
    return datetime.fromtimestamp(int(values[0]), UTC) if values and values[0].isdigit() else clock.utcnow()


def evict_round(session: Session, node: LiveNode, step: ScaleIn, policy: Policy, volumes: bool) -> Round:
    """Asks the pods whose turn it is to go, on a fresh list of them. `volumes`: the node had some when its drain began.

    Raises what Session.call raises.
    """
    now = clock.utcnow()
    left = remaining(pods_on(session, node.name), step, policy.pods.priority_cutoff, now)
    if left.problem:
        return Round(State.ABANDONED, left.problem)
    left_s = step.deadline_s - (now - begun(node)).total_seconds()
    if left_s <= 0 and left.work:
        return _deadline(step, left.work)
    tried: list[Eviction] = []
    for phase in left.phases if left_s > 0 else ():
        asked = _ask(session, phase, policy.drain.max_grace_s, now)
        tried += asked
        if _holds(phase, asked):
            return _waiting(step, left, phase, tried, left_s)
    return _emptied(session, node, left, left_s, volumes, sum(one.verdict == Verdict.EVICTED for one in tried))


def _ask(session: Session, phase: Phase, max_grace_s: int, now: datetime) -> list[Eviction]:
    """As many as there is time for. Each round begins with another pod, so that who is refused keeps none from its turn."""
    first = int(now.timestamp()) % max(1, len(phase.now))
    tried: list[Eviction] = []
    for pod in (*phase.now[first:], *phase.now[:first]):
        if clock.utcnow() - now >= _ROUND:
            break
        tried.append(evict(session, pod, max_grace_s))
    return tried


def _holds(phase: Phase, tried: list[Eviction]) -> bool:
    """Whether the next phase must wait for this one: always for work, for daemons only while some of them go."""
    if not phase.daemons or phase.leaving or len(tried) < len(phase.now):
        return True
    return any(one.verdict in (Verdict.EVICTED, Verdict.GONE) for one in tried)


def _deadline(step: ScaleIn, work: tuple[LivePod, ...]) -> Round:
    text = f"after {step.deadline_s} s node {step.node} still runs {counted(len(work))}: {named(work)}"
    if step.at_deadline is not AtDeadline.FORCE:
        return Round(State.DEADLINE, text)
    logger.warning("drain forced", extra={"node": step.node, "pods": [pod.key for pod in work]})
    told = f"{text}; by policy the instance is ended with them on it"
    return Round(State.EMPTY, told, told=told)


def _waiting(step: ScaleIn, left: Remaining, phase: Phase, tried: list[Eviction], left_s: float) -> Round:
    refused = [one for one in tried if one.verdict in (Verdict.WAITING, Verdict.HELD)]
    count = sum(len(one.now) + len(one.leaving) for one in left.phases)
    text = f"node {step.node} still runs {counted(count)}"
    if refused:
        text += f"; {refused[0].pod} waits: {refused[0].reason}"
    evicted = sum(one.verdict == Verdict.EVICTED for one in tried)
    held = [one for one in refused if one.verdict == Verdict.HELD]
    if held and len(held) == len(phase.now) and not phase.leaving and _is_given_up(step):
        return Round(State.ABANDONED, text)  # nobody's turn but theirs, and an hour of asking would change nothing
    asked_s = max((one.wait_s for one in refused), default=0.0)
    wait_s = 1 if len(tried) < len(phase.now) else max(asked_s, _AGAIN_S)
    return Round(State.WAITING, text, evicted, _within(wait_s, left_s), _within(left_s, left_s))


def _is_given_up(step: ScaleIn) -> bool:
    return step.why in VOLUNTARY and step.at_deadline is AtDeadline.GIVE_UP


def _emptied(session: Session, node: LiveNode, left: Remaining, left_s: float, volumes: bool, evicted: int) -> Round:
    """No pod holds the node: its volumes do, until they are detached, or time is up."""
    told = ""
    if left.stuck:
        told = f"{named(left.stuck)} stayed though {'its' if len(left.stuck) == 1 else 'their'} grace was over"
    hanging = attached(session, node.name, (*left.staying, *left.stuck)) if volumes or node.volumes else ()
    if hanging and left_s > 0:
        text = f"node {node.name} waits for {_volumes(hanging)} to be detached"
        return Round(State.WAITING, text, evicted, _within(_AGAIN_S, left_s), _within(left_s, left_s))
    if hanging:
        told = "; ".join([*([told] if told else []), f"{_volumes(hanging)} had not been detached by the deadline"])
    return Round(State.EMPTY, told or f"no pod holds node {node.name}", evicted, told=told)


def _volumes(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{'volume' if len(names) == 1 else 'volumes'} {', '.join(names[:3])}{more}"


def _within(seconds: float, left_s: float) -> int:
    return int(max(1, min(seconds, left_s, _LONGEST_S)))
