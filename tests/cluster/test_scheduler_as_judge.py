"""Random worlds: what a plan says of pods and nodes is held against what the real scheduler does with them."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from spillway_local.judge import run
from spillway_local.judge.stage import Stage

pytestmark = pytest.mark.cluster


def test_every_served_pod_is_bound_and_no_other_is(stage: Stage, seeds: Sequence[int], record_property: Callable[..., Any]):
    """Pinned to the plan's nodes; and left to itself the scheduler, at rest, leaves no pod waiting for which we see room."""
    found = run.judge(stage, seeds)

    record_property("free", found.free.document())
    record_property("nominated", found.nominated.document())
    assert not found.disagreements, run.report(found)
