"""A whole run writes every metric that the page documents, under the dimensions that it documents."""

from typing import Any

import pytest

from spillway.telemetry import start_at_zero
from tests.contract.test_metrics import DIMENSIONS, documented
from tests.world import scene
from tests.world.test_burst import at_rest

pytestmark = pytest.mark.timeout(300)


@pytest.mark.feature("OB-04")
def test_every_documented_series_is_written_from_the_first_tick_on() -> None:
    start_at_zero.cache_clear()
    with scene.world(pods=3, job_s=60) as world:
        world.tick()
        wanted = {(name, used) for name, row in documented().items() for used in DIMENSIONS[row[1]]}
        assert series(world.metrics) == wanted
        world.run(until=world.all_pods_run, limit_s=900)
        world.run(until=lambda: at_rest(world), limit_s=3600)
        assert series(world.metrics) == wanted
        for name in ("NodesRequested", "NodesRefused", "NodesArrived", "DrainsStarted", "InstancesEnded", "NodesRemoved"):
            assert sum(line[name][0] for line in world.metrics if name in line) > 0, name


def series(lines: list[dict[str, Any]]) -> set[tuple[str, frozenset[str]]]:
    """Metric and dimensions of each EMF line."""
    return {
        (metric["Name"], frozenset(told["Dimensions"][0]))
        for line in lines
        for told in line["_aws"]["CloudWatchMetrics"]
        for metric in told["Metrics"]
    }
