"""What a node says of its EC2 instance; which instance it is then, `planner.machines` finds out."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from spillway.kube.fields import NodeAddress
from spillway.model.cluster import Machine

# Zones: us-east-1a, us-gov-west-1a, Local Zones us-west-2-lax-1a, Wavelength us-east-1-wl1-bos-wlz-1.
# The region is what comes before: words, then the first number.
_REGION = re.compile(r"[a-z]+(?:-[a-z]+)+-[0-9]+")
_ZONE = re.compile(_REGION.pattern + r"(?:[a-z]|-[a-z0-9-]+)")
# What cloud-provider-aws takes (pkg/providers/v1/instances.go): aws:///<zone>/<instance>, aws:////<instance>, <instance>.
_PROVIDER_ID = re.compile(r"(?:aws://[^/]*/(?P<zone>[^/]*)/)?(?P<instance>i-[0-9a-zA-Z-]+)")
_ZONE_LABELS = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone", "aws/az")
_INSTANCE_LABELS = ("aws/id", "alpha.eksctl.io/instance-id")  # kube-aws's and eksctl's
_NAMES = ("InternalDNS", "Hostname")  # types of addresses


class Identity(NamedTuple):
    """`dns_names` are those that its instance may bear, of a node that tells no machine by itself."""

    machine: Machine | None
    dns_names: tuple[str, ...] = ()


def identity_of(name: str, provider_id: str, labels: Mapping[str, str], addresses: Iterable[NodeAddress]) -> Identity:
    machine = machine_of(provider_id, labels)
    if machine is not None or provider_id:
        return Identity(machine)
    return Identity(None, tuple(sorted({name, *(one.address for one in addresses if one.type in _NAMES and one.address)})))


def region_of(zone: str) -> str:
    """The region of any zone, "" when `zone` is no AWS zone."""
    if not _ZONE.fullmatch(zone):
        return ""
    match = _REGION.match(zone)
    return match.group() if match else ""


def machine_of(provider_id: str, labels: Mapping[str, str]) -> Machine | None:
    """None for what is no EC2 instance: other clouds, Fargate, hybrid and physical nodes; and where the zone is missing.

    A node without a provider id may name its instance by a label.
    """
    match = _PROVIDER_ID.fullmatch(provider_id)
    if match:
        zone, instance = match["zone"] or "", match["instance"]
    elif provider_id:
        return None
    else:
        zone, instance = "", next((labels[key] for key in _INSTANCE_LABELS if labels.get(key, "").startswith("i-")), "")
    zone = zone or next((labels[key] for key in _ZONE_LABELS if labels.get(key)), "")
    region = region_of(zone)
    return Machine(region=region, zone=zone, instance_id=instance) if region and instance else None


def is_unclear(provider_id: str) -> bool:
    """It speaks of an EC2 instance; if `machine_of` finds none, it is wrong or incomplete."""
    return provider_id.startswith(("aws:", "i-")) and "/fargate-" not in provider_id
