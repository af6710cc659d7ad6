"""The whole product on a laptop: emulated AWS, a cluster, and between them what is deployed, with the rights that it ships.

The cluster is the fake one, in virtual time, or a real control plane, whose time passes by itself.

    with World.from_dump(Path("examples/burst"), regions=("us-east-1", "us-west-2")) as world:
        world.run(until=world.all_pods_run, limit_s=3600)

Process-wide while it is open: the mocked AWS, the environment, the clock. One world at a time.
"""

import builtins
import json
import logging
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import yaml
from aws_lambda_powertools.metrics.provider.cloudwatch_emf import cloudwatch

from spillway import clock as product_clock
from spillway.aws.table import Table, keys, outcomes, plans, settings
from spillway.env import env
from spillway.errors import NotFound
from spillway.kube import session
from spillway.model.plan import Outcome, Plan
from spillway.telemetry import logger
from spillway_local.clock import VirtualClock, WallClock
from spillway_local.control_plane import ControlPlane
from spillway_local.control_plane.cluster import RealCluster
from spillway_local.emulator.aws import TABLE, Aws
from spillway_local.emulator.launches import Timing
from spillway_local.emulator.pools import Pool
from spillway_local.emulator.template import Template
from spillway_local.handlers import ROOT
from spillway_local.kube_api import Cluster, FakeCluster, NodeAgent
from spillway_local.kube_api import Timing as KubeTiming
from spillway_local.world_dump import RawDump, fleet_of, read_raw
from spillway_local.world_nodes import Joining, instance_of

_SETTLE_S = 3.0  # virtual seconds that a tick takes from the snapshots to the start of the workflow


@dataclass(frozen=True)
class Machine:
    """An instance of a group, and the node that it became, "" while it is none."""

    region: str
    group: str
    instance_id: str
    instance_type: str
    zone: str
    lifecycle: str
    node: str


