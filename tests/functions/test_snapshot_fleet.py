"""The fleet is read from all regions at once, and one that fails takes nothing with it."""

import json
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from math import nan
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from botocore.exceptions import ClientError
from msgspec import ValidationError
from msgspec.structs import replace

from functions.snapshot_fleet import app
from spillway import telemetry
from spillway.aws import clients, groups, market, reader
from spillway.aws.table import snapshots
from spillway.env import env
from spillway.errors import AwsForbidden, AwsUnavailable, EventError, NotFound
from spillway.model.fleet import CapacityType, FailureClass, FleetSnapshot
from spillway.model.market import Offering
from spillway.model.reason import Code
from tests.aws.account import HOME, WEST, Account, open_account
from tests.aws.answers import CLUSTER, NOW, OURS, activity, mixed

EVENTS = Path(__file__).parents[2] / "events"


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    """Two regions, each with a group of m5.large; moto has no Pricing API."""
    monkeypatch.setattr(market, "on_demand_prices", lambda region, types, *_: dict.fromkeys(types, 0.096))
    with open_account() as opened:
        for region in (HOME, WEST):
            clients.client("ec2", region).create_launch_template(
                LaunchTemplateName="nodes", LaunchTemplateData={"InstanceType": "m5.large", "ImageId": "ami-12c6146b"}
            )
            create(region, "workers", DesiredCapacity=2)
        yield opened


def create(region: str, name: str, **fields: Any) -> None:
    clients.client("autoscaling", region).create_auto_scaling_group(
        **{
            "AutoScalingGroupName": name,
            "LaunchTemplate": {"LaunchTemplateName": "nodes", "Version": "$Latest"},
            "MinSize": 0,
            "MaxSize": 5,
            "AvailabilityZones": [region + "a"],
            "Tags": [{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in OURS.items()],
            **fields,
        }
    )


def fail(monkeypatch: pytest.MonkeyPatch, code: str, operation: str, region: str = "") -> None:
    """From now on AWS refuses `operation`, in `region` or everywhere."""
    pages = clients.pages

    def refused(service: str, where: str, name: str, **request: Any) -> Any:
        if name == operation and region in ("", where):
            with clients.asking(where, clients.action_of(service, where, name)):
                raise ClientError({"Error": {"Code": code, "Message": "no"}}, name)
        return pages(service, where, name, **request)

    monkeypatch.setattr(clients, "pages", refused)


def run(account: Account) -> FleetSnapshot:
    app.handler({}, None)
    return snapshots.latest_fleet(account.table)


def metrics(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, float]]:
    """Figures by region, "" for the fleet."""
    found: dict[str, dict[str, float]] = {}
    for line in capsys.readouterr().out.splitlines():
        told = json.loads(line)
        if "_aws" in told:
            names = [metric["Name"] for metric in told["_aws"]["CloudWatchMetrics"][0]["Metrics"]]
            found[told.get("region", "")] = {name: told[name][0] for name in names}
    return found


@pytest.mark.feature("FS-01")
def test_reads_every_region_and_stores_what_it_saw(account: Account) -> None:
    answer = app.handler({}, None)

    found = snapshots.latest_fleet(account.table)
    assert answer == {"head": found.id, "groups": 2, "regions_unknown": [], "warnings": 0}
    assert (found.cluster, found.home_region, found.taken_at) == (CLUSTER, HOME, NOW)
    assert [group.key for group in found.groups] == ["us-east-1/workers", "us-west-2/workers"]
    east = found.groups[0]
    assert [instance.state for instance in east.instances] == ["running", "running"]
    assert all(instance.launched_at for instance in east.instances)
    assert east.template is not None
    assert east.template.instance_types == ("m5.large",)
    assert east.template.labels["topology.kubernetes.io/zone"] == "us-east-1a"
    assert east.template.price_usd_h == 0.096


