"""EC2's vCPU quotas, asked: their values from Service Quotas, their use from CloudWatch."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from spillway import clock
from spillway.aws import clients
from spillway.aws.ceilings import metric_id
from spillway.aws.memo import Memo
from spillway.model.quotas import CODES, quota_code

_LOOK_BACK = timedelta(minutes=30)  # CloudWatch has a point every few minutes; an older one says nothing of now
_PERIOD_S = 60  # so that a point's time is that of its count, not the start of a long period around it

# A quota is raised by hand, some days after somebody asked. Its use moves all the time: a launch of ours that is younger than
# the figure is added to it, so what an old one misses is what others did.
_quotas: Memo[str, list[Mapping[str, Any]]] = Memo(timedelta(hours=1))
_usage: Memo[tuple[str, str], Mapping[str, Any]] = Memo(timedelta(minutes=5))


def vcpu_quotas(region: str) -> list[Mapping[str, Any]]:
    """ServiceQuota items of the classes that instances count against. Raises AwsForbidden or AwsUnavailable."""

    def fetch(_: list[str]) -> dict[str, list[Mapping[str, Any]]]:
        pages = clients.pages("service-quotas", region, "list_service_quotas", ServiceCode="ec2")
        return {region: [item for page in pages for item in page["Quotas"] if item.get("QuotaCode") in CODES]}

    return _quotas.get([region], fetch)[region]


def usage(region: str, quotas: Iterable[Mapping[str, Any]], types: Iterable[str], spot: bool) -> list[Mapping[str, Any]]:
    """MetricDataResults of those quotas that launches of the types count against, also of spot ones where `spot`.

    All in one call. Raises AwsForbidden or AwsUnavailable.
    """
    markets = (False, True) if spot else (False,)
    wanted = {quota_code(name, market) for name in types for market in markets}
    metrics = {one["QuotaCode"]: one["UsageMetric"] for one in quotas if one["QuotaCode"] in wanted and _has_metric(one)}

    def fetch(keys: list[tuple[str, str]]) -> dict[tuple[str, str], Mapping[str, Any]]:
        queries = [_query(code, metrics[code]) for _, code in keys]
        now = clock.utcnow()
        request = {"MetricDataQueries": queries, "StartTime": now - _LOOK_BACK, "EndTime": now}
        pages = clients.pages("cloudwatch", region, "get_metric_data", **request)
        return _by_code(region, [code for _, code in keys], [item for page in pages for item in page["MetricDataResults"]])

    return list(_usage.get([(region, code) for code in sorted(metrics)], fetch).values())


def _has_metric(quota: Mapping[str, Any]) -> bool:
    """Service Quotas names none of some, whose use is then unknown."""
    return all(quota.get("UsageMetric", {}).get(member) for member in ("MetricNamespace", "MetricName", "MetricDimensions"))


def _query(code: str, metric: Mapping[str, Any]) -> dict[str, Any]:
    dimensions = [{"Name": name, "Value": value} for name, value in sorted(metric["MetricDimensions"].items())]
    named = {"Namespace": metric["MetricNamespace"], "MetricName": metric["MetricName"], "Dimensions": dimensions}
    statistic = metric.get("MetricStatisticRecommendation", "Maximum")
    return {"Id": metric_id(code), "MetricStat": {"Metric": named, "Period": _PERIOD_S, "Stat": statistic}}


def _by_code(region: str, codes: Sequence[str], items: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """One item a code, also where its points came on several pages."""
    found: dict[str, dict[str, Any]] = {}
    for item in items:
        known = found.setdefault(item["Id"], {**item, "Timestamps": [], "Values": []})
        known["Timestamps"] += item["Timestamps"]
        known["Values"] += item["Values"]
    return {(region, code): found[metric_id(code)] for code in codes if metric_id(code) in found}