@dataclass
class World(AbstractContextManager["World"]):
    """`ticks` False: nothing happens by itself, `tick` takes the minute's place. `metrics` are the EMF lines written.
    `cloud_controller` True: somebody else than Spillway deletes the nodes of machines that are gone. `workflow` is the file of
    another workflow than today's.

    With `plane` the cluster is a real one, which should be empty: its scheduler and controllers, and our node agent. Time is
    the wall's then, and whatever is to wait, be it a minute's tick, a boot or the workflow, waits `haste` times shorter.
    """

    raw: RawDump
    seed: int = 0
    timing: Timing = field(default_factory=Timing)
    join_s: float = 20.0
    job_s: float | tuple[float, float] | None = None
    capacity: Mapping[Pool, int] = field(default_factory=dict)
    quota_vcpus: Mapping[str, int] = field(default_factory=dict)
    ticks: bool = True
    cloud_controller: bool = False
    verbose: bool = False
    workflow: Path | None = None
    plane: ControlPlane | None = None
    haste: float = 1.0
    metrics: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def from_dump(
        cls,
        path: Path,
        regions: Sequence[str] = (),
        policy: Mapping[str, Any] | None = None,
        boot_s: float = 45.0,
        **options: Any,
    ) -> "World":
        """Groups, machines, nodes and pods as the dump has them, and its time.

        `regions` that the dump lacks get the groups of its home region, empty and a tenth dearer. `policy` is a document
        that takes the place of the dump's. `capacity` is what EC2 has left, as in {("us-east-1", "p3.2xlarge"): 4};
        `job_s` how long pods of Jobs run, or between which bounds the seed draws it for each. Raises DumpError and PolicyError.
        """
        raw = read_raw(path, tuple(regions))
        document = dict(raw.policy if policy is None else policy)
        if regions:
            document.setdefault("regions", list(regions))
        if not any(item["kind"] == "Node" for item in raw.objects):
            document.setdefault("may_be_empty", True)
        changed = RawDump(raw.cluster, raw.home, raw.now, raw.objects, raw.answers, document, raw.group_names)
        return cls(changed, timing=Timing(boot_s=boot_s), **options)

    def __post_init__(self) -> None:
        self.clock = VirtualClock(self.raw.now) if self.plane is None else WallClock(product_clock.utcnow(), self.haste)
        self.table = Table(TABLE, self.raw.cluster)
        self.aws = Aws(
            self.clock, self.raw.home, self.raw.answers, timing=self.timing, capacity=self.capacity,
            quota_vcpus=self.quota_vcpus, seed=self.seed, template=Template(self.workflow),
        )  # fmt: skip
        self._stack = ExitStack()

    def __enter__(self) -> "World":
        with ExitStack() as stack:
            agent = self._enter_cluster(stack)
            stack.callback(session.close)
            templates = {group.key: group.template for group in fleet_of(self.raw).groups if group.template}
            self._joining = Joining(self.clock, agent, templates, self.join_s, self.cloud_controller)
            self.aws.launches.in_service, self.aws.launches.ending = self._joining.in_service, self._joining.ending
            stack.enter_context(_environment(self._variables()))
            stack.enter_context(_replaced(product_clock, "utcnow", self.clock.now))
            stack.enter_context(_heard(self.metrics, self.verbose))
            stack.enter_context(self.aws.open())
            os.environ["SPILLWAY_STATE_MACHINE_ARN"] = self.aws.state_machine_arn
            env.cache_clear()
            if self.raw.policy:
                settings.put_policy(self.table, self.raw.policy, by="local world", source="policy.yaml")
            self._populate()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    # Time

    def run(self, until: Callable[[], bool] | None = None, limit_s: float = 3600.0) -> None:
        """Lets the world go on until `until()` holds; raises Stuck when it does not within `limit_s`."""
        if self.ticks:
            self.aws.minutes.start()
        self.clock.run(until, limit_s)

    def tick(self) -> None:
        """Both snapshots and the plan that follows, now."""
        self.aws.minutes.once()
        self.clock.run(limit_s=_SETTLE_S)

    # What is so

    def all_pods_run(self) -> bool:
        """No pod waits for room, none for its container."""
        return not self.cluster.phases().keys() & {"Pending", "Terminating"}

    def is_idle(self) -> bool:
        """No execution runs."""
        return not any(item["status"] == "RUNNING" for item in self.executions())

    def machines(self) -> list[Machine]:
        """All instances of all groups that are not gone, by region, group and age."""
        with self.aws.launches.lock:
            return [
                Machine(
                    group.region, group.name, state.instance_id, state.instance_type, state.availability_zone,
                    state.lifecycle_state, self._joining.names.get(state.instance_id, ""),
                )
                for _, group in sorted(self.aws.groups().items())
                for state in group.instance_states
            ]  # fmt: skip

    def instances(self) -> Counter[str]:
        """How many instances each `region/group` has."""
        return Counter(f"{machine.region}/{machine.group}" for machine in self.machines())

    def desired(self) -> Counter[str]:
        """Desired capacity by `region/group`; groups at 0 are left out."""
        return Counter({name: group.desired_capacity for name, group in self.aws.groups().items() if group.desired_capacity})

    def executions(self) -> list[dict[str, Any]]:
        """The workflow's executions, the oldest first; `name` is the plan's id."""
        return self.aws.executions()

    def plans(self) -> list[Plan]:
        """Every plan that had steps, the oldest first."""
        ids = {item["plan_id"] for item in self.table.query(keys.plan(""))}
        found = [plans.get(self.table, plan_id) for plan_id in sorted(ids)]
        return sorted((plan for plan in found if plan.has_steps), key=lambda plan: (plan.created_at, plan.plan_id))

    def latest_plan(self) -> Plan | None:
        """The newest plan, with its reasons also when it has no steps."""
        try:
            return plans.latest(self.table)
        except NotFound:
            return None

    def outcomes(self) -> list[Outcome]:
        """What happened to the steps of all plans, in order of time."""
        found = [one for plan in self.plans() for one in outcomes.of_plan(self.table, plan.plan_id)]
        return sorted(found, key=lambda one: (one.at, one.plan_id, one.step, one.hop))

    def _enter_cluster(self, stack: ExitStack) -> NodeAgent:
        timing = KubeTiming(duration_s=self._duration)
        if self.plane is None:
            fake = stack.enter_context(FakeCluster(self.clock, timing))
            self.cluster: Cluster = fake
            agent = fake.agent
        else:
            self.cluster = stack.enter_context(RealCluster(self.plane, self.clock))
            agent = stack.enter_context(NodeAgent(self.cluster, timing))
        for document in yaml.safe_load_all((ROOT / "deploy" / "rbac.yaml").read_text()):
            self.cluster.add(document)
        return agent

    def _access(self) -> str:
        """As the secret has it that people write for their cluster."""
        token = self.cluster.tokens["spillway"]
        if self.plane is None:
            return json.dumps({"server": self.cluster.url, "token": token})
        return json.dumps({"server": self.plane.url, "ca": self.plane.ca_file.read_text(), "token": token})

    def _variables(self) -> dict[str, str]:
        regions = [self.raw.home, *(region for region in self.raw.answers if region != self.raw.home)]
        return {
            "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_SESSION_TOKEN": "testing",
            "AWS_DEFAULT_REGION": self.raw.home, "AWS_REGION": self.raw.home, "AWS_EC2_METADATA_DISABLED": "true",
            "SPILLWAY_CLUSTER": self.raw.cluster, "SPILLWAY_HOME_REGION": self.raw.home, "SPILLWAY_TABLE": TABLE,
            "SPILLWAY_REGIONS": ",".join(regions), "SPILLWAY_GROUP_NAMES": ",".join(self.raw.group_names),
            "SPILLWAY_ACCESS": f"json:{self._access()}",
        }  # fmt: skip

    def _populate(self) -> None:
        for item in self.raw.objects:
            self.cluster.add(dict(item))
            if item["kind"] == "Node" and (instance_id := instance_of(item)):
                self._joining.knows(instance_id, item["metadata"]["name"])

    def _duration(self, pod: Mapping[str, Any]) -> float | None:
        owners = pod["metadata"].get("ownerReferences") or ()
        if not any(owner.get("kind") == "Job" for owner in owners):
            return None
        if isinstance(self.job_s, tuple):
            return random.Random(f"{self.seed}/{pod['metadata']['name']}").uniform(*self.job_s)
        return self.job_s


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.pop("AWS_PROFILE", None)
    os.environ.update(variables)
    env.cache_clear()
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        env.cache_clear()


@contextmanager
def _replaced(owner: Any, name: str, value: object) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def _heard(metrics: list[dict[str, Any]], verbose: bool) -> Iterator[None]:
    """EMF lines go to `metrics`, not to standard output; logs only where they are asked for."""

    def hear(line: str, *_: object, **__: object) -> None:
        metrics.append(json.loads(line))
        if verbose:
            builtins.print(line)

    level = logger.log_level
    cloudwatch.print = hear  # type: ignore[attr-defined]  # its flush prints
    if not verbose:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
        del cloudwatch.print  # type: ignore[attr-defined]
