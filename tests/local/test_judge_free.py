"""What is held against a plan once the scheduler, left to itself, is at rest."""

from types import SimpleNamespace
from typing import Any

import pytest

from spillway_local.judge.free import _free_room
from spillway_local.judge.scene import key_of
from spillway_local.judge.stage import Verdict

pytestmark = pytest.mark.feature("RS-07")

TERM = {"topologyKey": "tier", "labelSelector": {}}
BESIDE = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}}
APART = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}}
EVEN = {"topologySpreadConstraints": [{"topologyKey": "tier", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]}
PREFERS = {"topologySpreadConstraints": [{**EVEN["topologySpreadConstraints"][0], "whenUnsatisfiable": "ScheduleAnyway"}]}


def held_against(spec: dict[str, Any], node: str, new: tuple[str, ...] = (), given_back: tuple[str, ...] = ()) -> int:
    """How many of the plan's words on one pod, which waits, and is meant for `node`."""
    pod = {"kind": "Pod", "metadata": {"namespace": "s1-alpha", "name": "s1-w0-0"}, "spec": spec}
    planned: Any = SimpleNamespace(nodes=dict.fromkeys(new), uncordoned=dict.fromkeys(given_back), assigned=((pod, node),))
    return len(_free_room(1, planned, {key_of(pod): Verdict(message="no node matches")}))


@pytest.mark.parametrize("spec", [{}, BESIDE, APART, EVEN, PREFERS], ids=["plain", "beside", "apart", "even", "prefers"])
def test_room_that_is_there_is_used_already_where_the_plan_brings_nobody(spec: dict[str, Any]) -> None:
    assert held_against(spec, "there") == 1


@pytest.mark.parametrize("brought", [{"new": ("new",)}, {"given_back": ("back",)}], ids=["new", "given back"])
@pytest.mark.parametrize(
    ("spec", "wrong"), [({}, 1), (BESIDE, 0), (APART, 1), (EVEN, 0), (PREFERS, 1)],
    ids=["plain", "beside", "apart", "even", "prefers"],
)  # fmt: skip
def test_those_that_come_with_the_plan_may_open_it_to_whom_company_or_evenness_binds(
    spec: dict[str, Any], wrong: int, brought: dict[str, tuple[str, ...]]
) -> None:
    """Pods wait for company that a new node brings; on that node itself nothing is said yet."""
    assert held_against(spec, "there", **brought) == wrong
    assert held_against(spec, *(name for names in brought.values() for name in names), **brought) == 0
