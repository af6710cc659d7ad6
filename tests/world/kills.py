"""Two small scenarios, and a fault that ends a run of them at any call: what is left must come to the same end.

`python -m tests.world.kills` writes the table of calls at which tests/world/test_kills.py ends them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from spillway.aws.table import leases, requests
from spillway.kube import markers
from spillway_local.emulator.wire import Call, Event, Killed, When
from spillway_local.world import World
from tests.world import scene
from tests.world.scene import EAST, WEST

TABLE = Path(__file__).with_name("kill_points.txt")
LIMIT_S = 2 * 3600
CALM_S = 65  # one more tick, which may change nothing
_LOOK = timedelta(seconds=2)
_REMEMBERED = "dynamodb.GetItem PLAN"  # read by whichever function comes first
_QUICK: Mapping[str, Any] = {"idle_s": 30, "unneeded_s": 30, "budgets": [{"nodes": "100%"}]}
_OURS = ("plan", "intake", "scale_out", "verify_instances", "verify_nodes", "drain", "scale_in", "remove_node")


@dataclass
class Kill:
    """Ends a function at the first call that is as `at`; with `whole` the executions of the plan as well."""

    world: World
    at: Call
    when: When
    whole: bool
    done: bool = False

    def __call__(self, call: Call, when: When, event: Event) -> None:
        if self.done or (call, when) != (self.at, self.when):
            return
        self.done = True
        if self.whole:
            for execution in self.world.executions():
                if execution["status"] == "RUNNING":
                    self.world.aws.stop_execution(execution["name"])
        raise Killed


@dataclass(frozen=True)
class Scenario:
    """`is_over` once all is done that was to be done."""

    name: str
    open: Callable[..., World]
    is_over: Callable[[World], bool]
    end: Mapping[str, int]
    bought: int
    ended: int

    def play(self, world: World) -> None:
        looked = world.clock.now()

        def at_the_end() -> bool:
            nonlocal looked
            if world.clock.now() < looked + _LOOK or not self.is_over(world):
                return False
            looked = world.clock.now()
            return not wrong(self, world)

        world.run(until=at_the_end, limit_s=LIMIT_S)
        world.run(limit_s=CALM_S)


def wrong(scenario: Scenario, world: World) -> list[str]:
    """What is not as it must be in the end, whatever happened on the way."""
    nodes = world.cluster.objects("Node")
    found = [
        f"instances {dict(world.instances())}" if dict(world.instances()) != dict(scenario.end) else "",
        f"desired {dict(world.desired())}" if dict(world.desired()) != dict(scenario.end) else "",
        f"{len(nodes)} nodes" if len(nodes) != sum(scenario.end.values()) else "",
        "pods wait" if not world.all_pods_run() else "",
        "an execution runs" if not world.is_idle() else "",
        *(f"request {one.id} is {one.state}" for one in requests.live(world.table)),
        *(f"node {one.node} has a lease" for one in leases.drains(world.table)),
        *(f"node {name(node)} has our marker" for node in nodes if markers.CORDONED in node["metadata"].get("labels", {})),
        *(f"node {name(node)} is cordoned" for node in nodes if node["spec"].get("unschedulable")),
        *(f"node {name(node)} is tainted" for node in nodes if node["spec"].get("taints")),
    ]
    return [one for one in found if one]


def told(world: World, kind: str) -> set[str]:
    """Instances of which Auto Scaling told such an event."""
    return {event["detail"]["EC2InstanceId"] for event in world.aws.events if event["detail-type"] == kind}


def name(item: Mapping[str, Any]) -> str:
    return str(item["metadata"]["name"])


def _refused(**options: Any) -> World:
    """Two pods want a node each: the region at home has one."""
    return scene.world(pods=2, boot_s=10, join_s=2, capacity={(EAST, "m5.large"): 1}, policy={"scale_in": _QUICK}, **options)


def _interrupted(**options: Any) -> World:
    """Of two machines with a pod each AWS takes one: its pod moves, it is ended, and nothing is bought."""
    world = scene.two_half_empty(policy={"scale_in": _QUICK}, **options)
    detail = {
        "instance-id": scene.TAKEN, "instance-action": "terminate",
        "instance-termination-time": f"{scene.NOW + timedelta(minutes=10):%Y-%m-%dT%H:%M:%SZ}",
    }  # fmt: skip
    kind = "EC2 Capacity Reservation Instance Interruption Warning"
    world.clock.call_in(5, lambda: world.aws.launches.emit(EAST, "aws.ec2", kind, detail, []))
    return world


GROW = Scenario(
    "grow",
    _refused,
    is_over=lambda world: len(world.machines()) == 2,
    end={f"{EAST}/cpu": 1, f"{WEST}/cpu": 1},
    bought=2,
    ended=0,
)
DRAIN = Scenario(
    "drain",
    _interrupted,
    is_over=lambda world: len(world.machines()) == 1,
    end={f"{EAST}/cpu": 1},
    bought=0,
    ended=1,
)
SCENARIOS = {scenario.name: scenario for scenario in (GROW, DRAIN)}


def record(scenario: Scenario) -> list[Call]:
    """Each call of the functions that plan and carry out once, in the order in which they first came."""
    with scenario.open() as world:
        scenario.play(world)
        made = (call for call in world.aws.functions.wire.made if call.function in _OURS and call.what != _REMEMBERED)
        return list(dict.fromkeys(made))


def line(scenario: Scenario, call: Call) -> str:
    return "\t".join((scenario.name, call.function, call.action or "-", call.subject or "-", str(call.nth), call.what))


def read() -> list[tuple[Scenario, Call]]:
    found = []
    for text in TABLE.read_text(encoding="utf-8").splitlines():
        scenario, function, action, subject, nth, what = text.split("\t")
        call = Call(function, action.removeprefix("-"), "" if subject == "-" else subject, what, int(nth))
        found.append((SCENARIOS[scenario], call))
    return found


if __name__ == "__main__":
    lines = [line(scenario, call) for scenario in SCENARIOS.values() for call in record(scenario)]
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
