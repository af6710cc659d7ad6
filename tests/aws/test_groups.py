"""Finding the cluster's groups and what they did, in pages and batches that AWS accepts."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from spillway.aws import clients, groups
from spillway.errors import AwsForbidden
from tests.aws.account import HOME, open_account
from tests.aws.answers import CLUSTER, NOW, OURS, activity


@pytest.fixture
def autoscaling() -> Iterator[Any]:
    with open_account():
        boto3.client("ec2", HOME).create_launch_template(
            LaunchTemplateName="nodes", LaunchTemplateData={"InstanceType": "m5.large", "ImageId": "ami-12c6146b"}
        )
        yield clients.client("autoscaling", HOME)


@pytest.fixture
def answer() -> Iterator[Stubber]:
    """Answers in the order in which they are expected, and no others."""
    with open_account(), Stubber(clients.client("autoscaling", HOME)) as stub:
        yield stub
        stub.assert_no_pending_responses()


def create(autoscaling: Any, name: str, tags: dict[str, str]) -> None:
    autoscaling.create_auto_scaling_group(
        AutoScalingGroupName=name,
        LaunchTemplate={"LaunchTemplateName": "nodes", "Version": "$Latest"},
        MinSize=0,
        MaxSize=5,
        AvailabilityZones=["us-east-1a"],
        Tags=[{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in tags.items()],
    )


@pytest.mark.feature("FS-01")
def test_finds_groups_with_both_tags_on_all_pages(autoscaling: Any) -> None:
    for number in range(102):
        create(autoscaling, f"g{number:03}", OURS)
    create(autoscaling, "half", {"k8s.io/cluster-autoscaler/enabled": "true"})
    create(autoscaling, "other", {"k8s.io/cluster-autoscaler/enabled": "true", "k8s.io/cluster-autoscaler/test": "owned"})

    found = groups.describe(HOME, CLUSTER)

    assert [item["AutoScalingGroupName"] for item in found] == [f"g{number:03}" for number in range(102)]


@pytest.mark.feature("FS-01")
def test_adds_groups_that_are_named_and_passes_over_names_that_are_gone(autoscaling: Any) -> None:
    create(autoscaling, "tagged", OURS)
    create(autoscaling, "named", {})

    found = groups.describe(HOME, CLUSTER, ["named", "tagged", "gone"])

    assert [item["AutoScalingGroupName"] for item in found] == ["named", "tagged"]


def test_another_region_has_other_groups(autoscaling: Any) -> None:
    create(autoscaling, "tagged", OURS)

    assert groups.describe("us-west-2", CLUSTER) == []


@pytest.mark.feature("FS-01")
def test_asks_for_both_tags_at_once_a_hundred_groups_a_page(autoscaling: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Filters are joined with AND by AWS; one filter with both values would be OR."""
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(clients, "pages", lambda *call, **request: asked.append(request) or iter(()))

    assert groups.describe(HOME, CLUSTER) == []

    both = [{"Name": "tag-key", "Values": [tag]} for tag in OURS]
    assert {"Filters": both, "MaxRecords": 100} in asked
    assert {"Filters": [{"Name": "tag:KubernetesCluster", "Values": [CLUSTER]}], "MaxRecords": 100} in asked


@pytest.mark.feature("FS-01")
@pytest.mark.parametrize("role", ["KubernetesRole", "Role"])
@pytest.mark.parametrize("value", ["worker", "kubernetes-minion"])
def test_finds_groups_by_the_tags_of_kubernetes_ec2_autoscaler(autoscaling: Any, role: str, value: str) -> None:
    """The cluster's name and a worker's role: both values count, and either alone is not enough."""
    create(autoscaling, "worker", {"KubernetesCluster": CLUSTER, role: value})
    create(autoscaling, "master", {"KubernetesCluster": CLUSTER, role: "master"})
    create(autoscaling, "no-role", {"KubernetesCluster": CLUSTER})
    create(autoscaling, "other", {"KubernetesCluster": "test", role: value})
    create(autoscaling, "no-cluster", {role: value})

    assert [item["AutoScalingGroupName"] for item in groups.describe(HOME, CLUSTER)] == ["worker"]


