"""A mocked AWS account: the table, groups whose launches take time or are refused, a state machine that runs nothing,
and a clock that stands still until a test moves it."""

import importlib
import itertools
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from moto import mock_aws

from spillway import clock as product_clock
from spillway.aws import clients
from spillway.aws.table import Table, outcomes, plans, requests, settings, snapshots, waits
from spillway.env import env
from spillway.model.fleet import FleetSnapshot, NodeGroup
from spillway.model.plan import Fallback, GiveBack, Plan, ScaleIn, ScaleOut, Summary, Why
from spillway.model.reason import Code, Reason
from spillway_local.clock import VirtualClock
from spillway_local.emulator.autoscaling import autoscaling
from spillway_local.emulator.launches import Launches, Timing
from spillway_local.emulator.locks import one_call_at_a_time
from spillway_local.emulator.patching import patched

HOME, WEST = "us-east-1", "us-west-2"
CLUSTER, TABLE = "prod", "spillway"
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
BOOT_S, REFUSE_S = 45, 4
WHY = Reason(code=Code.UNSCHEDULABLE_PODS, text="2 pods need a node")
MACHINE_ARN = "arn:aws:states:us-east-1:123456789012:stateMachine:execute-plan"
ENVIRONMENT = {
    "SPILLWAY_CLUSTER": CLUSTER, "SPILLWAY_HOME_REGION": HOME, "SPILLWAY_REGIONS": f"{HOME},{WEST}", "SPILLWAY_TABLE": TABLE,
    "SPILLWAY_STATE_MACHINE_ARN": MACHINE_ARN, "AWS_DEFAULT_REGION": HOME, "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing", "AWS_EC2_METADATA_DISABLED": "true",
}  # fmt: skip


@dataclass
class Clock:
    virtual: VirtualClock = field(default_factory=lambda: VirtualClock(NOW))

    @property
    def now(self) -> datetime:
        return self.virtual.now()

    def pass_s(self, seconds: float) -> None:
        """Instances boot, refusals come and instances end meanwhile."""
        self.virtual.run(limit_s=seconds)