@pytest.mark.feature("FS-01")
@pytest.mark.parametrize(
    ("code", "error"), [("AccessDenied", AwsForbidden), ("RequestTimeout", AwsUnavailable)], ids=["forbidden", "silent"]
)
def test_a_region_that_fails_is_unknown_keeps_its_groups_and_stops_no_other(
    account: Account, monkeypatch: pytest.MonkeyPatch, code: str, error: type[Exception]
) -> None:
    run(account)
    fail(monkeypatch, code, "describe_auto_scaling_groups", WEST)
    create(HOME, "more")
    account.pass_s(60)

    found = run(account)

    east, west = found.regions
    assert (east.known, east.as_of) == (True, NOW + timedelta(seconds=60))
    assert (west.known, west.as_of) == (False, NOW)
    assert west.problem == str(
        error(WEST, "autoscaling:DescribeAutoScalingGroups", "no" if code == "AccessDenied" else f"{code}: no")
    )
    assert [group.key for group in found.groups] == ["us-east-1/more", "us-east-1/workers", "us-west-2/workers"]


@pytest.mark.feature("FS-09")
def test_a_stored_view_that_does_not_read_is_taken_for_none_and_replaced(account: Account) -> None:
    """A price that is no number was one such: it is stored as null."""
    spoilt = replace(run(account).groups[0], offerings=(Offering(instance_type="m5.large", vcpus=2, spot_usd_h={"a": nan}),))
    snapshots.store_fleet(account.table, replace(run(account), groups=(spoilt,)))
    with pytest.raises(ValidationError):
        snapshots.latest_fleet(account.table)
    account.pass_s(60)

    assert [group.key for group in run(account).groups] == ["us-east-1/workers", "us-west-2/workers"]


