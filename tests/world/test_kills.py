"""A run that ends before or after any call of AWS, of the table or of the API server: the next ticks come to the same end.

What a call reads changes nothing, so what is left differs only by the writes: those are the ones that every run of the tests
takes, each in one of the two ways to die. All calls, before and after, both ways, are what `make test-kills` takes.
"""

import random

import pytest

from spillway_local.emulator.wire import Call, When
from tests.world import kills
from tests.world.kills import Kill, Scenario

pytestmark = [pytest.mark.timeout(300), pytest.mark.feature("EX-10")]
POINTS = kills.read()
WAYS = ("run", "function")  # the whole execution ends, or Lambda ends the function and the workflow calls it again


def few() -> list[tuple[Scenario, Call, When, str]]:
    chosen = random.Random(0)
    return [(scenario, call, When.AFTER, chosen.choice(WAYS)) for scenario, call in POINTS if call.is_write]


def all_of_them() -> list[tuple[Scenario, Call, When, str]]:
    return [(scenario, call, when, way) for scenario, call in POINTS for when in When for way in WAYS]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "way" in metafunc.fixturenames:
        points = all_of_them() if metafunc.config.getoption("--kills") == "all" else few()
        ids = [f"{kills.line(scenario, call)}-{when}-{way}".replace("\t", " ") for scenario, call, when, way in points]
        metafunc.parametrize(("scenario", "call", "when", "way"), points, ids=ids)


def test_what_is_left_comes_to_the_same_end(scenario: Scenario, call: Call, when: When, way: str) -> None:
    with scenario.open() as world:
        kill = Kill(world, call, when, whole=way == "run")
        world.aws.functions.wire.fault = kill
        scenario.play(world)
        assert kill.done, "this call is no longer made: python -m tests.world.kills writes the table anew"
        assert kills.wrong(scenario, world) == []
        assert len(kills.told(world, "EC2 Instance Launch Successful")) == scenario.bought, "nothing is bought twice"
        assert len(kills.told(world, "EC2 Instance Terminate Successful")) == scenario.ended, "nothing is ended twice"
        assert (world.aws.queue.dead, world.aws.stream.dead) == ([], [])


@pytest.mark.parametrize("scenario", kills.SCENARIOS.values(), ids=kills.SCENARIOS)
def test_the_table_has_every_call_of_today(scenario: Scenario) -> None:
    assert set(kills.record(scenario)) == {call for one, call in POINTS if one is scenario}