@dataclass
class World:
    table: Table
    clock: Clock
    launches: Launches
    _serial: Iterator[int] = field(default_factory=itertools.count)

    # Groups

    def group(self, name: str = "a", region: str = HOME, desired: int = 0, high: int = 10, low: int = 0, zones: int = 1) -> str:
        """A group of one instance type of its own, `t-<name>`, with its members in service."""
        template = f"{name}-{next(self._serial)}"
        clients.client("ec2", region).create_launch_template(
            LaunchTemplateName=template, LaunchTemplateData={"InstanceType": "m5.large", "ImageId": "ami-1"}
        )
        clients.client("autoscaling", region).create_auto_scaling_group(
            AutoScalingGroupName=name, MinSize=low, MaxSize=high, DesiredCapacity=desired,
            AvailabilityZones=[f"{region}{letter}" for letter in "abc"[:zones]],
            LaunchTemplate={"LaunchTemplateName": template, "Version": "$Latest"},
        )  # fmt: skip
        if desired:
            self.clock.pass_s(BOOT_S + 1)
        return name

    def capacity(self, region: str, machines: int, zone: str = "") -> None:
        """What EC2 still gives out in a region, or a zone of it."""
        pool = (region, "m5.large", f"{region}{zone}") if zone else (region, "m5.large")
        self.launches.pools.capacity[pool] = machines

    def describe(self, name: str = "a", region: str = HOME) -> dict[str, Any]:
        answer = clients.client("autoscaling", region).describe_auto_scaling_groups(AutoScalingGroupNames=[name])
        found: dict[str, Any] = answer["AutoScalingGroups"][0]
        return found

    def desired(self, name: str = "a", region: str = HOME) -> int:
        return int(self.describe(name, region)["DesiredCapacity"])

    def members(self, name: str = "a", region: str = HOME) -> list[str]:
        return [item["InstanceId"] for item in self.describe(name, region)["Instances"]]

    def set_desired(self, desired: int, name: str = "a", region: str = HOME) -> None:
        """By somebody else."""
        clients.client("autoscaling", region).set_desired_capacity(AutoScalingGroupName=name, DesiredCapacity=desired)

    def fleet(self, *names: tuple[str, str]) -> None:
        """A fleet snapshot that knows these (region, group)."""
        found = tuple(
            NodeGroup(region=region, name=name, min_size=0, max_size=10, desired=0, zones=(f"{region}a",))
            for region, name in sorted(names)
        )
        snapshots.store_fleet(
            self.table, FleetSnapshot(cluster=CLUSTER, home_region=HOME, taken_at=self.clock.now, groups=found)
        )

    # Plans

    def plan(self, *steps: ScaleOut | ScaleIn | GiveBack, plan_id: str = "p1") -> Plan:
        """Stores a plan of these steps, made now."""
        made = Plan(
            plan_id=plan_id,
            cluster=CLUSTER,
            created_at=self.clock.now,
            policy_version="0",
            snapshots=("c1", "f1"),
            summary=Summary(),
            scale_out=tuple(step for step in steps if isinstance(step, ScaleOut)),
            scale_in=tuple(step for step in steps if isinstance(step, ScaleIn)),
            give_back=tuple(step for step in steps if isinstance(step, GiveBack)),
        )
        plans.put(self.table, made)
        return made

    def policy(self, **fields: Any) -> None:
        settings.put_policy(self.table, fields, by="test")

    def requests(self, plan_id: str = "p1") -> list[tuple[str, str, int, int]]:
        """(id, state, nodes, missing)"""
        found = requests.of_plan(self.table, plan_id)
        return [(one.id, one.state.value, one.nodes, one.missing) for one in found]

    def outcomes(self, plan_id: str = "p1") -> list[tuple[int, int, str]]:
        """(step, hop, status)"""
        return [(one.step, one.hop, one.status.value) for one in outcomes.of_plan(self.table, plan_id)]

    def news(self, region: str = HOME) -> int:
        return waits.news(self.table, region)

    # Functions

    def call(self, function: str, **event: Any) -> Any:
        """The handler's answer to a task of plan p1, through JSON, as Lambda and the workflow hand it on."""
        given = {"cluster": CLUSTER, "plan_id": "p1", **event}
        return json.loads(json.dumps(self.handle(function, given)))

    def handle(self, function: str, event: Mapping[str, Any]) -> Any:
        return importlib.import_module(f"functions.{function}.app").handler(json.loads(json.dumps(event)), None)


def grow(number: int = 1, group: str = "a", region: str = HOME, **fields: Any) -> ScaleOut:
    """From 1 to 3, unless told otherwise."""
    given = {"from_desired": 1, "to_desired": 3, **fields}
    nodes = given["to_desired"] - given["from_desired"]
    return ScaleOut(**{"step": number, "region": region, "group": group, "nodes": nodes, "reason": WHY, **given})


def fall(region: str, group: str, nodes: int = 2) -> Fallback:
    return Fallback(region=region, group=group, nodes=nodes)


def leave(number: int, instance_id: str, group: str = "a", node: str = "n1", why: Why = Why.EMPTY) -> ScaleIn:
    return ScaleIn(
        step=number, region=HOME, group=group, node=node, instance_id=instance_id, why=why, deadline_s=3600, reason=WHY
    )


def lower(number: int, start: int, end: int, group: str = "a") -> GiveBack:
    return GiveBack(step=number, region=HOME, group=group, from_desired=start, to_desired=end, reason=WHY)


@contextmanager
def open_world() -> Iterator[World]:
    now = Clock()
    launches = Launches(now.virtual, timing=Timing(boot_s=BOOT_S, refuse_s=REFUSE_S, retry_s=60, end_s=30))
    with pytest.MonkeyPatch.context() as patch, mock_aws(config={"core": {"reset_boto3_session": False}}):
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        patch.setattr(product_clock, "utcnow", lambda: now.now)
        env.cache_clear()
        clients.client("dynamodb", HOME).create_table(
            TableName=TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        )
        clients.client("stepfunctions", HOME).create_state_machine(
            name="execute-plan", definition='{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}',
            roleArn="arn:aws:iam::123456789012:role/execute-plan",
        )  # fmt: skip
        with patched(one_call_at_a_time(launches.lock)), autoscaling(launches):
            yield World(Table(TABLE, CLUSTER), now, launches)
    env.cache_clear()
