"""What the bench makes of calls that overlap."""

import pytest

from bench.fleet import under_way_s, waves
from bench.one_fleet_tick import Span


def calls(*times: tuple[float, float]) -> list[Span]:
    return [("ec2", "us-east-1", start, end) for start, end in times]


def test_no_call_takes_no_time_and_is_no_wave() -> None:
    assert (under_way_s([]), waves([])) == (0, 0)


def test_time_in_which_calls_overlap_counts_once() -> None:
    assert under_way_s(calls((5, 6), (0, 2), (1, 3), (1, 2))) == pytest.approx(4)


def test_calls_that_overlap_are_one_wave() -> None:
    assert waves(calls((0, 2), (1, 3), (1, 2))) == 1


def test_the_longest_chain_counts_whatever_runs_beside_it() -> None:
    assert waves(calls((0, 9), (0, 1), (1, 2), (1.5, 4), (2, 3))) == 3
