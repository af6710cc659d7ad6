"""A region that launches nothing, or says nothing, is left at once; a group that does not grow is no longer asked."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError
from moto.autoscaling.models import autoscaling_backends
from moto.core.models import DEFAULT_ACCOUNT_ID

from spillway.aws.scaling import group as groups
from spillway.aws.table import memory, requests
from spillway.errors import AwsUnavailable
from spillway.model.memory import Unavailable
from spillway.planner.unavailable import BREAKER, passed_over
from tests.builders import group as group_of
from tests.workflow.world import HOME, WEST, World, fall, grow, open_world

pytestmark = [pytest.mark.feature("EX-05")]
OUT = "You are not authorized to use the requested product. OptInRequired"


@pytest.fixture
def world() -> Iterator[World]:
    with open_world() as opened:
        yield opened


def scale_out(world: World, *steps: int, region: str = HOME) -> Any:
    return world.call("scale_out", region=region, steps=list(steps))


def check(world: World, region: str = HOME, plan_id: str = "p1") -> Any:
    return world.call("verify_instances", action="check", region=region, plan_id=plan_id)


def fail(world: World, name: str, text: str) -> None:
    group, now = autoscaling_backends[DEFAULT_ACCOUNT_ID][HOME].autoscaling_groups[name], world.clock.now
    log = world.launches.log
    log.end(log.begin(group, now, "Launching a new EC2 instance.", "somebody wanted it", "us-east-1a"), now, "Failed", text)


class TestARegionThatLaunchesNothing:
    @pytest.fixture(autouse=True)
    def _nothing_is_told_by_itself(self, world: World) -> None:
        world.launches.timing.refuse_s = 3600
        world.capacity(HOME, 0)
        for name in ("a", "b", "c", "d"):
            world.group(name)
            world.group(f"{name}-west", WEST)

    def ask(self, world: World) -> None:
        """Two steps in one region, each with a fallback in the other."""
        steps = []
        for n, name in ((1, "a"), (2, "b")):
            steps.append(grow(n, name, from_desired=0, to_desired=2, fallbacks=(fall(WEST, f"{name}-west"),)))
        world.plan(*steps)
        scale_out(world, 1, 2)

    def test_takes_the_requests_of_all_its_groups_with_it_at_the_word_to_one(self, world: World) -> None:
        self.ask(world)
        fail(world, "b", OUT)

        assert check(world)["spill"] == [{"region": WEST, "requests": ["p1#1#1", "p1#2#1"]}]
        assert (world.desired("a"), world.desired("b")) == (0, 0)
        assert {one.key for one in memory.unavailable(world.table) if one.scope == "region"} == {HOME}

    def test_is_left_by_those_who_asked_it_before_the_event_told_of_it(self, world: World) -> None:
        self.ask(world)
        now = world.clock.now
        told = Unavailable(
            scope="region", key=HOME, until=now + timedelta(minutes=5), since=now, reason="account: opt in first"
        )
        memory.mark_unavailable(world.table, told)

        assert check(world)["spill"] == [{"region": WEST, "requests": ["p1#1#1", "p1#2#1"]}]

    def test_keeps_those_who_ask_it_after_that(self, world: World) -> None:
        now = world.clock.now
        told = Unavailable(scope="region", key=HOME, until=now, since=now, reason="account: opt in first")
        memory.mark_unavailable(world.table, told)
        world.clock.pass_s(1)
        self.ask(world)

        assert check(world)["spill"] == []

    @pytest.mark.parametrize(("came", "next_place"), [(0, f"{WEST}/d-west"), (1, f"{HOME}/d")])
    def test_is_left_after_three_groups_in_vain_unless_something_came(self, world: World, came: int, next_place: str) -> None:
        """Whatever the words: here nothing comes, and nothing is said."""
        world.policy(scale_out={"provision_time_s": 60})
        world.capacity(HOME, came)
        chain = (fall(HOME, "b"), fall(HOME, "c"), fall(HOME, "d"), fall(WEST, "d-west"))
        world.plan(grow(1, "a", from_desired=0, to_desired=2, fallbacks=chain))
        scale_out(world, 1)
        for _ in range(3):
            world.clock.pass_s(61)
            (spill,) = check(world)["spill"]
            if spill["region"] == HOME:
                world.call("scale_out", **spill)

        assert [f"{one['region']}/{one['group']}" for one in self.hops(world)][3:] == [next_place]

    def hops(self, world: World) -> list[dict[str, str]]:
        return [{"region": one.region, "group": one.group} for one in requests.of_plan(world.table, "p1")]


class TestARegionThatGivesNoAnswer:
    @pytest.fixture(autouse=True)
    def _silent(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        world.group("a")
        world.group("b", WEST)
        read = groups.read
        self.cause: Exception = ConnectTimeoutError(endpoint_url="https://autoscaling.us-east-1.amazonaws.com")

        def asked(table: Any, region: str, name: str) -> Any:
            if region == HOME:
                raise AwsUnavailable(HOME, "autoscaling:DescribeAutoScalingGroups", "no answer") from self.cause
            return read(table, region, name)

        monkeypatch.setattr(groups, "read", asked)

    def test_is_left_before_anything_is_begun(self, world: World) -> None:
        world.plan(grow(1, "a", from_desired=0, to_desired=2, fallbacks=(fall(WEST, "b"),)))

        answer = scale_out(world, 1)
        assert answer == {"raised": 0, "spill": [{"region": WEST, "requests": ["p1#1#1"]}]}
        assert world.outcomes() == [(1, 0, "refused")]
        world.call("scale_out", **answer["spill"][0])
        assert world.desired("b", WEST) == 2

    def test_is_asked_again_where_there_is_no_other(self, world: World) -> None:
        world.plan(grow(1, "a", from_desired=0, to_desired=2, fallbacks=(fall(HOME, "c"),)))

        with pytest.raises(AwsUnavailable):
            scale_out(world, 1)
        assert world.requests() == [("p1#1#0", "planned", 2, 0)]

    def test_is_asked_again_where_it_only_throttles(self, world: World) -> None:
        slow = {"Error": {"Code": "Throttling"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
        self.cause = ClientError(slow, "DescribeAutoScalingGroups")
        world.plan(grow(1, "a", from_desired=0, to_desired=2, fallbacks=(fall(WEST, "b"),)))

        with pytest.raises(AwsUnavailable):
            scale_out(world, 1)

    def test_is_left_where_it_tells_of_its_own_trouble(self, world: World) -> None:
        broken = {"Error": {"Code": "ServiceUnavailable"}, "ResponseMetadata": {"HTTPStatusCode": 503}}
        self.cause = ClientError(broken, "DescribeAutoScalingGroups")
        world.plan(grow(1, "a", from_desired=0, to_desired=2, fallbacks=(fall(WEST, "b"),)))

        assert scale_out(world, 1)["spill"] == [{"region": WEST, "requests": ["p1#1#1"]}]


class TestTheBreaker:
    pytestmark = pytest.mark.feature("EX-06")

    def raise_in_vain(self, world: World, plan_id: str, text: str = "") -> None:
        """Desired goes up by two and nothing comes: AWS says why, or nothing at all within the provision time."""
        world.policy(scale_out={"provision_time_s": 60, "backoff": {"first_s": 60}})
        world.launches.timing.refuse_s = 3600
        world.capacity(HOME, 0)
        world.plan(grow(1, "a", from_desired=0, to_desired=2), plan_id=plan_id)
        world.call("scale_out", region=HOME, steps=[1], plan_id=plan_id)
        if text:
            fail(world, "a", text)
        else:
            world.clock.pass_s(61)
        check(world, plan_id=plan_id)
        check(world, plan_id=plan_id)  # a look more counts nothing twice
        world.clock.pass_s(120)

    def breaker(self, world: World) -> Unavailable:
        (found,) = (one for one in memory.unavailable(world.table) if one.scope == BREAKER)
        return found

    @pytest.mark.parametrize("text", ["", "The moon is in the wrong place.", "We currently do not have sufficient capacity."])
    def test_opens_when_desired_was_raised_three_times_without_growth_whatever_was_said(self, world: World, text: str) -> None:
        world.group("a")
        lives = []
        for n in range(3):
            self.raise_in_vain(world, f"p{n}", text)
            found = self.breaker(world)
            lives.append((found.times, (found.until - found.since).total_seconds()))
        assert lives == [(1, 0), (2, 0), (3, 1800)]

        a = group_of("a")
        over = passed_over(a, [self.breaker(world)], world.clock.now)
        assert over is not None
        assert over.reason == "the breaker: raised 3 times in a row, it did not grow"
        assert passed_over(group_of("b"), [self.breaker(world)], world.clock.now) is None

    def test_does_not_count_a_raise_of_which_something_came(self, world: World) -> None:
        world.group("a")
        world.capacity(HOME, 1)
        world.plan(grow(1, "a", from_desired=0, to_desired=2))
        scale_out(world, 1)
        world.clock.pass_s(5)
        check(world)

        assert not [one for one in memory.unavailable(world.table) if one.scope == BREAKER]

    def test_opens_sooner_or_later_by_policy(self, world: World) -> None:
        world.group("a")
        world.policy(scale_out={"provision_time_s": 60, "backoff": {"breaker_after": 1, "max_s": 900}})
        world.launches.timing.refuse_s = 3600
        world.capacity(HOME, 0)
        world.plan(grow(1, "a", from_desired=0, to_desired=2))
        scale_out(world, 1)
        world.clock.pass_s(61)
        check(world)

        found = self.breaker(world)
        assert (found.until - found.since).total_seconds() == 900
