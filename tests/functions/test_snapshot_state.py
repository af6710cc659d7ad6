"""The fleet snapshot tells what goes on with each group, and who else changes its size, in a bounded number of calls."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.eks.models import eks_backends

from functions.snapshot_fleet import app
from spillway import planner
from spillway.aws import clients, definitions, market, memo, reader
from spillway.aws.table import snapshots
from spillway.model.cluster import Taint
from spillway.model.fleet import FleetSnapshot, NodeGroup
from spillway.model.group_state import InstanceRefresh, ManagedNodeGroup, ScalingPolicy, ScheduledAction, WarmPool
from spillway.model.memory import Memory
from spillway.model.policy import Policy
from spillway.model.reason import Code
from spillway_local import dump, live
from spillway_local.clock import VirtualClock
from spillway_local.emulator import fleets
from spillway_local.emulator.autoscaling import autoscaling
from spillway_local.emulator.launches import Launches
from tests.aws import botocore_shapes
from tests.aws.account import HOME, Account, open_account
from tests.aws.answers import CLUSTER, NOW, OURS, group, member, region
from tests.builders import cluster, pod

LIFECYCLES = [
    "Pending", "Pending:Wait", "Pending:Proceed", "Quarantined", "InService", "Terminating", "Terminating:Wait",
    "Terminating:Proceed", "Terminating:Retained", "Terminated", "Detaching", "Detached", "EnteringStandby", "Standby",
    "ReplacingRootVolume", "ReplacingRootVolume:Wait", "ReplacingRootVolume:Proceed", "RootVolumeReplaced",
]  # fmt: skip
MEMBERS = {
    "Pending", "Pending:Wait", "Pending:Proceed", "InService", "ReplacingRootVolume", "ReplacingRootVolume:Wait",
    "ReplacingRootVolume:Proceed", "RootVolumeReplaced",
}  # fmt: skip
OPERATIONS = (
    "describe_policies",
    "describe_scheduled_actions",
    "describe_warm_pool",
    "describe_instance_refreshes",
    "describe_nodegroup",
)


@contextmanager
def told(*items: dict[str, Any], **answers: Any) -> Iterator[Account]:
    """An account whose home region has these groups, and tells this of them."""
    answers = region(*items, **answers)
    botocore_shapes.region(answers)
    launches = Launches(VirtualClock(NOW))
    with open_account({HOME: answers}) as account, autoscaling(launches):
        fleets.build(HOME, answers, launches)
        yield account


@pytest.fixture(autouse=True)
def _prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(market, "on_demand_prices", lambda region, types, *_: dict.fromkeys(types, 0.096))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Calls of OPERATIONS by name."""
    counted: Counter[str] = Counter()
    for name in ("ask", "pages"):
        real = getattr(clients, name)

        def count(service: str, where: str, operation: str, real: Any = real, **request: Any) -> Any:
            if operation in OPERATIONS and where == HOME:
                counted[operation] += 1
            return real(service, where, operation, **request)

        monkeypatch.setattr(clients, name, count)
    return counted


def read(account: Account) -> FleetSnapshot:
    app.handler({}, None)
    return snapshots.latest_fleet(account.table)


def only(account: Account) -> NodeGroup:
    (found,) = read(account).groups
    return found


def policy(name: str, of: str = "g", kind: str = "TargetTrackingScaling", **fields: Any) -> dict[str, Any]:
    return {"AutoScalingGroupName": of, "PolicyName": name, "PolicyType": kind, "Enabled": True, **fields}


def refresh(status: str, of: str = "g") -> dict[str, Any]:
    return {
        "AutoScalingGroupName": of, "InstanceRefreshId": f"r-{status}", "Status": status, "PercentageComplete": 40,
        "StartTime": "2026-01-01T11:00:00+00:00",
    }  # fmt: skip


def nodegroup(status: str, of: str = "g", issues: tuple[Mapping[str, str], ...] = ()) -> dict[str, Any]:
    return {
        "nodegroup": {
            "nodegroupName": "blue", "clusterName": "eks", "status": status, "health": {"issues": list(issues)},
            "resources": {"autoScalingGroups": [{"name": of}]},
        }
    }  # fmt: skip


