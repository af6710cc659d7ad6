"""A stage on a real plane for the worlds that its scheduler judges, and the figures at the end of the run."""

import os
from collections.abc import Iterator

import pytest

from spillway_local.control_plane import ControlPlane
from spillway_local.judge.features import BUILT, Feature
from spillway_local.judge.stage import Stage

PAIR_SEEDS = 10
BATCH = 10  # worlds that stand on the plane at once
WORLDS, FIRST_SEED = int(os.environ.get("WORLDS") or 60), int(os.environ.get("SEED") or 0)
FEATURES = frozenset(map(Feature, os.environ["FEATURES"].split(","))) if os.environ.get("FEATURES") else BUILT


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each batch of worlds is a test of its own, so that two processes share them."""
    if "seeds" in metafunc.fixturenames:
        last = FIRST_SEED + WORLDS
        batches = [range(first, min(first + BATCH, last)) for first in range(FIRST_SEED, last, BATCH)]
        metafunc.parametrize("seeds", batches, ids=[f"{batch.start}-{batch.stop - 1}" for batch in batches])
    if "pairs_seed" in metafunc.fixturenames:
        metafunc.parametrize("pairs_seed", range(FIRST_SEED, FIRST_SEED + PAIR_SEEDS))


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    """A plane of its own, with a scheduler and without controllers: pods are made by hand."""
    with ControlPlane(()) as plane, Stage(plane) as stage:
        yield stage
