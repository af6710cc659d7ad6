"""What bounds an account, answered from a dump: moto 5.2.5 has no EC2 quotas, no use of them in CloudWatch, no capacity
reservations, and nobody in its resource groups."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from moto.cloudwatch.models import CloudWatchBackend
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.core.responses import ActionResult
from moto.ec2.models import ec2_backends
from moto.ec2.responses import EC2Response
from moto.servicequotas.responses import ServiceQuotasResponse

from spillway.model.quotas import CODES, quota_code
from spillway_local.emulator.patching import Addition, Patch, added, patched
from spillway_local.emulator.sending import Answer, answered

PAGE = 100  # of ListServiceQuotas

Fleet = Mapping[str, Mapping[str, Any]]


def _quota(code: str) -> Mapping[str, Any]:
    dimensions = {"Class": code, "Resource": "vCPU", "Service": "EC2", "Type": "Resource"}
    metric = {"MetricNamespace": "AWS/Usage", "MetricName": "ResourceCount", "MetricDimensions": dimensions}
    return {"ServiceCode": "ec2", "QuotaCode": code, "QuotaName": f"vCPUs {code}", "Value": 1e6, "UsageMetric": metric}


_WIDE = [_quota(code) for code in sorted(CODES)]
"""Service Quotas lists every class of every account: these are of one that never meets them."""


@contextmanager
def ceilings(fleet: Fleet, vcpus: Mapping[str, int]) -> Iterator[None]:
    """`fleet` by region: Quotas, CapacityReservations, CapacityReservationGroups. What runs in moto uses up the quotas, which
    are far away in a region that names none."""

    def list_service_quotas(self: Any) -> str:
        request = json.loads(self.body)
        start = int(request.get("NextToken") or 0)
        found = list(_quotas(fleet, self.region)) if request["ServiceCode"] == "ec2" else []
        more = {"NextToken": str(start + PAGE)} if len(found) > start + PAGE else {}
        return json.dumps({"Quotas": found[start : start + PAGE], **more})

    def describe_capacity_reservations(self: Any) -> ActionResult:
        return ActionResult({"CapacityReservations": list(fleet.get(self.region, {}).get("CapacityReservations", ()))})

    operations = [
        Addition(ServiceQuotasResponse, "list_service_quotas", list_service_quotas),
        Addition(EC2Response, "describe_capacity_reservations", describe_capacity_reservations),
    ]
    with (
        added(operations),
        patched([Patch(CloudWatchBackend, "get_metric_data", _with_usage(fleet, vcpus))]),
        ExitStack() as stack,
    ):
        for region, answers in fleet.items():
            groups = _resource_groups(region, answers.get("CapacityReservationGroups", {}))
            stack.enter_context(answered("resource-groups", region, "ListGroupResources", groups))
        yield


def _quotas(fleet: Fleet, region: str) -> Iterable[Mapping[str, Any]]:
    found: Iterable[Mapping[str, Any]] = fleet.get(region, {}).get("Quotas", _WIDE)
    return found


def _resource_groups(region: str, members: Mapping[str, Iterable[str]]) -> Answer:
    """`members` are ids of capacity reservations by the group's ARN."""

    def answer(request: Mapping[str, Any]) -> Mapping[str, Any]:
        arns = [f"arn:aws:ec2:{region}:{DEFAULT_ACCOUNT_ID}:capacity-reservation/{one}" for one in members[request["Group"]]]
        named = [{"ResourceArn": arn, "ResourceType": "AWS::EC2::CapacityReservation"} for arn in arns]
        return {"ResourceIdentifiers": named, "Resources": [{"Identifier": one} for one in named]}

    return answer


def _with_usage(fleet: Fleet, vcpus: Mapping[str, int]) -> Any:
    """GetMetricData that knows the metrics which Service Quotas names; stock moto answers the others."""
    stock = CloudWatchBackend.get_metric_data

    def get_metric_data(self: Any, queries: Any, start_time: Any, end_time: Any, *args: Any, **options: Any) -> Any:
        codes = {_dimensions(one): one["QuotaCode"] for one in _quotas(fleet, self.region_name)}
        used = _vcpus_in_use(self.account_id, self.region_name, vcpus)
        found = stock(self, queries, start_time, end_time, *args, **options)
        for query, result in zip(queries, found, strict=True):
            code = codes.get(_asked(query))
            if code in CODES:
                result |= {"values": [float(used.get(code, 0))], "timestamps": [end_time]}
        return found

    return get_metric_data


def _dimensions(quota: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    return frozenset(quota.get("UsageMetric", {}).get("MetricDimensions", {}).items())


def _asked(query: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    metric = query.get("MetricStat", {}).get("Metric", {})
    return frozenset((one["Name"], one["Value"]) for one in metric.get("Dimensions", ()))


def _vcpus_in_use(account: str, region: str, vcpus: Mapping[str, int]) -> dict[str, int]:
    """By quota code, of what is pending or running."""
    found: dict[str, int] = {}
    for machine in ec2_backends[account][region].all_instances():
        if machine.state in ("pending", "running"):
            code = quota_code(machine.instance_type, machine.lifecycle == "spot")
            found[code] = found.get(code, 0) + vcpus.get(machine.instance_type, 0)
    return found