EKS = {"eks:cluster-name": "eks", "eks:nodegroup-name": "blue"}


def blue(status: str, *issues: str) -> ManagedNodeGroup:
    """As moto's EKS has it."""
    labels = {"eks.amazonaws.com/nodegroup": "blue", "eks.amazonaws.com/capacityType": "ON_DEMAND"}
    return ManagedNodeGroup(name="blue", status=status, issues=issues, ami_type="AL2_x86_64", labels=labels)


class TestSize:
    @pytest.mark.feature("FS-06")
    def test_min_max_and_desired_are_as_they_are_also_where_desired_is_out_of_bounds(self) -> None:
        with told(group(MinSize=2, MaxSize=4)) as account:
            fleets.backend_group(HOME, "g").desired_capacity = 7

            found = only(account)

        assert (found.min_size, found.max_size, found.desired) == (2, 4, 7)

    @pytest.mark.feature("FS-06")
    def test_instances_are_told_by_lifecycle_state_and_only_members_count(self) -> None:
        there = [member(f"i{number:02}") for number in range(len(LIFECYCLES))]
        with told(group(MaxSize=99, DesiredCapacity=len(there), Instances=there)) as account:
            for state, lifecycle in zip(fleets.backend_group(HOME, "g").instance_states, LIFECYCLES, strict=True):
                state.lifecycle_state = lifecycle

            found = only(account)

        assert sorted(one.lifecycle for one in found.instances) == sorted(LIFECYCLES)
        assert {one.lifecycle for one in found.instances if one.is_member} == MEMBERS

    @pytest.mark.feature("FS-06")
    def test_a_warm_pool_is_apart_and_none_of_it_is_a_member(self) -> None:
        pool = {"MinSize": 1, "PoolState": "Stopped", "InstanceReusePolicy": {"ReuseOnScaleIn": True}}
        warm = {"Instances": [member("w1", "Warmed:Stopped"), member("w2", "Warmed:Pending:Wait")]}
        item = group(
            DesiredCapacity=1, Instances=[member("a"), member("w3", "Warmed:Running")], WarmPoolConfiguration=pool,
            WarmPoolSize=3,
        )  # fmt: skip
        with told(item, WarmPools={"g": warm}) as account:
            found = only(account)

        assert found.warm_pool == WarmPool(state="Stopped", size=3, min_size=1, reuses=True)
        assert [one.id for one in found.instances] == ["i-a"]
        assert [(one.id, one.lifecycle, one.is_member) for one in found.warm] == [
            ("i-w1", "Warmed:Stopped", False),
            ("i-w2", "Warmed:Pending:Wait", False),
        ]

    @pytest.mark.feature("FS-06")
    def test_a_group_without_a_warm_pool_is_not_asked_for_one(self, calls: Counter[str]) -> None:
        with told(group()) as account:
            assert only(account).warm_pool is None

        assert calls["describe_warm_pool"] == 0


