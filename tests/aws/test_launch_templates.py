"""Launch template versions: what the groups name, in as few calls as it takes."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from spillway.aws import clients, fleet, launch_templates
from spillway.aws.launch_templates import DEFAULT, LATEST
from spillway.aws.partial import Partial
from spillway.errors import AwsForbidden
from tests.aws.account import HOME, Account, open_account
from tests.aws.answers import CLUSTER, NOW, group, reference, region, version

Templates = dict[str, list[dict[str, Any]]]


class Ec2:
    """Templates of a region, each with its versions, the oldest first; `asked` keeps the calls."""

    def __init__(self) -> None:
        self.templates: Templates = {}
        self.asked: list[dict[str, Any]] = []
        self.denied = False
        self.throttled = ""

    def add(self, *names: str, versions: int = 1, default: int = 1) -> None:
        for name in names:
            self.templates[f"lt-{name}"] = [
                version(name, number=number, default=number == default) for number in range(1, versions + 1)
            ]

    def pages(self, _service: str, _region: str, _operation: str, **request: Any) -> Iterator[dict[str, Any]]:
        (alias,), size = request["Versions"], request["MaxResults"]
        rows = [self._of(versions, alias) for versions in self.templates.values()]
        for start in range(0, len(rows), size):
            self.asked.append(request)
            yield {"LaunchTemplateVersions": rows[start : start + size]}

    def ask(self, _service: str, region: str, operation: str, **request: Any) -> dict[str, Any]:
        self.asked.append(request)
        action = clients.action_of("ec2", region, operation)
        with clients.asking(region, action):
            if self.denied:
                raise ClientError({"Error": {"Code": "UnauthorizedOperation", "Message": "no"}}, operation)
            if request["Versions"] == [self.throttled]:
                raise ClientError({"Error": {"Code": "RequestLimitExceeded", "Message": "slower"}}, operation)
            if request["LaunchTemplateId"] not in self.templates:
                raise ClientError({"Error": {"Code": "InvalidLaunchTemplateId.NotFound", "Message": "gone"}}, operation)
            (wanted,) = request["Versions"]
            return {"LaunchTemplateVersions": [self._of(self.templates[request["LaunchTemplateId"]], wanted)]}

    @staticmethod
    def _of(versions: list[dict[str, Any]], wanted: str) -> dict[str, Any]:
        if wanted == LATEST:
            return versions[-1]
        if wanted == DEFAULT:
            return next(one for one in versions if one["DefaultVersion"])
        return next(one for one in versions if str(one["VersionNumber"]) == wanted)


@pytest.fixture
def account() -> Iterator[Account]:
    with open_account() as opened:
        yield opened


@pytest.fixture
def ec2(account: Account, monkeypatch: pytest.MonkeyPatch) -> Ec2:
    made = Ec2()
    monkeypatch.setattr(clients, "pages", made.pages)
    monkeypatch.setattr(clients, "ask", made.ask)
    return made


def groups_of(number: str, *names: str) -> list[dict[str, Any]]:
    return [
        {"LaunchTemplate": {"LaunchTemplateId": f"lt-{name}", "LaunchTemplateName": name, "Version": number}} for name in names
    ]


def many(count: int) -> list[str]:
    return [f"nodes-{number:03}" for number in range(count)]


@pytest.mark.feature("FS-02")
@pytest.mark.parametrize("wanted", [LATEST, DEFAULT])
def test_four_hundred_templates_are_two_pages_of_a_listing(ec2: Ec2, wanted: str) -> None:
    ec2.add(*many(400), versions=3, default=2)

    found = launch_templates.versions(HOME, groups_of(wanted, *many(400)))

    assert ec2.asked == [{"Versions": [wanted], "MaxResults": 200}] * 2
    assert {one["LaunchTemplateName"] for one in found} == {f"{name}-nodes" for name in many(400)}
    assert {one["VersionNumber"] for one in found} == {3 if wanted == LATEST else 2}


@pytest.mark.feature("FS-02")
def test_a_number_that_is_the_latest_ones_is_in_the_listing_and_an_older_one_is_asked_for(ec2: Ec2) -> None:
    ec2.add(*many(20))
    ec2.add("old", versions=2)

    found = launch_templates.versions(HOME, groups_of("1", *many(20), "old"))

    assert ec2.asked == [{"Versions": [LATEST], "MaxResults": 200}, {"LaunchTemplateId": "lt-old", "Versions": ["1"]}]
    assert {one["VersionNumber"] for one in found} == {1}
    assert len(found) == 21


@pytest.mark.feature("FS-02")
def test_a_few_templates_are_asked_for_one_by_one(ec2: Ec2) -> None:
    """An account may have thousands of others, which a listing would show first."""
    ec2.add(*many(1000))

    assert len(launch_templates.versions(HOME, groups_of(LATEST, *many(8)))) == 8

    assert len(ec2.asked) == 8
    assert all("LaunchTemplateId" in request for request in ec2.asked)


@pytest.mark.feature("FS-02")
def test_a_listing_of_other_clusters_templates_is_left_before_it_takes_longer_than_asking(ec2: Ec2) -> None:
    ec2.add(*many(5000))
    mine = many(5000)[-20:]

    assert len(launch_templates.versions(HOME, groups_of(LATEST, *mine))) == 20

    assert len([request for request in ec2.asked if "MaxResults" in request]) == 2
    assert len([request for request in ec2.asked if "LaunchTemplateId" in request]) == 20


@pytest.mark.feature("FS-02")
@pytest.mark.parametrize("count", [2, 20])
def test_a_template_that_is_gone_is_left_out(ec2: Ec2, count: int) -> None:
    ec2.add(*many(count))

    assert len(launch_templates.versions(HOME, groups_of(LATEST, *many(count), "gone"))) == count


def test_a_permission_that_is_missing_is_told(ec2: Ec2) -> None:
    ec2.add("nodes")
    ec2.denied = True

    with pytest.raises(AwsForbidden, match="ec2:DescribeLaunchTemplateVersions"):
        launch_templates.versions(HOME, groups_of(LATEST, "nodes"))


@pytest.mark.feature("FS-02")
def test_a_numbered_version_is_asked_once_and_an_alias_every_five_minutes(account: Account, ec2: Ec2) -> None:
    ec2.add("nodes")
    wanted = groups_of("1", "nodes") + groups_of(LATEST, "nodes")

    for wait in (0, 299, 1):
        account.pass_s(wait)
        assert len(launch_templates.versions(HOME, wanted)) == 2

    assert sorted(request["Versions"] for request in ec2.asked) == [["$Latest"], ["$Latest"], ["1"]]


@pytest.mark.feature("FS-02")
def test_a_number_that_was_the_default_once_is_not_taken_for_it_later(account: Account, ec2: Ec2) -> None:
    ec2.add("nodes", versions=2, default=1)
    wanted = groups_of("1", "nodes") + groups_of(DEFAULT, "nodes")
    launch_templates.versions(HOME, wanted)
    ec2.add("nodes", versions=2, default=2)
    account.pass_s(300)

    found = launch_templates.versions(HOME, wanted)

    assert [(one["VersionNumber"], one["DefaultVersion"]) for one in found] == [(1, False), (2, True)]


@pytest.mark.feature("FS-02")
@pytest.mark.parametrize("alias", [LATEST, DEFAULT])
def test_what_an_alias_stood_for_is_forgotten_when_its_template_is_gone(ec2: Ec2, account: Account, alias: str) -> None:
    ec2.add("nodes")
    assert len(launch_templates.versions(HOME, groups_of(alias, "nodes"))) == 1
    ec2.templates.clear()
    account.pass_s(300)

    assert launch_templates.versions(HOME, groups_of(alias, "nodes")) == []
    ec2.throttled = alias
    asked_again = launch_templates.versions(HOME, groups_of(alias, "nodes"))
    assert isinstance(asked_again, Partial)
    assert asked_again.value == []


@pytest.mark.feature("FS-02")
def test_what_is_throttled_is_named_with_its_cause_and_what_is_gone_is_left_out(ec2: Ec2) -> None:
    ec2.add("nodes", versions=2)
    ec2.throttled = LATEST

    found = launch_templates.versions(HOME, groups_of("1", "nodes") + groups_of(LATEST, "nodes") + groups_of("1", "gone"))

    assert isinstance(found, Partial)
    assert [one["VersionNumber"] for one in found.value] == [1]
    assert {name: str(error) for name, error in found.missing.items()} == {
        "lt-nodes:$Latest": "region us-east-1: ec2:DescribeLaunchTemplateVersions failed: RequestLimitExceeded: slower. "
        "It is tried again at the next tick"
    }


@pytest.mark.feature("FS-02")
@pytest.mark.parametrize("is_gone", [True, False], ids=["gone", "throttled"])
def test_a_latest_version_that_is_not_known_is_never_an_older_number_that_is(ec2: Ec2, is_gone: bool) -> None:
    ec2.add("nodes", versions=2)
    ec2.throttled = "" if is_gone else LATEST
    items = [group("one", LaunchTemplate=reference("nodes", "1")), group("new", LaunchTemplate=reference("nodes", LATEST))]
    if is_gone:
        launch_templates.versions(HOME, items[:1])  # a number is kept for as long as the process lives
        ec2.templates.clear()

    answers = region(LaunchTemplateVersions=launch_templates.versions(HOME, items), AutoScalingGroups=items)
    new, one = fleet.reduce(CLUSTER, HOME, NOW, {HOME: answers}).groups

    assert (one.problem, new.template) == ("", None)
    why = "DescribeLaunchTemplateVersions does not list it" if is_gone else "RequestLimitExceeded: slower"
    assert new.problem.startswith("launch template nodes-nodes version $Latest cannot be read: ")
    assert why in new.problem