@pytest.mark.feature("FS-01")
def test_all_regions_are_asked_at_once(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each region's answer waits until every region has been asked."""
    together = threading.Barrier(2, timeout=5)
    describe = groups.describe

    def waits(region: str, *rest: Any) -> Any:
        together.wait()
        return describe(region, *rest)

    monkeypatch.setattr(groups, "describe", waits)

    assert [group.key for group in run(account).groups] == ["us-east-1/workers", "us-west-2/workers"]


Hang = Callable[[str, str, str], None]


@pytest.fixture
def hang(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hang]:
    """From now on a region does not answer an operation, and its time is over when the answer of that key is waited for."""
    released = threading.Event()
    threads: list[threading.Thread] = []

    def begin(region: str, operation: str, key: str) -> None:
        pages, answer, hangs = clients.pages, reader.RegionRead.answer, threading.Event()

        def asked(service: str, where: str, name: str, **request: Any) -> Any:
            if (where, name) != (region, operation):
                return pages(service, where, name, **request)
            threads.append(threading.current_thread())
            hangs.set()
            released.wait()
            raise AwsUnavailable(where, clients.action_of(service, where, name), "it hung")

        def waited_for(reading: reader.RegionRead, wanted: str) -> Any:
            if (reading.region, wanted) == (region, key):
                assert hangs.wait(5)
                reading.ends_at = monotonic()
            return answer(reading, wanted)

        monkeypatch.setattr(clients, "pages", asked)
        monkeypatch.setattr(reader.RegionRead, "answer", waited_for)
        monkeypatch.setattr(reader, "LATE_S", 1)

    yield begin
    released.set()
    for thread in threads:
        thread.join()
        assert thread.daemon, "the end of the process would wait for it"


@pytest.mark.feature("FS-01")
def test_a_region_that_hangs_is_unknown_after_its_own_deadline_and_stops_no_other(account: Account, hang: Hang) -> None:
    run(account)
    hang(WEST, "describe_auto_scaling_groups", "AutoScalingGroups")
    create(HOME, "more")
    account.pass_s(180)

    found = run(account)

    east, west = found.regions
    assert (east.known, west.known, west.as_of) == (True, False, NOW)
    assert "AutoScalingGroups failed: no answer within 40 s" in west.problem
    assert [group.key for group in found.groups] == ["us-east-1/more", "us-east-1/workers", "us-west-2/workers"]
    (warning,) = [one.text for one in found.warnings if one.code is Code.REGION_SILENT]
    assert warning.startswith("region us-west-2 did not answer, what is known of it is 180 s old: ")


@pytest.mark.feature("FS-01")
def test_of_a_region_that_hangs_later_all_is_known_that_it_gave(account: Account, hang: Hang) -> None:
    """Its groups came, its instances do not."""
    hang(WEST, "describe_instances", "Reservations")

    found = run(account)

    assert all(view.known for view in found.regions)
    assert [group.key for group in found.groups] == ["us-east-1/workers", "us-west-2/workers"]
    assert (
        "region us-west-2: Reservations is not known: region us-west-2: Reservations failed: no answer within 40 s"
        in "\n".join(warning.text for warning in found.warnings)
    )


@pytest.mark.feature("FS-01")
def test_a_call_that_hangs_takes_nothing_from_those_that_come_after_it(account: Account, hang: Hang) -> None:
    """Types are asked for when launch configurations have come, or will not."""
    clients.client("autoscaling", WEST).create_launch_configuration(
        LaunchConfigurationName="old", ImageId="ami-12c6146b", InstanceType="m5.large"
    )
    clients.client("autoscaling", WEST).create_auto_scaling_group(
        AutoScalingGroupName="old", LaunchConfigurationName="old", MinSize=0, MaxSize=5, AvailabilityZones=[WEST + "a"],
        Tags=[{"Key": key, "Value": value} for key, value in OURS.items()],
    )  # fmt: skip
    hang(WEST, "describe_launch_configurations", "LaunchConfigurations")

    _, old, workers = run(account).groups

    assert workers.template is not None
    assert "LaunchConfigurations failed: no answer within 40 s" in old.problem


@pytest.mark.feature("FS-01")
def test_a_group_without_tags_is_read_when_the_stack_names_it(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    for region in (HOME, WEST):
        create(region, "named", Tags=[])
    monkeypatch.setenv("SPILLWAY_GROUP_NAMES", "us-west-2/named")
    env.cache_clear()

    assert [group.key for group in run(account).groups] == ["us-east-1/workers", "us-west-2/named", "us-west-2/workers"]


@pytest.mark.feature("FS-01")
def test_groups_that_kubernetes_ec2_autoscaler_tagged_are_read_too_and_each_is_there_once(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = {"KubernetesCluster": CLUSTER, "KubernetesRole": "worker"}
    for name, tags in (("seeds", seeds), ("both", seeds | OURS), ("masters", seeds | {"KubernetesRole": "master"})):
        create(HOME, name, Tags=[{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in tags.items()])
    monkeypatch.setenv("SPILLWAY_GROUP_NAMES", "us-east-1/both,us-east-1/seeds")
    env.cache_clear()

    found = run(account)

    assert [group.key for group in found.groups if group.region == HOME] == [
        "us-east-1/both",
        "us-east-1/seeds",
        "us-east-1/workers",
    ]


@pytest.mark.feature("FS-01")
def test_when_no_region_answers_nothing_is_stored_and_the_run_fails(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(monkeypatch, "AccessDenied", "describe_auto_scaling_groups")

    with pytest.raises(AwsForbidden, match="region us-east-1: IAM does not allow autoscaling:DescribeAutoScalingGroups"):
        app.handler({}, None)

    with pytest.raises(NotFound):
        snapshots.latest_fleet(account.table)


@pytest.mark.feature("FS-01")
def test_a_launch_template_that_is_gone_leaves_the_other_groups_alone(account: Account) -> None:
    ec2 = clients.client("ec2", HOME)
    ec2.create_launch_template(
        LaunchTemplateName="gone-soon", LaunchTemplateData={"InstanceType": "m5.large", "ImageId": "ami-12c6146b"}
    )
    create(HOME, "odd", LaunchTemplate={"LaunchTemplateName": "gone-soon", "Version": "$Latest"})
    ec2.delete_launch_template(LaunchTemplateName="gone-soon")

    odd, east, _ = run(account).groups

    assert odd.problem.startswith("launch template gone-soon version $Latest cannot be read")
    assert east.template is not None


def test_a_type_that_ec2_does_not_know_leaves_the_other_groups_alone(account: Account) -> None:
    clients.client("ec2", HOME).create_launch_template(
        LaunchTemplateName="new-type", LaunchTemplateData={"InstanceType": "x99.large", "ImageId": "ami-12c6146b"}
    )
    create(HOME, "odd", LaunchTemplate={"LaunchTemplateName": "new-type", "Version": "$Latest"})

    odd, east, _ = run(account).groups

    assert odd.problem.startswith("instance type x99.large: DescribeInstanceTypes does not know it here")
    assert east.template is not None


def test_spot_prices_are_asked_for_spot_groups_only(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = market.spot_prices
    monkeypatch.setattr(market, "spot_prices", lambda region, types, *_: asked.append(region) or real(region, types))
    fields = mixed("spot", ["m5.large"], 0)
    specification = {"LaunchTemplateName": "nodes", "Version": "$Latest"}
    fields["MixedInstancesPolicy"]["LaunchTemplate"]["LaunchTemplateSpecification"] = specification
    del fields["LaunchTemplate"]
    clients.client("autoscaling", WEST).create_auto_scaling_group(
        AutoScalingGroupName="spot",
        MinSize=0,
        MaxSize=5,
        AvailabilityZones=["us-west-2a"],
        Tags=[{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in OURS.items()],
        **fields,
    )

    found = {group.key: group for group in run(account).groups}

    assert asked == [WEST]
    spot = found["us-west-2/spot"]
    assert spot.capacity_type is CapacityType.SPOT
    assert spot.template is not None
    assert spot.template.price_usd_h is not None


@pytest.mark.feature("FS-07")
def test_activities_are_read_of_groups_that_miss_instances_or_failed_before(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str | None]] = []
    refused = activity("VcpuLimitExceeded", age_s=30, AutoScalingGroupName="workers")

    def told(region: str, group: str | None = None, ids: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        asked.append((region, group))
        return [refused]

    monkeypatch.setattr(groups, "activities", told)
    run(account)
    assert asked == [], "all that is wanted is there"

    stop(HOME, "workers")
    found = run(account)
    assert asked == [(HOME, "workers")]
    assert [failure.text for failure in found.groups[0].failures] == ["VcpuLimitExceeded"]

    clients.client("autoscaling", HOME).set_desired_capacity(AutoScalingGroupName="workers", DesiredCapacity=1)
    run(account)
    assert asked == [(HOME, "workers")] * 2, "until the failure is over"


@pytest.mark.feature("FS-07")
def test_activities_of_many_restless_groups_are_one_listing(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is refused for a reason of its own, and each is told so, by one call instead of ten."""
    for number in range(10):
        create(HOME, f"g{number}", DesiredCapacity=1)
    refused = [activity(f"no {number}", age_s=30 + number, AutoScalingGroupName=f"g{number}") for number in range(10)]
    asked: list[dict[str, Any]] = []
    pages = clients.pages

    def answers(service: str, where: str, name: str, **request: Any) -> Any:
        if name != "describe_scaling_activities" or where != HOME:
            return pages(service, where, name, **request)
        asked.append(request)
        return iter([{"Activities": refused}])

    monkeypatch.setattr(clients, "pages", answers)
    monkeypatch.setattr("spillway.aws.reader.is_restless", lambda item: True)

    found = run(account)

    assert asked == [{}]
    told = {group.name: [failure.text for failure in group.failures] for group in found.groups if group.region == HOME}
    assert told == {**{f"g{number}": [f"no {number}"] for number in range(10)}, "workers": []}


@pytest.fixture
def refused_late(account: Account, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A launch of HOME's workers that has gone on for five hours; called, it is refused, behind 400 launches that came
    later, went well, and fill more pages than anybody reads. The group has all that it wants."""
    late = activity(status="InProgress", age_s=5 * 3600, ActivityId="late", AutoScalingGroupName="workers")
    told = [late]
    pages = clients.pages

    def answers(service: str, where: str, name: str, **request: Any) -> Any:
        if name != "describe_scaling_activities" or where != HOME:
            return pages(service, where, name, **request)
        wanted = request.get("ActivityIds")
        found = [one for one in told if wanted is None or one["ActivityId"] in wanted]
        return iter([{"Activities": found[start : start + 100]} for start in range(0, len(found), 100)])

    monkeypatch.setattr(clients, "pages", answers)

    def refuse() -> None:
        newer = [
            activity(status="Successful", age_s=n, ActivityId=f"n{n}", AutoScalingGroupName="workers") for n in range(60, 460)
        ]
        refused = activity("VcpuLimitExceeded", age_s=5 * 3600, took_s=5 * 3600 - 5, AutoScalingGroupName="workers")
        told[:] = [*newer, {**refused, "ActivityId": "late"}]

    with monkeypatch.context() as patch:
        patch.setattr("spillway.aws.reader.is_restless", lambda item: True)
        assert [group.launching_ids for group in run(account).groups] == [("late",), ()]
    return refuse


@pytest.mark.feature("FS-07")
def test_a_launch_that_was_seen_in_progress_is_followed_by_its_id_to_its_late_failure(
    account: Account, refused_late: Callable[[], None]
) -> None:
    refused_late()

    east, _ = run(account).groups

    assert [(failure.activity_id, failure.text) for failure in east.failures] == [("late", "VcpuLimitExceeded")]
    assert east.launching_ids == ()


@pytest.mark.feature("FS-07")
@pytest.mark.parametrize("operation", ["describe_scaling_activities", "describe_auto_scaling_groups"])
def test_a_read_that_failed_in_between_does_not_lose_the_ids(
    account: Account, monkeypatch: pytest.MonkeyPatch, refused_late: Callable[[], None], operation: str
) -> None:
    refused_late()
    with monkeypatch.context() as patch:
        fail(patch, "Throttling", operation, HOME)
        assert run(account).groups[0].launching_ids == ("late",)

    assert [failure.activity_id for failure in run(account).groups[0].failures] == ["late"]


@pytest.mark.feature("FS-07")
def test_of_a_thousand_launches_three_pages_are_read_and_one_that_fails_late_among_newer_ones_is_found_by_its_id(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A burst fills ten pages; those that were seen in progress are asked for by fifties until their end is known."""
    asked: list[int] = []  # ids of each call; 0 for a page
    told = [
        activity(status="InProgress", age_s=4 * 3600 + n, ActivityId=f"old-{n}", AutoScalingGroupName="workers")
        for n in range(1000)
    ]
    pages = clients.pages

    def answers(service: str, where: str, name: str, **request: Any) -> Iterator[Any]:
        if name != "describe_scaling_activities" or where != HOME:
            yield from pages(service, where, name, **request)
            return
        ids = request.get("ActivityIds")
        found = [one for one in told if ids is None or one["ActivityId"] in ids]
        for start in range(0, len(found), 100):
            asked.append(len(ids or ()))
            more = {"NextToken": "more"} if start + 100 < len(found) else {}
            yield {"Activities": found[start : start + 100], **more}

    monkeypatch.setattr(clients, "pages", answers)
    with monkeypatch.context() as patch:
        patch.setattr("spillway.aws.reader.is_restless", lambda item: item["AutoScalingGroupName"] == "workers")
        assert len(run(account).groups[0].launching_ids) == 300
    assert asked == [0, 0, 0]

    asked.clear()
    newer = [
        activity(status="Successful", age_s=n, ActivityId=f"new-{n}", AutoScalingGroupName="workers") for n in range(60, 1060)
    ]
    ended = [{**one, "StatusCode": "Successful", "EndTime": NOW - timedelta(hours=4)} for one in told]
    refused = activity("VcpuLimitExceeded", age_s=4 * 3600 + 299, took_s=4 * 3600 + 290, AutoScalingGroupName="workers")
    ended[299] = {**refused, "ActivityId": "old-299"}
    told[:] = [*newer, *ended]

    east, _ = run(account).groups
    assert [(failure.activity_id, failure.failure) for failure in east.failures] == [("old-299", FailureClass.VCPU_QUOTA)]
    assert asked == [0, 0, 0, 50, 50, 50, 50, 50, 50]
    assert east.launching_ids == ()


def stop(region: str, group: str) -> None:
    """One instance leaves for standby: desired stays, a member is missing."""
    autoscaling = clients.client("autoscaling", region)
    (item,) = autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[group])["AutoScalingGroups"]
    autoscaling.enter_standby(
        AutoScalingGroupName=group, InstanceIds=[item["Instances"][0]["InstanceId"]], ShouldDecrementDesiredCapacity=False
    )


class TestMetrics:
    def test_all_are_written_at_each_run_for_the_fleet_and_by_region(
        self, account: Account, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run(account)

        quiet = {
            "InstancesInService": 2,
            "InstancesDesired": 2,
            "GroupsUnreadable": 0,
            "LaunchFailures": 0,
            "LaunchFailuresUnknown": 0,
            "RegionsUnknown": 0,
        }
        assert metrics(capsys) == {
            "": {**quiet, "InstancesInService": 4, "InstancesDesired": 4, "FleetSnapshots": 1},
            HOME: quiet,
            WEST: quiet,
        }

    def test_a_silent_region_counts_as_unknown_and_its_old_groups_do_not(
        self, account: Account, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run(account)
        fail(monkeypatch, "RequestTimeout", "describe_auto_scaling_groups", WEST)
        capsys.readouterr()

        run(account)

        found = metrics(capsys)
        assert (found[""]["RegionsUnknown"], found[""]["InstancesDesired"]) == (1, 2)
        assert (found[WEST]["RegionsUnknown"], found[WEST]["InstancesDesired"]) == (1, 0)

    def test_a_run_without_any_answer_writes_them_too(
        self, account: Account, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        fail(monkeypatch, "RequestTimeout", "describe_auto_scaling_groups")

        with pytest.raises(AwsUnavailable):
            app.handler({}, None)

        found = metrics(capsys)[""]
        assert (found["RegionsUnknown"], found["FleetSnapshots"]) == (2, 0)

    def test_a_refusal_is_counted_once(
        self, account: Account, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        refused = activity("VcpuLimitExceeded", age_s=30, AutoScalingGroupName="workers")
        monkeypatch.setattr(groups, "activities", lambda region, group, ids: [refused])
        stop(HOME, "workers")

        run(account)
        assert metrics(capsys)[""]["LaunchFailures"] == 1

        run(account)
        assert metrics(capsys)[""]["LaunchFailures"] == 0

    @pytest.mark.feature("FS-08")
    def test_a_refusal_in_unknown_words_is_counted_once_and_the_log_has_the_words(
        self,
        account: Account,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        strange = activity("The moon is in the wrong place.", age_s=30, AutoScalingGroupName="workers")
        known = activity("VcpuLimitExceeded", age_s=40, AutoScalingGroupName="workers")
        monkeypatch.setattr(groups, "activities", lambda region, group, ids: [strange, known])
        stop(HOME, "workers")

        found = run(account)
        assert [warning.code for warning in found.warnings if "The moon" in warning.text] == [Code.UNKNOWN_FAILURE]
        told = [record for record in caplog.records if getattr(record, "code", "") == "unknown_failure"]
        assert ["The moon is in the wrong place." in record.getMessage() for record in told] == [True]
        assert metrics(capsys)[""]["LaunchFailuresUnknown"] == 1

        run(account)
        assert metrics(capsys)[""]["LaunchFailuresUnknown"] == 0


@pytest.mark.feature("OB-04")
def test_what_seldom_happens_is_zero_from_the_first_run(account: Account, capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.start_at_zero.cache_clear()
    app.handler({}, None)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["region"] for line in lines if line.get("NodesRefused") == [0.0]] == [HOME, WEST]
    assert [line["DrainsAbandoned"] for line in lines if "DrainsAbandoned" in line] == [[0.0]]


@pytest.mark.parametrize("name", sorted(path.name for path in EVENTS.glob("snapshot_fleet.*.json")))
def test_takes_each_sample_event(account: Account, name: str) -> None:
    event = json.loads((EVENTS / name).read_text())

    assert app.handler(event, None)["groups"] == 2


def test_an_event_with_a_bad_field_names_it(account: Account) -> None:
    with pytest.raises(EventError, match="event of snapshot_fleet: time: Input should be a valid datetime"):
        app.handler({"time": "yesterday"}, None)
