"""Quantities in every form that Kubernetes writes them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillway.model import quantity


@pytest.mark.parametrize("half", ["500m", "0.5", ".5", "5e-1", "500000u", "500000000n", "0.0005k"])
def test_half_a_cpu_written_in_seven_ways_is_half_a_cpu(half: str) -> None:
    assert quantity.amount("cpu", half) == 500


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1Ki", 1024),
        ("1.5Gi", 1610612736),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1E", 10**18),
        ("2M", 2_000_000),
        ("1.", 1),
        ("+7", 7),
    ],
)
def test_suffixes_are_binary_decimal_or_exponents(text: str, amount: int) -> None:
    assert quantity.amount("memory", text) == amount


def test_a_request_rounds_up_so_that_a_pod_is_never_taken_for_smaller_than_it_is() -> None:
    assert quantity.amount("cpu", "1n") == 1
    assert quantity.amount("memory", "100m") == 1
    assert quantity.amount("cpu", "0.0015") == 2


def test_amounts_stop_at_what_the_api_server_can_hold() -> None:
    assert quantity.amount("memory", "1e30") == 2**63 - 1
    assert quantity.amount("cpu", "-1e30") == -(2**63 - 1)


@pytest.mark.parametrize("text", ["", "1 Gi", "1GiB", "NaN", "inf", "0x10", "1e", "1e3Ki", "--1", "1_000", "1e9999"])
def test_anything_else_is_refused_and_named(text: str) -> None:
    with pytest.raises(quantity.QuantityError, match="is no quantity"):
        quantity.parse(text)


@given(st.integers(-(10**6), 10**6), st.sampled_from(["", "k", "Ki", "M", "Mi", "m", "u", "n"]))
def test_whole_numbers_scale_by_their_suffix(number: int, suffix: str) -> None:
    assert quantity.parse(f"{number}{suffix}") == number * quantity.parse(f"1{suffix}")
    assert isinstance(quantity.parse(f"{number}{suffix}"), Fraction)


@pytest.mark.feature("RS-06")
@pytest.mark.parametrize("text", ["0" * 200_000 + "1", "1" * 200_000, "x" * 200_000])
def test_text_of_any_length_is_refused_in_a_short_sentence_and_not_remembered(text: str) -> None:
    before = quantity.parse.cache_info().currsize
    with pytest.raises(quantity.QuantityError) as caught:
        quantity.parse(text)
    assert len(str(caught.value)) < 250
    assert quantity.parse.cache_info().currsize == before


def test_what_several_machines_are_sure_to_bring_is_the_least_of_each() -> None:
    assert quantity.smallest({"cpu": 4, "gpu": 1}, {"cpu": 2, "memory": 5}) == {"cpu": 2}


def test_people_read_cores_and_bytes_in_units() -> None:
    assert quantity.show("cpu", 1500) == "1.5"
    assert quantity.show("memory", 12 * 1024**3) == "12 GiB"
    assert quantity.show("nvidia.com/gpu", 8) == "8"
