"""An AWS account on a laptop: the stack of template.yaml in its home region, groups in every region, our own handlers."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from moto import mock_aws
from moto.core.models import DEFAULT_ACCOUNT_ID

from spillway.aws import clients, memo
from spillway_local.clock import VirtualClock
from spillway_local.emulator import fleets
from spillway_local.emulator.autoscaling import autoscaling
from spillway_local.emulator.ceilings import ceilings
from spillway_local.emulator.functions import Functions
from spillway_local.emulator.goings_on import goings_on
from spillway_local.emulator.instance_types import further_types, vcpus
from spillway_local.emulator.instances import short_instances
from spillway_local.emulator.launch_templates import listed_versions
from spillway_local.emulator.launches import Launches, Timing
from spillway_local.emulator.locks import one_call_at_a_time
from spillway_local.emulator.patching import added, patched
from spillway_local.emulator.patterns import matches
from spillway_local.emulator.pools import Pool, Pools
from spillway_local.emulator.prices import price_list
from spillway_local.emulator.queries import narrow_queries
from spillway_local.emulator.requirements import instance_requirements
from spillway_local.emulator.sooner import sooner
from spillway_local.emulator.sources import Minutes, Queue, Stream
from spillway_local.emulator.stepfunctions import interpreter
from spillway_local.emulator.template import Template
from spillway_local.handlers import Handlers

TABLE = "spillway"
MACHINE = "execute-plan"
_CONFIG = {
    "core": {"reset_boto3_session": False},
    "stepfunctions": {"execute_state_machine": True},
    "lambda": {"use_docker": False},
}


@dataclass
class Aws:
    """`fleet` is AWS's answers by region, as a dump has them; the rest has sensible defaults."""

    clock: VirtualClock
    home: str
    fleet: Mapping[str, Mapping[str, Any]]
    template: Template = field(default_factory=Template)
    timing: Timing = field(default_factory=Timing)
    capacity: Mapping[Pool, int] = field(default_factory=dict)
    quota_vcpus: Mapping[str, int] = field(default_factory=dict)
    seed: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        types = fleets.types_of(self.fleet.values())
        used = {item["InstanceType"] for item in types}
        pools = Pools(dict(self.capacity), dict(self.quota_vcpus), vcpus(types, used))
        self.functions = Functions(Handlers(), busy=self.clock.busy)
        self.launches = Launches(self.clock, pools, self.timing, emit=self.emit)
        self.stream = Stream(self.clock, self.functions, self.template.stream)
        self.queue = Queue(self.clock, self.functions, self.template.queue)
        self.minutes = Minutes(self.clock, self.functions, self.template.schedules)
        self.state_machine_arn = ""

    @contextmanager
    def open(self) -> Iterator["Aws"]:
        """The account lives inside; credentials and region are in the environment already."""
        memo.clear()
        types = further_types(fleets.types_of(self.fleet.values()))
        with ExitStack() as stack:
            stack.enter_context(mock_aws(config=_CONFIG))  # type: ignore[call-overload]
            apis = [narrow_queries(), short_instances(), listed_versions(), types]
            stack.enter_context(patched([*one_call_at_a_time(self.launches.lock), *apis, *sooner()]))
            stack.enter_context(added([instance_requirements()]))
            stack.enter_context(autoscaling(self.launches))
            stack.enter_context(goings_on(self.fleet))
            stack.enter_context(self.stream.listening())
            stack.enter_context(self.functions.wire.open())
            stack.enter_context(interpreter(self.clock, self.functions, self.seed))
            stack.enter_context(price_list({region: of.get("OnDemandPrices", {}) for region, of in self.fleet.items()}))
            stack.enter_context(ceilings(self.fleet, self.launches.pools.vcpus))
            self._deploy()
            for region, answers in self.fleet.items():
                fleets.build(region, answers, self.launches)
            yield self

    def _deploy(self) -> None:
        dynamodb, workflow = clients.client("dynamodb", self.home), clients.client("stepfunctions", self.home)
        dynamodb.create_table(TableName=TABLE, **self.template.table)
        arns = {
            name: f"arn:aws:lambda:{self.home}:{DEFAULT_ACCOUNT_ID}:function:{name}:live"
            for name in self.template.functions.values()
        }
        machine = workflow.create_state_machine(
            name=MACHINE, definition=self.template.definition(arns), roleArn=f"arn:aws:iam::{DEFAULT_ACCOUNT_ID}:role/{MACHINE}"
        )
        self.state_machine_arn = machine["stateMachineArn"]

    def emit(self, region: str, source: str, kind: str, detail: dict[str, Any], resources: list[str]) -> None:
        """An EventBridge event of `region`; the rules of template.yaml decide whether it comes to the queue."""
        event = {
            "version": "0", "id": f"00000000-0000-0000-0000-{len(self.events) + 1:012x}", "detail-type": kind,
            "source": source, "account": DEFAULT_ACCOUNT_ID, "time": f"{self.clock.now():%Y-%m-%dT%H:%M:%SZ}",
            "region": region, "resources": resources, "detail": detail,
        }  # fmt: skip
        self.events.append(event)
        if any(matches(rule, event) for rule in self.template.rules):
            self.queue.send(json.dumps(event))

    def groups(self) -> dict[str, Any]:
        """moto's groups by `region/name`."""
        return {
            f"{region}/{item['AutoScalingGroupName']}": fleets.backend_group(region, item["AutoScalingGroupName"])
            for region, answers in self.fleet.items()
            for item in answers.get("AutoScalingGroups", ())
        }

    def executions(self) -> list[dict[str, Any]]:
        """All executions of the workflow, the oldest first."""
        pages = clients.client("stepfunctions", self.home).get_paginator("list_executions")
        found = [item for page in pages.paginate(stateMachineArn=self.state_machine_arn) for item in page["executions"]]
        return sorted(found, key=lambda item: (item["startDate"], item["name"]))

    def stop_execution(self, name: str) -> None:
        """Kills it between two states: what is waiting ends, a handler under way is not followed by another."""
        arn = self.state_machine_arn.replace(":stateMachine:", ":execution:") + f":{name}"
        clients.client("stepfunctions", self.home).stop_execution(executionArn=arn, error="Killed", cause="by the local world")