class TestSettings:
    @pytest.mark.feature("FS-06")
    def test_protection_from_scale_in_is_told_of_each_instance_and_of_those_to_come(self) -> None:
        there = [member("a", ProtectedFromScaleIn=True), member("b")]
        with told(group(DesiredCapacity=2, Instances=there, NewInstancesProtectedFromScaleIn=True)) as account:
            found = only(account)

        assert {one.id: one.protected for one in found.instances} == {"i-a": True, "i-b": False}
        assert found.protects_new_instances

    @pytest.mark.feature("FS-06")
    def test_every_suspended_process_is_told_and_az_rebalance_is_on_unless_it_is_one(self) -> None:
        zones = ["us-east-1a", "us-east-1b"]
        suspended = [{"ProcessName": "AZRebalance"}, {"ProcessName": "HealthCheck"}]
        items = [
            group("on", AvailabilityZones=zones),
            group("off", AvailabilityZones=zones, SuspendedProcesses=suspended),
            group("one-zone"),
        ]
        with told(*items) as account:
            found = {one.name: one for one in read(account).groups}

        assert found["off"].suspended == ("AZRebalance", "HealthCheck")
        assert {name: one.balances_zones for name, one in found.items()} == {"on": True, "off": False, "one-zone": False}

    @pytest.mark.feature("FS-06")
    def test_what_replaces_instances_by_itself_is_told(self) -> None:
        item = group(
            CapacityRebalance=True,
            MaxInstanceLifetime=604800,
            InstanceMaintenancePolicy={"MinHealthyPercentage": 90, "MaxHealthyPercentage": 120},
            AvailabilityZoneDistribution={"CapacityDistributionStrategy": "balanced-only"},
        )
        with told(item, group("plain")) as account:
            found, plain = read(account).groups

        assert (found.capacity_rebalance, found.max_instance_lifetime_s) == (True, 604800)
        assert (found.min_healthy_percent, found.max_healthy_percent) == (90, 120)
        assert (found.zone_distribution, plain.zone_distribution) == ("balanced-only", "balanced-best-effort")
        assert (plain.capacity_rebalance, plain.max_instance_lifetime_s, plain.min_healthy_percent) == (False, None, None)

    @pytest.mark.feature("FS-06")
    def test_a_maintenance_policy_that_was_taken_back_and_a_lifetime_of_zero_are_none(self) -> None:
        """AWS's words for it: -1 and 0."""
        taken_back = {"MinHealthyPercentage": -1, "MaxHealthyPercentage": -1}
        with told(group(MaxInstanceLifetime=0, InstanceMaintenancePolicy=taken_back)) as account:
            found = only(account)

        assert (found.max_instance_lifetime_s, found.min_healthy_percent, found.max_healthy_percent) == (None, None, None)

    @pytest.mark.feature("FS-06")
    def test_a_group_that_is_being_deleted_says_so(self) -> None:
        with told(group(Status="Delete in progress")) as account:
            assert only(account).status == "Delete in progress"


