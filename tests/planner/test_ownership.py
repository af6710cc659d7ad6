"""Groups that others change as well: named, left alone while they are replaced, refused where the policy is strict."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from spillway.model.cluster import PodState
from spillway.model.fleet import NodeGroup
from spillway.model.group_state import InstanceRefresh, ManagedNodeGroup, ScalingPolicy, ScheduledAction, WarmPool
from spillway.model.memory import Memory
from spillway.model.plan import Plan
from tests.builders import (
    NOW,
    YESTERDAY,
    desired,
    group,
    instance,
    kept,
    node,
    open_request,
    plan_for,
    pod,
    policy,
    refusals,
    removed,
    warned,
)

REFRESH = InstanceRefresh(id="r-1", status="InProgress", percent=40)
CPU = ScalingPolicy(name="cpu50", kind="TargetTrackingScaling")
NIGHT = ScheduledAction(name="night", recurrence="0 20 * * *", desired=0)
STRICT = policy(strict_ownership=True)


def idle(**fields: Any) -> Plan:
    """A node that has been empty for long, in a group that is as `fields` say."""
    one = node("n")
    return plan_for(one, group("g", nodes=[one], **fields), idle_since=YESTERDAY)


def texts(plan: Plan, code: str) -> list[str]:
    return [warning.text for warning in plan.warnings if warning.code == code]


@dataclass(frozen=True)
class Change:
    """A group in the midst of something, and how that is said."""

    fields: dict[str, Any]
    text: str


CHANGES = {
    "instance refresh": Change({"refresh": REFRESH}, "an instance refresh (r-1) is InProgress, 40 % done"),
    "node group update": Change(
        {"managed": ManagedNodeGroup(name="blue", status="UPDATING")}, "EKS node group blue is UPDATING"
    ),
    "deletion": Change({"status": "Delete in progress"}, "its status is Delete in progress"),
}


@pytest.mark.feature("SI-17")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_group_that_is_being_replaced_is_not_raised_and_the_next_one_is(change: Change) -> None:
    plan = plan_for(pod(), group("a", **change.fields), group("b", price=9.0))

    assert desired(plan) == {"b": 1}
    assert texts(plan, "changing") == [f"group us-east-1/a is left alone: {change.text}"]


@pytest.mark.feature("SI-17")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_pods_that_only_a_group_under_replacement_could_serve_are_told_so(change: Change) -> None:
    plan = plan_for(pod(), group("a", **change.fields))

    (reason,) = plan.unserved[0].reasons
    assert (reason.code, reason.text) == ("changing", change.text)


@pytest.mark.feature("SI-17")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_no_node_of_a_group_that_is_being_replaced_is_removed(change: Change) -> None:
    plan = idle(**change.fields)

    assert not plan.scale_in
    assert plan.kept[0].reason.text == f"node n is in group g, which is left alone: {change.text}"


@pytest.mark.feature("SI-17")
def test_desired_of_a_group_that_is_being_replaced_is_not_lowered_either() -> None:
    request = open_request(asked_at=YESTERDAY, orphan=True)
    lost = Memory(requests=(request,))

    assert plan_for(group("g", desired=2), memory=lost).give_back
    assert not plan_for(group("g", desired=2, refresh=REFRESH), memory=lost).give_back


@pytest.mark.feature("SI-17")
@pytest.mark.parametrize("status", ["ACTIVE", "DEGRADED", "CREATE_FAILED"])
def test_a_node_group_that_eks_does_not_work_at_is_used(status: str) -> None:
    managed = ManagedNodeGroup(name="blue", status=status)

    assert desired(plan_for(pod(), group("g", managed=managed))) == {"g": 1}


@pytest.mark.feature("FS-06")
def test_what_ails_a_node_group_is_said_in_the_words_of_eks() -> None:
    managed = ManagedNodeGroup(name="blue", status="DEGRADED", issues=("Ec2SubnetNotFound: subnet-1 is gone",))

    assert texts(plan_for(group("g", managed=managed)), "degraded") == [
        "group us-east-1/g: EKS node group blue is DEGRADED: Ec2SubnetNotFound: subnet-1 is gone"
    ]


@pytest.mark.feature("SI-17")
def test_a_suspended_launch_passes_the_group_over_and_a_suspended_terminate_keeps_its_nodes() -> None:
    assert desired(plan_for(pod(), group("a", suspended=("Launch",)), group("b", price=9.0))) == {"b": 1}
    assert kept(idle(suspended=("Terminate",))) == {"n": "suspended"}


@pytest.mark.feature("SI-17")
@pytest.mark.parametrize(
    ("process", "what"),
    [
        ("Launch", "it gets no nodes"),
        ("Terminate", "none of its nodes goes"),
        ("ReplaceUnhealthy", "a node that fails is not replaced and counts on"),
        ("HealthCheck", "a node that fails is not found and counts on"),
        ("AddToLoadBalancer", "its new nodes get no traffic from its load balancers"),
    ],
)
def test_a_suspended_process_that_concerns_nodes_is_a_warning_that_says_how(process: str, what: str) -> None:
    assert texts(plan_for(group("g", suspended=(process,))), "suspended") == [
        f"group us-east-1/g: its {process} process is suspended, so {what}"
    ]


@pytest.mark.feature("SI-17")
@pytest.mark.parametrize("process", ["AZRebalance", "InstanceRefresh", "AlarmNotification", "ScheduledActions"])
def test_a_suspended_process_that_only_makes_a_group_quieter_is_no_news_and_no_obstacle(process: str) -> None:
    plan = plan_for(pod(), group("g", suspended=(process,)))

    assert not warned(plan)
    assert desired(plan) == {"g": 1}


@pytest.mark.feature("SI-17")
def test_protected_instances_go_unless_the_policy_respects_protection() -> None:
    one = node("n")
    protected = group("g", nodes=[one], instances=[instance("n", protected=True)])
    respects = policy(scale_in={"respect_protection": True})

    assert removed(plan_for(one, protected, idle_since=YESTERDAY)) == ["n"]
    assert kept(plan_for(one, protected, idle_since=YESTERDAY, rules=respects)) == {"n": "protected"}


OWNERS: dict[str, tuple[dict[str, Any], str]] = {
    "scaling policy": ({"scaling_policies": (CPU,)}, "scaling policy cpu50 (TargetTrackingScaling)"),
    "predictive scaling": (
        {"scaling_policies": (ScalingPolicy(name="ahead", kind="PredictiveScaling"),)},
        "scaling policy ahead (PredictiveScaling)",
    ),
    "scheduled action": ({"scheduled_actions": (NIGHT,)}, "scheduled action night (0 20 * * * UTC)"),
    "scheduled once": (
        {"scheduled_actions": (ScheduledAction(name="launch-day", starts_at=NOW + timedelta(days=1)),)},
        "scheduled action launch-day (at 2026-01-02 00:00 UTC)",
    ),
}


@pytest.mark.feature("SI-17")
@pytest.mark.parametrize(("fields", "name"), OWNERS.values(), ids=OWNERS)
def test_another_owner_of_a_groups_size_is_a_warning_that_names_it(fields: dict[str, Any], name: str) -> None:
    plan = plan_for(pod(), group("g", **fields))

    assert texts(plan, "other_owner") == [f"group us-east-1/g: {name} changes its size as well"]
    assert desired(plan) == {"g": 1}


@pytest.mark.feature("SI-17")
@pytest.mark.parametrize(("fields", "name"), OWNERS.values(), ids=OWNERS)
def test_strict_ownership_refuses_a_group_with_another_owner_out_and_in(fields: dict[str, Any], name: str) -> None:
    one = node("n")
    mine, theirs = group("mine", price=9.0), group("theirs", nodes=[one], **fields)

    grows = plan_for(one, pod(cpu="3", count=2), mine, theirs, rules=STRICT)
    shrinks = plan_for(one, theirs, rules=STRICT, idle_since=YESTERDAY)

    assert desired(grows) == {"mine": 1}
    assert kept(shrinks) == {"n": "other_owner"}
    assert name in shrinks.kept[0].reason.text


@pytest.mark.feature("SI-17")
def test_strict_ownership_tells_pods_who_has_the_group() -> None:
    plan = plan_for(pod(), group("g", scaling_policies=(CPU,)), rules=STRICT)

    assert refusals(plan) == {"g": "other_owner"}
    assert plan.unserved[0].reasons[0].text == (
        "scaling policy cpu50 (TargetTrackingScaling) changes its size, and the policy's strict_ownership is on"
    )


@pytest.mark.feature("SI-17")
def test_strict_ownership_refuses_a_group_whose_owners_nobody_knows_out_and_in() -> None:
    one = node("n")
    dark = group("dark", nodes=[one], unknown_owners=("scaling policies", "scheduled actions"))

    grows = plan_for(one, pod(cpu="3", count=2), dark, rules=STRICT)
    shrinks = plan_for(one, dark, rules=STRICT, idle_since=YESTERDAY)

    assert refusals(grows) == {"dark": "other_owner"}
    assert kept(shrinks) == {"n": "other_owner"}
    assert "its scaling policies and scheduled actions are not known, and the policy's strict_ownership is on" in (
        shrinks.kept[0].reason.text
    )


@pytest.mark.feature("SI-17")
def test_a_group_whose_owners_nobody_knows_is_used_unless_ownership_is_strict() -> None:
    plan = plan_for(pod(), group("dark", unknown_owners=("scaling policies",)))

    assert desired(plan) == {"dark": 1}


IDLE_OWNERS: dict[str, dict[str, Any]] = {
    "policy is disabled": {"scaling_policies": (ScalingPolicy(name="off", enabled=False),)},
    "policy forecasts only": {"scaling_policies": (ScalingPolicy(name="look", kind="PredictiveScaling", forecasts_only=True),)},
    "alarms are not heard": {"scaling_policies": (CPU,), "suspended": ("AlarmNotification",)},
    "schedules are suspended": {"scheduled_actions": (NIGHT,), "suspended": ("ScheduledActions",)},
    "schedule has ended": {"scheduled_actions": (ScheduledAction(name="old", recurrence="0 * * * *", ends_at=YESTERDAY),)},
    "scheduled once and done": {"scheduled_actions": (ScheduledAction(name="done", starts_at=YESTERDAY),)},
}


@pytest.mark.feature("SI-17")
@pytest.mark.parametrize("fields", IDLE_OWNERS.values(), ids=IDLE_OWNERS)
def test_what_changes_no_size_is_no_owner(fields: dict[str, Any]) -> None:
    plan = plan_for(pod(), group("g", **fields), rules=STRICT)

    assert desired(plan) == {"g": 1}
    assert not texts(plan, "other_owner")


@pytest.mark.feature("SI-17")
def test_predictive_scaling_acts_without_alarms() -> None:
    fields, _ = OWNERS["predictive scaling"]
    plan = plan_for(pod(), group("g", suspended=("AlarmNotification",), **fields), rules=STRICT)

    assert refusals(plan) == {"g": "other_owner"}


@pytest.mark.feature("SI-17")
def test_a_max_instance_lifetime_is_a_warning_and_no_owner_of_the_size() -> None:
    plan = plan_for(pod(), group("g", max_instance_lifetime_s=7 * 86400), rules=STRICT)

    assert texts(plan, "other_owner") == [
        "group us-east-1/g: Auto Scaling ends its instances, undrained, after 7 days (max instance lifetime)"
    ]
    assert desired(plan) == {"g": 1}


AUTOSCALERS = {
    "cluster-autoscaler": "Cluster Autoscaler",
    "prod-aws-cluster-autoscaler": "Cluster Autoscaler",
    "escalator": "Escalator",
    "kube-aws-autoscaler": "kube-aws-autoscaler",
}


@pytest.mark.feature("SI-17")
@pytest.mark.parametrize(("deployment", "product"), AUTOSCALERS.items())
def test_another_autoscaler_in_the_cluster_is_named_and_refused_where_the_policy_is_strict(
    deployment: str, product: str
) -> None:
    one, name = node("n"), f"{deployment}-5d8b6c7f9-x2x4z"
    running = pod(name, namespace="kube-system", node="n", cpu="100m")
    world = (one, running, pod("waits", cpu="4"), group("g", nodes=[one], cpu="8"))

    plan, strict = plan_for(*world), plan_for(*world, rules=STRICT)

    said = f"{product} (pod kube-system/{name})"
    assert texts(plan, "other_owner") == [f"{said} changes the size of this cluster's groups as well: stop it"]
    assert desired(plan) == {"g": 2}
    assert refusals(strict) == {"g": "other_owner"}
    assert strict.unserved[0].reasons[0].text.startswith(said)


@pytest.mark.feature("SI-17")
def test_karpenter_is_named_and_refuses_no_group_as_it_resizes_none() -> None:
    one = node("n")
    running = pod("karpenter-5d8b6c7f9-x2x4z", namespace="kube-system", node="n", cpu="100m")

    plan = plan_for(one, running, pod("waits", cpu="4"), group("g", nodes=[one], cpu="8"), rules=STRICT)

    assert texts(plan, "other_owner") == [
        "Karpenter (pod kube-system/karpenter-5d8b6c7f9-x2x4z) buys nodes, too: both may do so for the same pods"
    ]
    assert desired(plan) == {"g": 2}


@pytest.mark.feature("SI-17")
@pytest.mark.parametrize(
    "other",
    [
        pod("cluster-proportional-autoscaler-5d8b6c7f9-x2x4z", node="n"),
        pod("cluster-autoscaler-status-reader-5d8b6c7f9-x2x4z", node="n"),
        pod("cluster-autoscaler-5d8b6c7f9-x2x4z", node="n", state=PodState.TERMINATING),
        pod("cluster-autoscaler-28391-x2x4z", node="n", owner="Job"),
    ],
    ids=["another thing", "its helper", "it leaves", "a job"],
)
def test_what_only_sounds_like_an_autoscaler_is_none(other: Any) -> None:
    one = node("n")

    assert not texts(plan_for(one, other, group("g", nodes=[one])), "other_owner")


@pytest.mark.feature("FS-06")
@pytest.mark.parametrize(("size", "how"), [(12, "above its max of 10"), (1, "below its min of 2")])
def test_desired_outside_of_its_bounds_is_taken_as_it_is_and_named(size: int, how: str) -> None:
    members = [instance(f"i{number}") for number in range(size)]
    plan = plan_for(group("g", min_size=2, instances=members, desired=size))

    assert texts(plan, "out_of_bounds") == [f"group us-east-1/g: its desired capacity of {size} is {how}"]


@pytest.mark.feature("FS-06")
def test_a_group_above_its_max_gets_no_node_and_may_shrink_one_below_its_min_grows_to_it() -> None:
    nodes = [node(f"n{number}") for number in range(3)]
    above = group("g", nodes=nodes, max_size=2)

    assert refusals(plan_for(pod(count=99), *nodes, above)) == {"g": "at_max"}
    assert removed(plan_for(*nodes, above, idle_since=YESTERDAY))
    assert desired(plan_for(group("g", min_size=2, instances=[instance("a")]))) == {"g": 2}


@pytest.mark.feature("FS-06")
def test_a_warm_instance_is_no_capacity_no_member_and_no_candidate() -> None:
    """Its kubelet may have joined before it was stopped, and its node may be Ready still."""
    one = node("w")
    warm = instance("w", lifecycle="Warmed:Running")
    pool: NodeGroup = group("g", warm=(warm,), warm_pool=WarmPool(state="Running", size=1))

    plan = plan_for(one, pod(), pool, idle_since=YESTERDAY)

    assert desired(plan) == {"g": 1}
    assert kept(plan) == {"w": "leaving"}
    assert plan.summary.price_usd_h_before == 0


@pytest.mark.feature("FS-06")
@pytest.mark.parametrize(
    "lifecycle",
    ["Standby", "EnteringStandby", "Detaching", "Detached", "Terminating:Wait", "Terminating:Proceed", "Terminated"],
)
def test_a_node_whose_instance_is_no_member_is_no_candidate(lifecycle: str) -> None:
    one = node("n")
    plan = plan_for(one, group("g", instances=[instance("n", lifecycle=lifecycle)]), idle_since=YESTERDAY)

    assert kept(plan) == {"n": "leaving"}
    assert plan.kept[0].reason.text == f"node n is {lifecycle} in its group"


@pytest.mark.feature("SI-17")
def test_of_several_pods_of_an_autoscaler_the_same_one_is_named_in_whatever_order_they_come() -> None:
    one = node("n")
    pods = [
        pod(f"cluster-autoscaler-5d8b6c7f9-{end}", node="n", cpu=cpu) for end, cpu in (("bbbbb", "100m"), ("aaaaa", "200m"))
    ]

    told = {texts(plan_for(one, *order, group("g", nodes=[one])), "other_owner")[0] for order in (pods, pods[::-1])}

    assert told == {
        "Cluster Autoscaler (pod default/cluster-autoscaler-5d8b6c7f9-aaaaa) changes the size of this cluster's groups as "
        "well: stop it"
    }
