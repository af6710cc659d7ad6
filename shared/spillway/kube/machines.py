"""From a node's provider id to its EC2 instance."""

import re
from collections.abc import Mapping

from spillway.model.cluster import Machine

# Zones: us-east-1a, us-gov-west-1a, Local Zones us-west-2-lax-1a, Wavelength us-east-1-wl1-bos-wlz-1.
# The region is what comes before: words, then the first number.
_REGION = re.compile(r"[a-z]+(?:-[a-z]+)+-[0-9]+")
_PROVIDER_ID = re.compile(r"aws://[^/]*/(?P<zone>[a-z0-9-]+)/(?P<instance>i-[^/]+)")


def region_of(zone: str) -> str:
    """The region of any zone, "" when `zone` is no AWS zone."""
    match = _REGION.match(zone)
    return match.group() if match else ""


def machine_of(provider_id: str, labels: Mapping[str, str]) -> Machine | None:
    """None for what is no EC2 instance: other clouds, Fargate, hybrid and physical nodes.

    A node without a provider id may name its instance by the labels `aws/id` and `aws/az`, as kube-aws did.
    """
    match = _PROVIDER_ID.fullmatch(provider_id)
    if match:
        zone, instance = match["zone"], match["instance"]
    elif not provider_id and labels.get("aws/id", "").startswith("i-"):
        zone, instance = labels.get("aws/az", ""), labels["aws/id"]
    else:
        return None
    region = region_of(zone)
    return Machine(region=region, zone=zone, instance_id=instance) if region else None
