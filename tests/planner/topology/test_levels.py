"""The closed form of a spread, against dealing pods out one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillway.planner.topology.levels import fill

pytestmark = pytest.mark.feature("SO-08")
few = st.integers(0, 6)


def one_by_one(present: dict[str, int], capacity: dict[str, int], pods: int, skew: int) -> int:
    """How many the scheduler places when each goes to the emptiest domain that has room and keeps the skew."""
    count, placed = dict(present), 0
    for _ in range(pods):
        open_ = [name for name in count if count[name] - present[name] < capacity[name]]
        best = min(open_, key=lambda name: count[name], default=None)
        if best is None or count[best] + 1 - min(count.values()) > skew:
            return placed
        count[best] += 1
        placed += 1
    return placed


@given(st.lists(st.tuples(few, few), min_size=1, max_size=5), st.integers(0, 20), st.integers(1, 3))
def test_it_places_as_many_as_one_by_one_and_keeps_the_skew(domains: list[tuple[int, int]], pods: int, skew: int) -> None:
    present = {f"d{i}": there for i, (there, _) in enumerate(domains)}
    capacity = {f"d{i}": room for i, (_, room) in enumerate(domains)}
    dealt = fill(present, capacity, pods, skew, None)
    after = {name: present[name] + dealt[name] for name in present}
    assert sum(dealt.values()) == one_by_one(present, capacity, pods, skew)
    assert all(0 <= dealt[name] <= capacity[name] for name in dealt)
    assert all(after[name] - min(after.values()) <= skew for name in dealt if dealt[name])


def test_a_floor_holds_whatever_the_emptiest_has() -> None:
    assert fill({"a": 3, "b": 0}, {"a": 9, "b": 9}, 9, 2, floor=0) == {"a": 0, "b": 2}
    assert fill({}, {}, 3, 1, None) == {}
