"""Which empty nodes go, and for every node why it stays."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from spillway.model.cluster import PodState
from spillway.model.plan import Kept, ScaleIn, Why
from spillway.model.policy import Consolidation, Mode
from spillway.model.reason import Code, Reason
from spillway.planner import interrupted, left_behind
from spillway.planner.bounds import Bounds
from spillway.planner.gaps import Gap
from spillway.planner.ownership import left_alone
from spillway.planner.starting import is_starting
from spillway.planner.view import LiveNode, View

DO_NOT_REMOVE: Mapping[str, Callable[[str], bool]] = {
    "cluster-autoscaler.kubernetes.io/scale-down-disabled": lambda value: value == "true",
    "karpenter.sh/do-not-disrupt": lambda value: value == "true",
    "atlassian.com/no-delete": lambda value: value != "",
}


@dataclass
class Shrink:
    """The removals of one plan, checked together. `used` are nodes that pods of this plan go to."""

    view: View
    gaps: Mapping[str, Gap]
    used: frozenset[str]
    removed: list[tuple[LiveNode, Reason]] = field(default_factory=list)
    interrupted: list[LiveNode] = field(default_factory=list)
    left_behind: list[LiveNode] = field(default_factory=list)
    kept: dict[str, Reason] = field(default_factory=dict)
    give_back: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def run(self) -> None:
        """Oldest idle first; nodes that an ended run left cordoned before them."""
        since = {memory.node: memory.idle_since for memory in self.view.memory.nodes}
        candidates: list[tuple[datetime, str, LiveNode]] = []
        for live in self.view.nodes:
            if self.view.policy.mode not in (Mode.SCALE_OUT_ONLY, Mode.OFF) and left_behind.is_left_behind(self.view, live):
                self.left_behind.append(live)
                continue
            if interrupted.is_interrupted(self.view, live):
                self.interrupted.append(live)
                continue
            reason = self._stays(live, since.get(live.node.name))
            if reason:
                self.kept[live.node.name] = reason
            else:
                first = datetime.min.replace(tzinfo=self.view.now.tzinfo)
                idle = first if live.node.cordon else since.get(live.node.name) or self.view.now
                candidates.append((idle, live.node.name, live))
        bounds = Bounds(self.view, self.gaps)
        for idle, name, live in sorted(candidates, key=lambda entry: entry[:2]):
            refusal = bounds.refusal(live)
            if refusal:
                self.kept[name] = refusal
            else:
                bounds.take(live)
                self.removed.append((live, self._why(live, idle)))
        self._uncordon_orphans()

    def steps(self, first: int) -> list[ScaleIn]:
        found = []
        for step, (live, reason) in enumerate(self.removed, first):
            if live.group is None or live.node.machine is None:
                continue
            found.append(
                ScaleIn(
                    step=step,
                    region=live.group.region,
                    group=live.group.name,
                    node=live.node.name,
                    instance_id=live.node.machine.instance_id,
                    why=Why.EMPTY,
                    deadline_s=self.view.policy.drain.deadline_s,
                    at_deadline=self.view.policy.drain.at_deadline,
                    reason=reason,
                )
            )
        first += len(self.removed)
        found += [interrupted.removal(self.view, live, step) for step, live in enumerate(self.interrupted, first)]
        first += len(self.interrupted)
        return found + [left_behind.removal(self.view, live, step) for step, live in enumerate(self.left_behind, first)]

    def reasons(self) -> Iterable[Kept]:
        return (Kept(node=name, reason=self.kept[name]) for name in sorted(self.kept))

    def _why(self, live: LiveNode, idle: datetime) -> Reason:
        name = live.node.name
        if live.node.cordon:
            return Reason(
                code=Code.EMPTY, text=f"node {name} is empty and still cordoned by {live.node.cordon}, whose run ended"
            )
        idle_s = round((self.view.now - idle).total_seconds())
        return Reason(code=Code.EMPTY, text=f"node {name} has had no workload pod for {idle_s} s")

    def _stays(self, live: LiveNode, idle_since: datetime | None) -> Reason | None:
        for code, text in self._obstacles(live, idle_since):
            if text:
                return Reason(code=code, text=f"node {live.node.name} {text}")
        return None

    def _obstacles(self, live: LiveNode, idle_since: datetime | None) -> Iterable[tuple[Code, str]]:
        """What keeps a node, the plainest first; "" where it does not."""
        node, view, group = live.node, self.view, live.group
        if group is None:
            yield Code.NOT_OURS, "belongs to no group of this cluster" if node.machine else "is no EC2 instance that we know"
            return
        policy = view.policy_of(group)
        yield Code.IGNORED, f"is in group {group.name}, which the policy ignores" if policy.ignore else ""
        yield Code.LEAVING, "is being deleted" if node.deleting else ""
        yield Code.DRAINING, "is being drained by a run under way" if node.name in view.draining else ""
        if live.instance is not None and not live.instance.is_member:
            yield Code.LEAVING, f"is {live.instance.lifecycle} in its group"
        yield Code.LEAVING, f"goes at {live.ends_at:%Y-%m-%d %H:%M:%S} UTC, when AWS takes its instance" if live.ends_at else ""
        yield Code.NOT_JUDGED, self._not_judged(live)
        yield Code.BUSY, self._busy(live)
        human = node.unschedulable and not node.cordon
        yield Code.CORDONED_BY_HUMAN, "was cordoned by somebody else" if human else ""
        yield Code.STARTING, "is still starting" if is_starting(view, live) else ""
        yield Code.NOT_READY, "" if node.ready else "is not Ready"
        yield Code.ANNOTATED, self._annotated(live)
        nominated = any(pods.state == PodState.NOMINATED for pods in live.pods)
        yield Code.PENDING_PODS, "is where pending pods go" if nominated or node.name in self.used else ""
        yield Code.DISABLED, self._disabled(live)
        unknown = group.region in view.unknown_regions
        yield Code.REGION_UNKNOWN, f"is in region {group.region}, which did not answer" if unknown else ""
        yield Code.STALE_VIEW, f"is seen in a view older than {view.policy.max_snapshot_age_s} s" if view.is_stale else ""
        suspended = "Terminate" in group.suspended
        yield Code.SUSPENDED, f"is in group {group.name}, whose Terminate process is suspended" if suspended else ""
        for code, why in left_alone(view, group):
            yield code, f"is in group {group.name}, which is left alone: {why}" if why else ""
        guarded = policy.scale_in.respect_protection and live.instance is not None and live.instance.protected
        yield Code.PROTECTED, "is protected from scale in" if guarded else ""
        if not node.cordon:
            yield Code.NOT_IDLE_YET, self._not_idle_yet(idle_since, policy.scale_in.idle_s)

    def _not_judged(self, live: LiveNode) -> str:
        for pods in live.workload:
            shape = self.view.shapes[pods.shape]
            if shape.resource_claims:
                claims = ", ".join(shape.resource_claims)
                return f"runs {shape.namespace}/{pods.names[0]}, whose resource claims ({claims}) are not judged"
        return ""

    def _busy(self, live: LiveNode) -> str:
        workload = live.workload
        pods = sum(len(one.names) for one in workload)
        if not pods:
            return ""
        example = f"{self.view.shapes[workload[0].shape].namespace}/{workload[0].names[0]}"
        return f"runs {pods} {'pod' if pods == 1 else 'pods'} ({example})"

    def _annotated(self, live: LiveNode) -> str:
        found = [key for key, forbids in DO_NOT_REMOVE.items() if forbids(live.node.annotations.get(key, ""))]
        return f"carries the annotation {found[0]}" if found else ""

    def _disabled(self, live: LiveNode) -> str:
        mode = self.view.policy.mode
        if mode in (Mode.SCALE_OUT_ONLY, Mode.OFF):
            return f"stays: the policy's mode is {mode}"
        scale_in = self.view.policy_of(live.group).scale_in if live.group else self.view.policy.scale_in
        off = not scale_in.enabled or scale_in.consolidation is Consolidation.OFF
        return "stays: the policy has scale in off" if off else ""

    def _not_idle_yet(self, since: datetime | None, idle_s: int) -> str:
        since = since or self.view.now
        if self.view.now - since >= timedelta(seconds=idle_s):
            return ""
        return f"is empty since {since:%Y-%m-%d %H:%M:%S} UTC, which is less than {idle_s} s"

    def _uncordon_orphans(self) -> None:
        """Nodes that we cordoned and that neither go nor are drained are given back to the scheduler."""
        waits = (Code.BUDGET, Code.REMOVAL_LIMIT, Code.STALE_VIEW, Code.REGION_UNKNOWN)
        found: dict[str, list[str]] = defaultdict(list)
        if not self.view.may_grow:
            return
        for live in self.view.nodes:
            node, reason = live.node, self.kept.get(live.node.name)
            if not node.cordon or live.group is None or reason is None or live.is_leaving:
                continue
            if node.name not in self.view.draining and node.name not in self.used and reason.code not in waits:
                found[live.group.key].append(node.name)
        self.give_back = {key: tuple(names) for key, names in found.items()}
