"""Activities of many groups in few calls, and of each all that still counts."""

from collections.abc import Iterator
from typing import Any

import pytest

from spillway.aws import activities, clients, history
from tests.aws.account import HOME, open_account
from tests.aws.answers import NOW, activity


class Region:
    """Activities of a region, the newest first, a hundred a page; `asked` keeps a request for each page that was read."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []

    def pages(self, _service: str, _region: str, operation: str, **request: Any) -> Iterator[dict[str, Any]]:
        assert operation == "describe_scaling_activities"
        group, ids = request.get("AutoScalingGroupName"), request.get("ActivityIds")
        found = [
            one
            for one in self.told
            if group in (None, one["AutoScalingGroupName"]) and (ids is None or one["ActivityId"] in ids)
        ]
        for start in range(0, max(1, len(found)), 100):
            self.asked.append(request)
            more = {"NextToken": str(start + 100)} if start + 100 < len(found) else {}
            yield {"Activities": found[start : start + 100], **more}


@pytest.fixture
def region(monkeypatch: pytest.MonkeyPatch) -> Iterator[Region]:
    made = Region()
    with open_account():
        monkeypatch.setattr(clients, "pages", made.pages)
        yield made


def launched(group: str, age_s: float, name: str = "") -> dict[str, Any]:
    return activity(status="Successful", age_s=age_s, AutoScalingGroupName=group, ActivityId=name or f"{group}-{age_s}")


def many(count: int) -> dict[str, tuple[str, ...]]:
    return {f"g{number:02}": () for number in range(count)}


@pytest.mark.feature("FS-07")
def test_a_few_groups_are_asked_by_name(region: Region) -> None:
    region.told = [launched(name, 60) for name in many(8)] + [launched("another-clusters", 60)]

    assert activities.of_groups(HOME, many(8)) == region.told[:-1]

    assert sorted(request["AutoScalingGroupName"] for request in region.asked) == list(many(8))


@pytest.mark.feature("FS-07")
def test_many_groups_are_a_page_of_the_region_without_other_clusters_activities(region: Region) -> None:
    """Those of which it shows nothing have done nothing of late: it goes back to what no longer counts, or to the first."""
    region.told = [launched(f"g{number:02}", 60) for number in range(12)] + [launched("another-clusters", 60)]

    assert activities.of_groups(HOME, many(20)) == region.told[:-1]

    assert region.asked == [{}]


@pytest.mark.feature("FS-07")
def test_where_the_regions_pages_end_too_early_groups_that_they_do_not_show_are_asked_by_name(region: Region) -> None:
    busy = [launched("another-clusters", 60 + age) for age in range(1200)]
    region.told = [launched("g00", 30), *busy, launched("g01", 1800)]

    assert activities.of_groups(HOME, many(9)) == [region.told[0], region.told[-1]]

    assert region.asked[:10] == [{}] * 10
    by_name = sorted(request["AutoScalingGroupName"] for request in region.asked[10:])
    assert by_name == [name for name in many(9) if name != "g00"]


@pytest.mark.feature("FS-07")
def test_ids_of_many_groups_are_asked_for_together(region: Region) -> None:
    """Each is a launch that began before what still counts, and of which nobody has seen the end."""
    wanted = {name: (f"late-{name}",) for name in many(60)}
    late = [launched(name, 9 * 3600, ids[0]) for name, ids in wanted.items()]
    region.told = [launched("another-clusters", 60), *late]

    assert activities.of_groups(HOME, wanted) == late

    assert [len(request.get("ActivityIds", ())) for request in region.asked] == [0, 50, 10]


@pytest.mark.feature("FS-07")
def test_no_group_is_no_call(region: Region) -> None:
    assert activities.of_groups(HOME, {}) == []
    assert region.asked == []


@pytest.mark.feature("FS-07")
def test_a_refusal_of_hours_ago_tells_nothing_of_now_and_a_launch_that_began_then_is_still_on_its_way() -> None:
    """As a dump shows them, which may hold more than is asked for."""
    full = "We currently do not have sufficient m5.large capacity in the Availability Zone you requested (us-east-1a)."
    told = [activity(full, age_s=600), activity(full, age_s=3.1 * 3600), activity(status="InProgress", age_s=4 * 3600)]

    past = history.by_group(told, NOW)["g"]

    assert [failure.activity_id for failure in past.failures] == ["a-Failed-600"]
    assert past.launching_ids == ("a-InProgress-14400",)