class TestOwners:
    @pytest.mark.feature("FS-06")
    def test_scaling_policies_are_told_of_their_group_with_predictive_ones(self) -> None:
        predictive = {
            mode: policy(
                mode, kind="PredictiveScaling", PredictiveScalingConfiguration={"MetricSpecifications": [], "Mode": mode}
            )
            for mode in ("ForecastAndScale", "ForecastOnly")
        }
        policies = [
            policy("cpu"),
            policy("off", kind="StepScaling", Enabled=False),
            *predictive.values(),
            policy("cpu", "other"),
        ]
        with told(group(), ScalingPolicies=policies) as account:
            found = only(account)

        assert found.scaling_policies == (
            ScalingPolicy(name="cpu", kind="TargetTrackingScaling"),
            ScalingPolicy(name="off", kind="StepScaling", enabled=False),
            ScalingPolicy(name="ForecastAndScale", kind="PredictiveScaling"),
            ScalingPolicy(name="ForecastOnly", kind="PredictiveScaling", forecasts_only=True),
        )

    @pytest.mark.feature("FS-06")
    def test_scheduled_actions_are_told_with_what_they_change_and_when(self) -> None:
        night = {
            "AutoScalingGroupName": "g", "ScheduledActionName": "night", "Recurrence": "0 20 * * *",
            "TimeZone": "Europe/Vienna", "MinSize": 0, "DesiredCapacity": 0,
        }  # fmt: skip
        once = {
            "AutoScalingGroupName": "g",
            "ScheduledActionName": "once",
            "StartTime": "2026-01-02T00:00:00+00:00",
            "MaxSize": 9,
        }
        with told(group(), ScheduledUpdateGroupActions=[night, once]) as account:
            found = only(account)

        assert found.scheduled_actions == (
            ScheduledAction(name="night", recurrence="0 20 * * *", time_zone="Europe/Vienna", min_size=0, desired=0),
            ScheduledAction(name="once", starts_at=datetime(2026, 1, 2, tzinfo=UTC), max_size=9),
        )

    @pytest.mark.feature("FS-06")
    def test_all_groups_of_a_region_share_one_list_of_each_for_five_minutes(self, calls: Counter[str]) -> None:
        names = [f"g{number}" for number in range(60)]
        policies = [policy("cpu", of) for of in names]
        with told(*[group(name) for name in names], ScalingPolicies=policies) as account:
            for _ in range(3):
                found = read(account)
                account.pass_s(60)

        assert all(one.scaling_policies for one in found.groups)
        assert (calls["describe_policies"], calls["describe_scheduled_actions"]) == (1, 1)

    @pytest.mark.feature("FS-06")
    @pytest.mark.parametrize(
        ("operation", "action"),
        [("describe_policies", "DescribePolicies"), ("describe_scheduled_actions", "DescribeScheduledActions")],
    )
    def test_a_list_that_is_forbidden_is_named_and_the_rest_is_read(
        self, monkeypatch: pytest.MonkeyPatch, operation: str, action: str
    ) -> None:
        with told(group()) as account:
            refuse(monkeypatch, "AccessDenied", operation)
            found = read(account)

        assert found.groups[0].template is not None
        (text,) = [one.text for one in found.warnings if one.code is Code.PERMISSION]
        assert f"IAM does not allow autoscaling:{action}" in text

    @pytest.mark.feature("SI-17")
    def test_where_they_cannot_be_read_those_of_before_hold_and_of_a_new_group_they_are_unknown(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        action = {"AutoScalingGroupName": "g", "ScheduledActionName": "night", "Recurrence": "0 20 * * *"}
        with told(group(), ScalingPolicies=[policy("cpu")], ScheduledUpdateGroupActions=[action]) as account:
            before = only(account)
            memo.clear()
            refuse(monkeypatch, "Throttling", "describe_policies")
            refuse(monkeypatch, "AccessDenied", "describe_scheduled_actions")
            clients.client("autoscaling", HOME).create_auto_scaling_group(
                AutoScalingGroupName="new", MinSize=0, MaxSize=1, AvailabilityZones=["us-east-1a"],
                LaunchTemplate={"LaunchTemplateName": "g-nodes"},
                Tags=[{"Key": key, "Value": ""} for key in OURS],
            )  # fmt: skip
            read(account)
            known, new = read(account).groups

        assert before.scaling_policies
        assert before.scheduled_actions
        assert (known.scaling_policies, known.scheduled_actions) == (before.scaling_policies, before.scheduled_actions)
        assert (known.unknown_owners, new.unknown_owners) == ((), ("scaling policies", "scheduled actions"))

    @pytest.mark.feature("FS-06")
    def test_an_item_that_does_not_read_is_named_and_the_others_are_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with told(group()) as account:
            broken = {"AutoScalingGroupName": "g", "PolicyName": None}
            monkeypatch.setattr("spillway.aws.owners.scaling_policies", lambda region: [broken, policy("cpu")])
            found = read(account)

        assert [one.name for one in found.groups[0].scaling_policies] == ["cpu"]
        (text,) = [one.text for one in found.warnings if one.code is Code.OBJECT_UNREADABLE]
        assert text.startswith("region us-east-1: ScalingPolicies[0] is not as AWS documents it")

    @pytest.mark.feature("SI-17")
    @pytest.mark.parametrize(("name", "unknown"), [("g", {"g"}), ("other", {"other"}), (None, {"g", "other"})])
    @pytest.mark.parametrize(
        ("kind", "what", "broken"),
        [
            ("scaling_policies", "scaling policies", {"PolicyName": 7}),
            ("scheduled_actions", "scheduled actions", {"ScheduledActionName": 7}),
        ],
    )
    def test_of_a_group_with_one_that_does_not_read_it_is_not_known_who_else_changes_its_size(
        self, monkeypatch: pytest.MonkeyPatch, kind: str, what: str, broken: dict[str, Any], name: str | None, unknown: set[str]
    ) -> None:
        with told(group("g"), group("other")) as account:
            read(account)  # then AWS told of none
            monkeypatch.setattr(f"spillway.aws.owners.{kind}", lambda region: [{"AutoScalingGroupName": name, **broken}])
            found = read(account)

        assert {one.name for one in found.groups if one.unknown_owners == (what,)} == unknown
        world = cluster(pod(cpu="1"), taken_at=NOW)
        plan = planner.plan(world, found, Memory(), Policy(strict_ownership=True), NOW)
        assert {step.group for step in plan.scale_out} == ({"g", "other"} - unknown and {sorted({"g", "other"} - unknown)[0]})


class TestRefresh:
    """One call for each group that may be under one, none for a group at rest."""

    @pytest.mark.feature("FS-06")
    @pytest.mark.parametrize("status", ["Pending", "InProgress", "Baking", "Cancelling", "RollbackInProgress", "Paused"])
    def test_a_refresh_that_is_not_over_is_told_and_the_planner_leaves_the_group_alone(self, status: str) -> None:
        with told(group(DesiredCapacity=1), InstanceRefreshes=[refresh("Successful"), refresh(status)]) as account:
            found = read(account)

        (seen,) = found.groups
        assert seen.refresh == InstanceRefresh(
            id=f"r-{status}", status=status, started_at=datetime(2026, 1, 1, 11, tzinfo=UTC), percent=40
        )
        world = cluster(pod(cpu="1"), pod("b", cpu="1", count=9), taken_at=NOW)
        plan = planner.plan(world, found, Memory(), Policy(), NOW)
        assert not plan.scale_out

    @pytest.mark.feature("FS-06")
    @pytest.mark.parametrize("status", ["Successful", "Failed", "Cancelled", "RollbackFailed", "RollbackSuccessful"])
    def test_a_refresh_that_is_over_is_none(self, status: str) -> None:
        with told(group(DesiredCapacity=1), InstanceRefreshes=[refresh(status)]) as account:
            assert only(account).refresh is None

    @pytest.mark.feature("FS-06")
    def test_groups_at_rest_are_not_asked_about(self, calls: Counter[str]) -> None:
        with told(group(DesiredCapacity=1, Instances=[member("a")]), group("empty")) as account:
            read(account)

        assert calls["describe_instance_refreshes"] == 0

    @pytest.mark.feature("FS-06")
    def test_a_refresh_that_rests_at_a_checkpoint_is_followed_to_its_end(self, calls: Counter[str]) -> None:
        refreshes = [refresh("InProgress")]
        with told(group(DesiredCapacity=1), InstanceRefreshes=refreshes) as account:
            assert only(account).refresh
            for state in fleets.backend_group(HOME, "g").instance_states:
                state.lifecycle_state = "InService"
            assert only(account).refresh
            refreshes[:] = [refresh("Successful")]
            assert only(account).refresh is None
            asked = calls["describe_instance_refreshes"]
            read(account)

        assert (asked, calls["describe_instance_refreshes"]) == (3, 3)

    @pytest.mark.feature("FS-06")
    def test_a_new_group_that_looks_half_replaced_is_asked_about_once(
        self, monkeypatch: pytest.MonkeyPatch, calls: Counter[str]
    ) -> None:
        there = [member("a"), member("b")]
        with told(group(DesiredCapacity=2, Instances=there)) as account:
            launch_by(monkeypatch, {"i-a": "1", "i-b": "2"})
            read(account)
            read(account)

        assert calls["describe_instance_refreshes"] == 1

    @pytest.mark.feature("FS-06")
    def test_where_refreshes_cannot_be_read_those_of_before_hold(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with told(group(DesiredCapacity=1), InstanceRefreshes=[refresh("InProgress")]) as account:
            before = only(account).refresh
            refuse(monkeypatch, "Throttling", "describe_instance_refreshes")

            assert before
            assert only(account).refresh == before


class TestNodeGroup:
    @pytest.mark.feature("FS-06")
    @pytest.mark.parametrize("status", ["CREATING", "ACTIVE", "UPDATING", "DELETING", "CREATE_FAILED", "DELETE_FAILED"])
    def test_the_status_of_an_eks_node_group_is_told(self, status: str) -> None:
        with told(group(tags=EKS), Nodegroups=[nodegroup(status)]) as account:
            assert only(account).managed == blue(status)

    @pytest.mark.feature("FS-06")
    def test_a_degraded_one_is_told_with_what_ails_it(self) -> None:
        issue = {"code": "Ec2SubnetNotFound", "message": "subnet-1 is gone"}
        with told(group(tags=EKS), Nodegroups=[nodegroup("DEGRADED", issues=(issue,))]) as account:
            found = only(account)

        assert found.managed == blue("DEGRADED", "Ec2SubnetNotFound: subnet-1 is gone")

    @pytest.mark.feature("FS-06")
    def test_an_update_is_followed_at_each_read_and_one_at_rest_every_five_minutes(self, calls: Counter[str]) -> None:
        with told(group(tags=EKS), Nodegroups=[nodegroup("UPDATING")]) as account:
            backend = eks_backends[DEFAULT_ACCOUNT_ID][HOME].clusters["eks"].nodegroups["blue"]
            assert only(account).managed == blue("UPDATING")
            backend.status = "ACTIVE"
            asked = []
            for _ in range(4):
                account.pass_s(60)
                assert only(account).managed == blue("ACTIVE")
                asked.append(calls["describe_nodegroup"])

        assert asked == [2, 2, 2, 2]

    @pytest.mark.feature("FS-06")
    @pytest.mark.feature("FS-04")
    def test_one_that_is_being_created_is_known_by_the_tags_as_it_names_no_group_yet(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        taint = {"key": "dedicated", "value": "batch", "effect": "NO_SCHEDULE"}
        young = {"nodegroupName": "blue", "clusterName": "eks", "status": "CREATING", "taints": [taint]}
        with told(group(tags=EKS), Nodegroups=[nodegroup("CREATING")]) as account:
            monkeypatch.setattr(definitions, "nodegroups", lambda *_: [{"nodegroup": young}])
            found = only(account)

        assert (found.managed and found.managed.status, found.template and found.template.taints) == (
            "CREATING", (Taint(key="dedicated", value="batch", effect="NoSchedule"),)
        )  # fmt: skip

    @pytest.mark.feature("SI-17")
    @pytest.mark.feature("FS-04")
    @pytest.mark.parametrize("code", ["ThrottlingException", "AccessDeniedException"])
    def test_where_eks_does_not_tell_its_status_labels_and_taints_of_before_hold(
        self, monkeypatch: pytest.MonkeyPatch, code: str
    ) -> None:
        tainted = nodegroup("UPDATING")
        tainted["nodegroup"] |= {
            "taints": [{"key": "dedicated", "effect": "NO_SCHEDULE"}], "labels": {"team": "a"}, "amiType": "BOTTLEROCKET_x86_64"
        }  # fmt: skip
        with told(group(tags=EKS), Nodegroups=[nodegroup("UPDATING")]) as account:
            monkeypatch.setattr(definitions, "_describe_nodegroups", lambda keys, _: dict.fromkeys(keys, tainted))
            before = only(account)
            monkeypatch.undo()
            monkeypatch.setattr(market, "on_demand_prices", lambda region, types, *_: dict.fromkeys(types, 0.096))
            memo.clear()
            refuse(monkeypatch, code, "describe_nodegroup")
            read(account)
            found = read(account)

        (kept,) = found.groups
        assert before.template
        assert (kept.managed, kept.template, kept.problem) == (before.managed, before.template, "")
        assert (kept.template.taints, kept.template.labels["team"]) == ((Taint(key="dedicated", effect="NoSchedule"),), "a")
        (text,) = [one.text for one in found.warnings if one.code is Code.GROUP_UNREADABLE]
        assert text.startswith("group us-east-1/g: EKS node group blue is as it was when EKS last told of it: ")

    @pytest.mark.feature("SI-17")
    @pytest.mark.feature("FS-04")
    def test_where_eks_has_never_told_no_node_is_launched_and_the_group_says_why(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with told(group(tags=EKS), group("own"), Nodegroups=[nodegroup("ACTIVE")]) as account:
            refuse(monkeypatch, "ThrottlingException", "describe_nodegroup")
            found = read(account)

        dark, own = found.groups
        assert "its EKS node group is not known, nor are its labels and taints: " in dark.problem
        assert "ThrottlingException" in dark.problem
        plan = planner.plan(cluster(pod(cpu="1"), taken_at=NOW), found, Memory(), Policy(), NOW)
        assert [step.group for step in plan.scale_out] == ["own"]
        assert own.problem == ""

    @pytest.mark.feature("FS-06")
    def test_one_that_is_gone_is_none_though_it_was_known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with told(group(tags=EKS), Nodegroups=[nodegroup("ACTIVE")]) as account:
            assert only(account).managed
            refuse(monkeypatch, "ResourceNotFoundException", "describe_nodegroup")
            account.pass_s(300)
            found = only(account)

        assert (found.managed, found.problem) == (None, "")


def refuse(monkeypatch: pytest.MonkeyPatch, code: str, operation: str) -> None:
    """From now on AWS refuses `operation`."""
    for name in ("ask", "pages"):
        real = getattr(clients, name)

        def refused(service: str, where: str, asked: str, real: Any = real, **request: Any) -> Any:
            if asked == operation:
                with clients.asking(where, clients.action_of(service, where, asked)):
                    raise ClientError({"Error": {"Code": code, "Message": "no"}}, asked)
            return real(service, where, asked, **request)

        monkeypatch.setattr(clients, name, refused)


def launch_by(monkeypatch: pytest.MonkeyPatch, versions: Mapping[str, str]) -> None:
    """Instances were launched by these versions of their template: moto has one for all."""
    real = clients.pages

    def pages(service: str, where: str, operation: str, **request: Any) -> Any:
        for page in real(service, where, operation, **request):
            for item in page.get("AutoScalingGroups", ()):
                for one in item["Instances"]:
                    one["LaunchTemplate"] = {"LaunchTemplateName": "g-nodes", "Version": versions[one["InstanceId"]]}
            yield page

    monkeypatch.setattr(clients, "pages", pages)


@pytest.mark.feature("FS-06")
def test_a_dump_holds_it_all_and_is_read_to_the_same_groups(tmp_path: Path) -> None:
    pool = {"MinSize": 1, "PoolState": "Running"}
    managed = group("m", tags=EKS, WarmPoolConfiguration=pool, WarmPoolSize=1)
    with told(
        group(DesiredCapacity=1),
        managed,
        ScalingPolicies=[policy("cpu")],
        ScheduledUpdateGroupActions=[{"AutoScalingGroupName": "g", "ScheduledActionName": "night", "MinSize": 0}],
        InstanceRefreshes=[refresh("InProgress")],
        WarmPools={"m": {"Instances": [member("w", "Warmed:Running")]}},
        Nodegroups=[nodegroup("UPDATING", "m")],
    ) as account:
        found = read(account)
        answers = reader.read([HOME], CLUSTER)
    botocore_shapes.region(answers[HOME])  # type: ignore[arg-type]  # no region is silent
    live.write_fleet(tmp_path / "fleet", answers)
    (tmp_path / "meta.json").write_text(json.dumps({"cluster": CLUSTER, "home_region": HOME, "now": NOW.isoformat()}))
    (tmp_path / "cluster").mkdir()

    dumped = {one.name: one for one in dump.read(tmp_path).fleet.groups}

    for one in found.groups:
        again = dumped[one.name]
        for field in ("warm", "warm_pool", "refresh", "managed", "scaling_policies", "scheduled_actions"):
            assert getattr(again, field) == getattr(one, field), field
    assert dumped["g"].refresh
    assert dumped["m"].warm
