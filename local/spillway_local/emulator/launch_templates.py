"""The latest or default versions of all launch templates, in pages. Stock moto gives the first of them and tells of no more."""

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.responses.launch_templates import LaunchTemplates

from spillway_local.emulator.patching import Patch

_PAGE = 200  # the most that a page of DescribeLaunchTemplateVersions holds


def listed_versions() -> Patch:
    """Of one template stock moto's answer stays as it is."""
    stock = LaunchTemplates.describe_launch_template_versions

    def describe_launch_template_versions(self: Any) -> ActionResult:
        if self._get_param("LaunchTemplateId") or self._get_param("LaunchTemplateName"):
            return stock(self)
        number = self._get_int_param
        size, start = number("MaxResults", _PAGE), number("NextToken", 0)
        self._get_int_param = lambda name, default=None: start + size + 1 if name == "MaxResults" else number(name, default)
        answer: Any = stock(self)
        found = answer.result["LaunchTemplateVersions"]
        token = str(start + size) if len(found) > start + size else None
        return ActionResult({"LaunchTemplateVersions": found[start : start + size], "NextToken": token})

    return Patch(LaunchTemplates, "describe_launch_template_versions", describe_launch_template_versions)
