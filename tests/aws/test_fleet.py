"""AWS's answers become groups; what cannot be read is named, and stops nothing else."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from spillway.aws import fleet
from spillway.errors import AwsForbidden, AwsUnavailable
from spillway.model.fleet import CapacityType, FleetSnapshot, Instance, NodeGroup, RegionView
from spillway.model.reason import Code
from tests.aws.answers import (
    CLUSTER,
    NODE_TEMPLATE,
    NOW,
    activity,
    checked,
    group,
    instance_type,
    member,
    mixed,
    region,
    version,
)

HOME, WEST = "us-east-1", "us-west-2"
ZONAL = "We currently do not have sufficient m5.large capacity in the Availability Zone you requested (us-east-1a). "


def reduce(answers: dict[str, Any], **more: Any) -> FleetSnapshot:
    return fleet.reduce(CLUSTER, HOME, NOW, answers, **more)


def only(answer: dict[str, Any]) -> NodeGroup:
    (found,) = reduce({HOME: answer}).groups
    return found


def texts(snapshot: FleetSnapshot, code: Code) -> list[str]:
    return [warning.text for warning in snapshot.warnings if warning.code is code]


def test_reads_sizes_zones_and_what_is_suspended() -> None:
    suspended = [{"ProcessName": "Terminate"}, {"ProcessName": "Launch"}]

    found = only(
        region(group(MinSize=1, MaxSize=9, DesiredCapacity=4, AvailabilityZones=["b", "a"], SuspendedProcesses=suspended))
    )

    assert (found.key, found.min_size, found.max_size, found.desired) == ("us-east-1/g", 1, 9, 4)
    assert found.zones == ("a", "b")
    assert found.suspended == ("Launch", "Terminate")
    assert found.problem == ""


@pytest.mark.feature("SI-15")
def test_instances_that_ec2_has_ended_are_told_but_those_that_are_still_members() -> None:
    def machine(name: str, state: str) -> dict[str, Any]:
        return {"InstanceId": f"i-{name}", "State": {"Name": state}}

    machines = [machine("gone", "terminated"), machine("going", "shutting-down"), machine("member", "terminated")]
    reservation = checked("ec2", "Reservation", {"Instances": machines})

    found = reduce({HOME: region(group(Instances=[member("member")]), Reservations=[reservation])})

    assert found.ended == ("i-gone",)


@pytest.mark.feature("EV-07")
@pytest.mark.feature("CS-07")
def test_reads_members_their_age_their_name_and_their_reservation_from_ec2() -> None:
    launched = datetime(2026, 1, 1, 9, tzinfo=UTC)
    dns = "ip-10-0-0-1.ec2.internal"
    ec2 = {
        "InstanceId": "i-a", "LaunchTime": launched, "State": {"Name": "running", "Code": 16}, "PrivateDnsName": dns,
        "CapacityReservationId": "cr-1",
    }  # fmt: skip
    members = [member("b", "Pending", HealthStatus="UNHEALTHY"), member("a", ProtectedFromScaleIn=True)]

    found = only(region(group(Instances=members), Reservations=[checked("ec2", "Reservation", {"Instances": [ec2]})]))

    common = {"zone": "us-east-1a", "instance_type": "m5.large"}
    assert found.instances == (
        Instance(
            id="i-a", lifecycle="InService", launched_at=launched, state="running", protected=True, private_dns=dns,
            reservation="cr-1", **common,
        ),
        Instance(id="i-b", lifecycle="Pending", healthy=False, **common),
    )  # fmt: skip


@pytest.mark.feature("FS-01")
@pytest.mark.feature("SO-05")
def test_a_member_that_ran_in_the_warm_pool_is_as_old_as_its_time_in_the_group() -> None:
    """EC2 launched it long ago: by that it would have failed to join."""
    machine = {"InstanceId": "i-a", "InstanceType": "m5.large", "LaunchTime": NOW - timedelta(days=3)}
    answers = region(
        group(DesiredCapacity=1, Instances=[member("a")], WarmPoolConfiguration={"PoolState": "Running"}),
        Reservations=[{"Instances": [machine]}],
        Activities=[
            activity(status="Successful", age_s=age_s, Description="Launching a new EC2 instance from warm pool: i-a")
            for age_s in (40, 9000)
        ],
    )

    assert [one.launched_at for one in only(answers).instances] == [NOW - timedelta(seconds=40)]


@pytest.mark.feature("SO-05")
def test_a_launch_into_the_warm_pool_closes_no_gap_and_its_refusal_is_none_of_the_groups() -> None:
    into = "Launching a new EC2 instance into warm pool"
    going = activity(status="InProgress", age_s=30, Description=f"{into}: i-b")
    refused = activity(ZONAL, age_s=90, Description=f"{into}.  Status Reason: {ZONAL}")

    found = only(region(group(DesiredCapacity=1), Activities=[going, refused]))

    assert (found.launching, found.launching_since, found.failures) == (0, None, ())


def test_a_name_that_leads_to_no_group_is_a_warning_unless_its_region_is_silent() -> None:
    names = ["us-east-1/ours", "us-east-1/nope", "eu-west-9/foo", "workers", "us-west-2/any"]

    found = reduce({HOME: region(group("ours")), WEST: AwsUnavailable(WEST, "x", "y")}, group_names=names)

    elsewhere = "it is in none of the regions that are read; names are `region/name`"
    assert texts(found, Code.GROUP_UNREADABLE) == [
        f"group eu-west-9/foo is asked for by name: {elsewhere}",
        "group us-east-1/nope is asked for by name: its region has no Auto Scaling group of that name",
        f"group workers is asked for by name: {elsewhere}",
    ]


@pytest.mark.feature("FS-01")
def test_takes_groups_with_both_tags_and_groups_that_are_named() -> None:
    half = group("half", Tags=[{"Key": "k8s.io/cluster-autoscaler/enabled", "Value": "true"}])
    other = group("other", Tags=[*half["Tags"], {"Key": "k8s.io/cluster-autoscaler/another-cluster", "Value": "owned"}])
    named = group("named", Tags=[])

    found = reduce({HOME: region(group("ours"), half, other, named)}, group_names=["us-east-1/named", "us-west-2/half"])

    assert [one.name for one in found.groups] == ["named", "ours"]


def test_the_cli_and_botocore_give_the_same_snapshot() -> None:
    answers = region(group(), Activities=[activity(ZONAL)], SpotPriceHistory=[])
    as_text = msgspec.json.decode(msgspec.json.encode(answers))

    assert reduce({HOME: answers}) == reduce({HOME: as_text})


def test_the_order_of_answers_makes_no_difference() -> None:
    east = region(group("a", Instances=[member("1"), member("2")]), group("b"), Activities=[activity(ZONAL), activity(VCPU)])
    turned = {key: list(reversed(value)) if isinstance(value, list) else value for key, value in east.items()}
    turned["AutoScalingGroups"] = [one | {"Instances": list(reversed(one["Instances"]))} for one in turned["AutoScalingGroups"]]

    assert reduce({HOME: east, WEST: region()}) == reduce({WEST: region(), HOME: turned})


VCPU = "You have requested more vCPU capacity than your current vCPU limit of 32 allows."


class TestCapacityType:
    @pytest.mark.parametrize(
        ("percent", "base", "expected"),
        [(0, 0, CapacityType.SPOT), (0, 1, CapacityType.ON_DEMAND), (50, 0, CapacityType.ON_DEMAND)],
    )
    def test_a_mixed_group_is_spot_when_none_of_it_is_on_demand(self, percent: int, base: int, expected: CapacityType) -> None:
        fields = mixed("g", ["m5.large"], percent, OnDemandBaseCapacity=base)

        assert only(region(group(**fields))).capacity_type is expected

    @pytest.mark.parametrize(
        ("data", "expected"),
        [
            ({"InstanceMarketOptions": {"MarketType": "spot"}}, CapacityType.SPOT),
            ({"InstanceMarketOptions": {"MarketType": "capacity-block"}}, CapacityType.RESERVED),
            (
                {"CapacityReservationSpecification": {"CapacityReservationPreference": "capacity-reservations-only"}},
                CapacityType.RESERVED,
            ),
            ({}, CapacityType.ON_DEMAND),
        ],
    )
    def test_a_launch_template_says_its_market(self, data: dict[str, Any], expected: CapacityType) -> None:
        assert only(region(group(), LaunchTemplateVersions=[version(**data)])).capacity_type is expected

    @pytest.mark.feature("FS-02")
    def test_a_launch_configuration_with_a_bid_is_spot(self) -> None:
        old = group(LaunchTemplate=None, LaunchConfigurationName="lc")
        bid = {"LaunchConfigurationName": "lc", "ImageId": "ami-1", "InstanceType": "m5.large", "SpotPrice": "0.05"}

        found = only(region(old, LaunchConfigurations=[bid]))

        assert found.capacity_type is CapacityType.SPOT
        assert found.template is not None

    def test_is_known_even_when_the_template_is_not(self) -> None:
        found = only(region(group(**mixed("g", ["x9.large"], 0))))

        assert found.template is None
        assert found.capacity_type is CapacityType.SPOT


class TestActivities:
    @pytest.mark.feature("FS-07")
    def test_an_old_activity_that_fails_late_is_a_failure_of_now(self) -> None:
        late = activity("The AMI ID ami-1 does not exist.", age_s=5 * 3600, took_s=5 * 3600 - 30)
        newer = activity(status="Successful", age_s=600)

        (failure,) = only(region(group(), Activities=[newer, late])).failures

        assert (NOW - failure.at).total_seconds() == 30

    def test_failures_are_newest_first_and_of_three_hours(self) -> None:
        told = [activity(ZONAL, age_s=age) for age in (7200, 60, 4 * 3600)]

        found = only(region(group(), Activities=told)).failures

        assert [(NOW - failure.at).total_seconds() for failure in found] == [59, 7199]

    def test_a_launch_that_began_later_and_succeeded_ends_a_failure(self) -> None:
        assert (
            only(region(group(), Activities=[activity(VCPU, age_s=600), activity(status="Successful", age_s=300)])).failures
            == ()
        )

    def test_a_launch_of_the_same_moment_that_succeeded_does_not(self) -> None:
        """One of three came, two were refused: there is no more room."""
        batch = [activity(status="Successful", age_s=300), activity(VCPU, age_s=300), activity(VCPU, age_s=299.9)]

        assert len(only(region(group(), Activities=batch)).failures) == 2

    def test_success_in_another_zone_does_not_end_a_zonal_failure(self) -> None:
        elsewhere = activity(status="Successful", age_s=60, Details='{"Availability Zone": "us-east-1b"}')
        here = activity(status="Successful", age_s=60)

        assert len(only(region(group(), Activities=[activity(ZONAL, age_s=600), elsewhere])).failures) == 1
        assert only(region(group(), Activities=[activity(ZONAL, age_s=600), here])).failures == ()

    def test_counts_launches_in_progress_and_when_the_oldest_began(self) -> None:
        told = [activity(status="InProgress", age_s=30), activity(status="PreInService", age_s=90)]
        ending = activity(status="InProgress", Description="Terminating EC2 instance: i-1")

        found = only(region(group(), Activities=[*told, ending]))

        assert found.launching == 2
        assert found.launching_since == NOW - timedelta(seconds=90)

    def test_a_text_nobody_knows_becomes_a_warning_once(self) -> None:
        strange = [activity("The moon is in the wrong place.", age_s=age) for age in (60, 120)]

        (text,) = texts(reduce({HOME: region(group(), Activities=strange)}), Code.UNKNOWN_FAILURE)

        assert "us-east-1/g" in text
        assert "The moon is in the wrong place." in text

    def test_an_activity_without_a_readable_time_is_passed_over(self) -> None:
        broken = [{**activity(ZONAL), "StartTime": "yesterday"}, {**activity(status="Successful"), "StartTime": "today"}, "?"]

        assert only(region(group(), Activities=[*broken, activity(ZONAL)])).failures != ()


class TestSilence:
    @pytest.mark.feature("FS-01")
    def test_a_region_that_does_not_answer_is_unknown_and_the_others_go_on(self) -> None:
        error = AwsUnavailable(WEST, "autoscaling:DescribeAutoScalingGroups", "timed out")

        found = reduce({HOME: region(group()), WEST: error})

        assert found.regions == (
            RegionView(name=HOME, known=True, as_of=NOW),
            RegionView(name=WEST, known=False, problem=str(error)),
        )
        assert [one.key for one in found.groups] == ["us-east-1/g"]
        assert texts(found, Code.REGION_SILENT) == [f"region us-west-2 did not answer, nothing is known of it: {error}"]

    def test_a_region_whose_groups_are_an_error_is_unknown(self) -> None:
        found = reduce({HOME: {"AutoScalingGroups": "no answer", "InstanceTypes": []}})

        assert found.regions == (RegionView(name=HOME, known=False, problem="no answer"),)

    def test_of_a_silent_region_remain_the_groups_of_before_as_of_then(self) -> None:
        before = reduce({HOME: region(group()), WEST: region(group("w"))})
        silent: dict[str, Any] = {HOME: region(), WEST: "timed out"}

        once = fleet.reduce(CLUSTER, HOME, NOW + timedelta(minutes=1), silent, previous=before)
        twice = fleet.reduce(CLUSTER, HOME, NOW + timedelta(minutes=2), silent, previous=once)

        assert [one.key for one in twice.groups] == ["us-west-2/w"]
        assert twice.regions[1] == RegionView(name=WEST, known=False, as_of=NOW, problem="timed out")

    def test_an_optional_answer_that_is_forbidden_names_the_permission(self) -> None:
        denied = AwsForbidden(HOME, "ec2:DescribeInstances", "no")

        found = reduce({HOME: region(group(Instances=[member("a")]), Reservations=denied)})

        assert found.groups[0].instances[0].launched_at is None
        (text,) = texts(found, Code.PERMISSION)
        assert "Reservations is not known" in text
        assert "IAM does not allow ec2:DescribeInstances" in text

    def test_without_a_price_list_the_shipped_table_stands_in_and_it_is_said(self) -> None:
        silent = AwsUnavailable(HOME, "pricing:GetProducts", "timed out")

        found = reduce({HOME: region(group(), OnDemandPrices=silent)})

        assert found.groups[0].template is not None
        assert found.groups[0].template.price_usd_h == 0.096
        assert texts(found, Code.PRICE_UNKNOWN) == [f"region us-east-1: OnDemandPrices is not known: {silent}"]

    def test_a_template_that_may_not_be_read_says_which_permission_is_missing(self) -> None:
        denied = AwsForbidden(HOME, "ec2:DescribeLaunchTemplateVersions", "no")

        found = only(region(group(), LaunchTemplateVersions=denied))

        assert found.template is None
        assert "launch template g-nodes version 1 cannot be read" in found.problem
        assert "ec2:DescribeLaunchTemplateVersions" in found.problem


class TestOddOnes:
    def test_a_group_that_aws_never_sent_like_this_is_named_and_the_others_go_on(self) -> None:
        odd = {**group("odd"), "MinSize": "many"}
        nameless = {key: value for key, value in group().items() if key != "AutoScalingGroupName"}

        found = reduce(
            {HOME: region(group("a"), group("b")) | {"AutoScalingGroups": [group("a"), odd, nameless, "?", group("b")]}}
        )

        assert [one.name for one in found.groups] == ["a", "b"]
        first, *others = texts(found, Code.GROUP_UNREADABLE)
        assert first.startswith("group us-east-1/odd is not as AWS documents it: Expected `int`")
        assert [text.split(" is not")[0] for text in others] == [
            "group us-east-1/AutoScalingGroups[2]",
            "group us-east-1/AutoScalingGroups[3]",
        ]

    def test_an_item_of_another_answer_is_named_and_the_others_go_on(self) -> None:
        broken = {**instance_type("m6i.large"), "VCpuInfo": None}

        found = reduce({HOME: region(group(), InstanceTypes=[broken, instance_type()])})

        assert found.groups[0].template is not None
        (text,) = texts(found, Code.OBJECT_UNREADABLE)
        assert text.startswith("region us-east-1: InstanceTypes[0] is not as AWS documents it")

    def test_a_type_that_no_one_knows_leaves_the_other_groups_alone(self) -> None:
        versions = [version("known"), version("odd", "x9.large")]

        found = reduce({HOME: region(group("known"), group("odd"), LaunchTemplateVersions=versions)})

        known, odd = found.groups
        assert known.template is not None
        assert odd.template is None
        assert odd.problem.startswith("instance type x9.large: DescribeInstanceTypes does not know it here")
        assert texts(found, Code.GROUP_UNREADABLE) == [f"group us-east-1/odd: {odd.problem}"]


def test_keeps_cluster_autoscalers_options_for_the_planner() -> None:
    tags = {NODE_TEMPLATE + "autoscaling-options/scaledownunneededtime": "5m0s"}

    assert only(region(group(tags=tags))).options == {"scaledownunneededtime": "5m0s"}
