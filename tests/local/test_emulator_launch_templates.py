"""DescribeLaunchTemplateVersions without a template: AWS pages what stock moto cuts off."""

from collections.abc import Iterator

import pytest

from spillway.aws import clients
from spillway_local.emulator.launch_templates import listed_versions
from spillway_local.emulator.patching import patched
from tests.aws.account import HOME, open_account


@pytest.fixture
def templates() -> Iterator[int]:
    """Five of them, the first with a second version, which is not its default."""
    with open_account(), patched([listed_versions()]):
        ec2 = clients.client("ec2", HOME)
        for number in range(5):
            data = {"InstanceType": "m5.large", "ImageId": "ami-12c6146b"}
            ec2.create_launch_template(LaunchTemplateName=f"nodes-{number}", LaunchTemplateData=data)
        ec2.create_launch_template_version(LaunchTemplateName="nodes-0", LaunchTemplateData={"InstanceType": "c5.large"})
        yield 5


@pytest.mark.parametrize(("alias", "first"), [("$Latest", 2), ("$Default", 1)])
def test_all_templates_versions_come_in_pages(templates: int, alias: str, first: int) -> None:
    asked = clients.client("ec2", HOME).get_paginator("describe_launch_template_versions")

    pages = [page["LaunchTemplateVersions"] for page in asked.paginate(Versions=[alias], MaxResults=2)]

    assert [len(page) for page in pages] == [2, 2, 1]
    found = [version for page in pages for version in page]
    assert [version["LaunchTemplateName"] for version in found] == [f"nodes-{number}" for number in range(templates)]
    assert [version["VersionNumber"] for version in found] == [first, 1, 1, 1, 1]


def test_one_templates_versions_are_as_before(templates: int) -> None:
    answer = clients.client("ec2", HOME).describe_launch_template_versions(LaunchTemplateName="nodes-0")

    assert [version["VersionNumber"] for version in answer["LaunchTemplateVersions"]] == [1, 2]
