"""A plan that drains 1,000 empty nodes of 200 groups and lowers 200 others, carried out by the real workflow and handlers.

The account, the table and the API server are the emulated ones, in this process. `value` are the virtual seconds from the first
plan to the last node's end: what Auto Scaling, EC2 and the workflow's own waiting take. States, events and calls are counted;
prices are AWS's list prices in us-east-1 (Step Functions' standard workflows by state transition, Lambda by request).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from time import process_time
from typing import Any

from bench.check import Wrong
from bench.figure import Figure
from spillway.aws import clients
from spillway.aws.groups import discovery_tags
from spillway_local.emulator.launches import Timing
from spillway_local.world import World
from spillway_local.world_dump import RawDump

NODES, GROUPS = 1_000, 200
EVENTS_MOST = 25_000  # of one execution
USD_A_TRANSITION, USD_A_REQUEST = 25e-6, 0.2e-6
_CLUSTER, _HOME, _NOW = "large", "us-east-1", datetime(2026, 1, 1, tzinfo=UTC)
_TYPE, _SOLD_OUT = "m5.large", "m5.2xlarge"
_LIMIT_S = 6 * 3600
Object = dict[str, Any]


def drain(nodes: int = NODES, groups: int = GROUPS) -> Iterator[Figure]:
    """Raises Wrong when anything is left."""
    began = process_time()
    with World(_cluster(nodes, groups), timing=Timing(retry_s=600), capacity={(_HOME, _SOLD_OUT): 0}) as world:
        world.run(until=lambda: bool(world.plans()), limit_s=600)
        (plan,) = world.plans()
        if (len(plan.scale_in), len(plan.give_back)) != (nodes, groups):
            raise Wrong(f"the plan drains {len(plan.scale_in)} nodes and lowers {len(plan.give_back)} groups")
        start = world.clock.now()
        world.run(until=lambda: not world.desired() and not world.machines() and world.is_idle(), limit_s=_LIMIT_S)
        took_s = (world.clock.now() - start).total_seconds()
        if world.cluster.objects("Node"):
            raise Wrong("nodes are left")
        histories = [_history(item["executionArn"]) for item in world.executions()]
        if bad := [item["name"] for item in world.executions() if item["status"] != "SUCCEEDED"]:
            raise Wrong(f"executions did not succeed: {', '.join(bad)}")
        calls = Counter(call.what.partition(".")[0] for call in world.aws.functions.wire.made)
        requests = sum(world.aws.functions.calls.values())
    states = sum(kinds["states"] for kinds in histories)
    yield {
        "figure": f"drain_{nodes}", "value": round(took_s), "unit": "s", "goal": None, "nodes": nodes, "groups_lowered": groups,
        "executions": len(histories), "states": states, "events": sum(kinds["events"] for kinds in histories),
        "events_most": max(kinds["events"] for kinds in histories), "events_limit": EVENTS_MOST,
        "input_most_kb": round(max(kinds["input"] for kinds in histories) / 1024, 1),
        "invocations": requests, "calls": dict(sorted(calls.items())),
        "usd_states": round(states * USD_A_TRANSITION, 2), "usd_invocations": round(requests * USD_A_REQUEST, 4),
        "cpu_s": round(process_time() - began), "checked": True,
    }  # fmt: skip


def _history(arn: str) -> Counter[str]:
    """How many events and states an execution had, and how many bytes its input."""
    client = clients.client("stepfunctions", _HOME)
    found = Counter(input=len(client.describe_execution(executionArn=arn)["input"]))
    for page in client.get_paginator("get_execution_history").paginate(executionArn=arn):
        found["events"] += len(page["events"])
        found["states"] += sum(event["type"].endswith("StateEntered") for event in page["events"])
    return found


def _cluster(nodes: int, groups: int) -> RawDump:
    """Empty nodes, evenly in the groups; beside them as many groups that want an instance of a type that is sold out."""
    members: dict[str, list[str]] = {f"idle-{number}": [] for number in range(groups)}
    for number in range(nodes):
        members[f"idle-{number % groups}"].append(f"i-{number:017x}")
    described = [_group(name, _TYPE, ids, len(ids)) for name, ids in members.items()]
    described += [_group(f"dry-{number}", _SOLD_OUT, [], 1) for number in range(groups)]
    answers = {
        "AutoScalingGroups": described,
        "LaunchTemplateVersions": [_version(_TYPE), _version(_SOLD_OUT)],
        "OnDemandPrices": {_TYPE: 0.096, _SOLD_OUT: 0.384},
    }
    policy = {
        "may_be_empty": True,
        "scale_in": {"idle_s": 30, "budgets": [{"nodes": "100%"}]},
        "scale_out": {"backoff": {"first_s": 1800}},
    }
    objects = tuple(_node(instance) for ids in members.values() for instance in ids)
    return RawDump(_CLUSTER, _HOME, _NOW, objects, {_HOME: answers}, policy)


def _group(name: str, instance_type: str, members: list[str], desired: int) -> Object:
    zone = f"{_HOME}a"
    return {
        "AutoScalingGroupName": name, "MinSize": 0, "MaxSize": 50, "DesiredCapacity": desired, "AvailabilityZones": [zone],
        "LaunchTemplate": {"LaunchTemplateName": instance_type, "Version": "1"},
        "Instances": [
            {"InstanceId": one, "InstanceType": instance_type, "AvailabilityZone": zone, "LifecycleState": "InService"}
            for one in members
        ],
        "Tags": [{"Key": key, "Value": "owned", "PropagateAtLaunch": True} for key in discovery_tags(_CLUSTER)],
    }  # fmt: skip


def _version(instance_type: str) -> Mapping[str, Any]:
    return {
        "LaunchTemplateName": instance_type, "LaunchTemplateId": f"lt-{instance_type}", "VersionNumber": 1,
        "DefaultVersion": True, "LaunchTemplateData": {"InstanceType": instance_type},
    }  # fmt: skip


def _node(instance: str) -> Object:
    amounts = {"cpu": "1900m", "memory": "7Gi", "pods": "29"}
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": f"{instance}.{_HOME}.compute.internal", "creationTimestamp": "2025-12-01T00:00:00Z"},
        "spec": {"providerID": f"aws:///{_HOME}a/{instance}"},
        "status": {
            "allocatable": amounts, "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2025-12-01T00:01:00Z"}],
        },
    }  # fmt: skip
