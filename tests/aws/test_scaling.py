"""Groups as Auto Scaling tells of them: members, weights, and what their bounds mean for a raise."""

from collections.abc import Iterator
from typing import Any

import pytest

from spillway.aws import tasks
from spillway.aws.scaling import claiming, following, group, raising
from spillway.aws.table import requests
from spillway.model.memory import OpenRequest
from tests.workflow.world import CLUSTER, HOME, NOW, WEST, World, fall, grow, open_world


@pytest.fixture
def world() -> Iterator[World]:
    with open_world() as opened:
        yield opened


def raw(*instances: tuple[str, str, int], desired: int = 0, high: int = 100, weights: tuple[int, ...] = ()) -> dict[str, Any]:
    """An item of DescribeAutoScalingGroups; instances are (id, lifecycle, weight)."""
    overrides = [{"InstanceType": f"m5.{n}xlarge", "WeightedCapacity": str(n)} for n in weights]
    return {
        "AutoScalingGroupName": "a", "MinSize": 0, "MaxSize": high, "DesiredCapacity": desired,
        "AvailabilityZones": ["us-east-1b", "us-east-1a"],
        "Instances": [
            {"InstanceId": id_, "LifecycleState": lifecycle, "WeightedCapacity": str(weight), "HealthStatus": "Healthy"}
            for id_, lifecycle, weight in instances
        ],
        **({"MixedInstancesPolicy": {"LaunchTemplate": {"Overrides": overrides}}} if weights else {}),
    }  # fmt: skip


def test_members_are_those_that_run_or_come(world: World) -> None:
    states = ["InService", "Pending:Wait", "Terminating:Wait", "Standby", "Warmed:Stopped"]
    now = group.of(world.table, HOME, raw(*((f"i-{n}", state, 1) for n, state in enumerate(states))))

    assert now.members == ("i-0", "i-1")
    assert (now.units, now.weight, now.zones) == (2, 1, ("us-east-1a", "us-east-1b"))


def test_a_weighted_group_counts_in_units(world: World) -> None:
    now = group.of(
        world.table, HOME, raw(("i-1", "InService", 4), ("i-2", "Pending", 8), ("i-3", "Terminating", 8), weights=(2, 4, 8))
    )

    assert (now.units, now.weight) == (12, 8)


def test_a_group_that_is_not_there_is_none(world: World) -> None:
    assert group.read(world.table, HOME, "a") is None


class TestWeights:
    """A group whose instances count for 4, raised by two nodes that count for 8."""

    @pytest.fixture
    def written(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        desired: list[int] = []
        monkeypatch.setattr(group, "set_desired", lambda now, value: desired.append(value))
        return desired

    def see(self, monkeypatch: pytest.MonkeyPatch, **fields: Any) -> None:
        monkeypatch.setattr(group, "read", lambda table, region, name: group.of(table, region, raw(**fields)))

    def test_desired_is_raised_by_units(self, world: World, monkeypatch: pytest.MonkeyPatch, written: list[int]) -> None:
        self.see(monkeypatch, desired=4, weights=(4,))
        world.plan(grow(from_desired=4, to_desired=12, nodes=2))

        assert world.call("scale_out", region=HOME, steps=[1])["raised"] == 2
        assert written == [12]

    def test_room_below_max_is_whole_nodes(self, world: World, monkeypatch: pytest.MonkeyPatch, written: list[int]) -> None:
        self.see(monkeypatch, desired=4, high=11, weights=(4,))
        world.plan(grow(from_desired=4, to_desired=12, nodes=2, fallbacks=(fall(WEST, "b", nodes=2),)))

        assert world.call("scale_out", region=HOME, steps=[1])["raised"] == 1
        assert written == [8]
        assert world.requests() == [("p1#1#0", "open", 1, 0), ("p1#1#1", "planned", 1, 0)]

    def test_a_fallback_asks_for_as_many_units_as_its_nodes_may_count_for(
        self, world: World, monkeypatch: pytest.MonkeyPatch, written: list[int]
    ) -> None:
        world.plan(grow(fallbacks=(fall(WEST, "a", nodes=2),)))
        first = OpenRequest(
            id="p1#1#0",
            plan_id="p1",
            step=1,
            hop=0,
            region=HOME,
            group="a",
            from_desired=1,
            to_desired=3,
            nodes=2,
            asked_at=NOW,
        )
        task = tasks.undo(CLUSTER, "p1")
        after = following.request_for(task, raising.step_of(task, 1), [first], first, 2, ())
        assert after is not None
        requests.create(world.table, after)
        self.see(monkeypatch, desired=3, weights=(2, 4))

        assert world.call("scale_out", region=WEST, requests=["p1#1#1"])["raised"] == 2
        assert written == [11]


class TestClaims:
    def request(self, world: World, number: int, **fields: Any) -> OpenRequest:
        given = {"plan_id": "p1", "step": number, "hop": 0, "region": HOME, "group": "a", "from_desired": 0, "to_desired": 2}
        made = OpenRequest(**{"id": f"p1#{number}#0", **given, "nodes": 2, "asked_at": NOW, **fields})
        requests.create(world.table, made)
        return made

    def claim(self, world: World, request: OpenRequest, *members: str) -> tuple[str, ...]:
        known = {one.id: one for one in requests.of_region(world.table, HOME)}
        now = group.of(world.table, HOME, raw(*((id_, "InService", 1) for id_ in members)))
        return claiming.claim(world.table, request, now, known).instances

    def test_what_was_there_before_came_for_nobody(self, world: World) -> None:
        request = self.request(world, 1, before=("i-1",))

        assert self.claim(world, request, "i-1", "i-2") == ("i-2",)

    def test_no_more_than_were_asked_for(self, world: World) -> None:
        assert self.claim(world, self.request(world, 1, nodes=1), "i-1", "i-2") == ("i-1",)

    def test_what_another_request_has_is_its_own_also_when_that_is_closed(self, world: World) -> None:
        self.request(world, 1, instances=("i-1", "i-2"), state="ready")

        assert self.claim(world, self.request(world, 2), "i-1", "i-2", "i-3") == ("i-3",)

    def test_what_a_later_request_found_there_came_for_the_earlier_one(self, world: World) -> None:
        first = self.request(world, 1)
        self.request(world, 2, before=("i-8", "i-9"))

        assert self.claim(world, first, "i-1", "i-2", "i-8", "i-9") == ("i-8", "i-9")

    def test_what_left_is_taken_off_and_its_successor_counts(self, world: World) -> None:
        request = self.request(world, 1, instances=("i-1", "i-2"))

        assert self.claim(world, request, "i-2", "i-3") == ("i-2", "i-3")