@pytest.mark.feature("FS-01")
def test_a_group_that_is_found_in_several_ways_is_one(autoscaling: Any) -> None:
    create(autoscaling, "both", {**OURS, "KubernetesCluster": CLUSTER, "Role": "worker"})

    assert [item["AutoScalingGroupName"] for item in groups.describe(HOME, CLUSTER, ["both"])] == ["both"]


@pytest.mark.feature("FS-01")
def test_sixty_names_are_two_calls_and_no_name_is_none(answer: Stubber) -> None:
    names = [f"g{number:02}" for number in range(60)]
    for part in (names[:50], names[50:]):
        answer.add_response("describe_auto_scaling_groups", {"AutoScalingGroups": []}, {"AutoScalingGroupNames": part})

    assert groups.by_name(HOME, names) == {}
    assert groups.by_name(HOME, []) == {}, "an empty filter would mean all groups"


def test_a_missing_permission_is_named(answer: Stubber) -> None:
    answer.add_client_error("describe_auto_scaling_groups", "AccessDenied", http_status_code=403)

    with pytest.raises(AwsForbidden, match="autoscaling:DescribeAutoScalingGroups"):
        groups.by_name(HOME, ["g"])


class TestActivities:
    @pytest.mark.feature("FS-07")
    def test_reads_on_until_a_page_has_old_ones(self, answer: Stubber) -> None:
        young, old = activity(status="Successful", age_s=60), activity(status="Successful", age_s=4 * 3600)
        pages([[young], [young, old], [old]], answer, read=2)

        assert groups.activities(HOME, "g") == [young, young]

    @pytest.mark.feature("FS-07")
    def test_reads_no_more_pages_than_it_may(self, answer: Stubber) -> None:
        young = activity(status="Successful", age_s=60)
        pages([[young]] * 9, answer, read=3)

        assert len(groups.activities(HOME, "g", max_pages=3)) == 3

    @pytest.mark.feature("FS-07")
    def test_an_old_activity_that_ended_just_now_or_goes_on_is_read(self, answer: Stubber) -> None:
        late = activity("no", age_s=9 * 3600, took_s=9 * 3600 - 5)
        going = activity(status="InProgress", age_s=9 * 3600)
        pages([[going, late]], answer, read=1)

        assert groups.activities(HOME, "g") == [going, late]

    @pytest.mark.feature("FS-07")
    def test_ids_that_the_pages_did_not_show_are_asked_for_fifty_at_a_time(self, answer: Stubber) -> None:
        shown = activity(status="Successful", age_s=60, ActivityId="shown")
        pages([[shown]], answer, read=1)
        hidden = [f"h{number:02}" for number in range(60)]
        for part in (hidden[:50], hidden[50:]):
            told = {"Activities": [activity("no", age_s=9 * 3600, ActivityId=one) for one in part]}
            answer.add_response("describe_scaling_activities", told, {"AutoScalingGroupName": "g", "ActivityIds": part})

        found = groups.activities(HOME, "g", ids=["shown", *hidden])

        assert [one["ActivityId"] for one in found] == ["shown", *hidden]

    def test_since_is_the_callers(self, answer: Stubber) -> None:
        pages([[activity("no", age_s=60), activity("no", age_s=120)]], answer, read=1)

        assert len(groups.activities(HOME, "g", since=NOW - timedelta(seconds=90))) == 1

    def test_without_a_group_those_of_all_groups_are_read(self, answer: Stubber) -> None:
        answer.add_response("describe_scaling_activities", {"Activities": []}, {})

        assert groups.activities(HOME) == []


def pages(contents: list[list[dict[str, Any]]], answer: Stubber, read: int) -> None:
    """Queues the first `read` pages; each but the last names the next."""
    for number, items in enumerate(contents[:read]):
        page: dict[str, Any] = {"Activities": items}
        if number + 1 < len(contents):
            page["NextToken"] = str(number + 1)
        request = {"AutoScalingGroupName": "g"} | ({"NextToken": str(number)} if number else {})
        answer.add_response("describe_scaling_activities", page, request)


@pytest.mark.feature("FS-01")
@pytest.mark.parametrize("tag", groups.discovery_tags("prod"))
def test_one_of_the_two_discovery_tags_is_not_enough_whichever_way_the_group_was_found(tag: str) -> None:
    tags = [{"Key": tag, "Value": "owned"}, {"Key": groups.OWNER, "Value": "prod"}]

    assert not groups.belongs({"Tags": tags}, "prod")
