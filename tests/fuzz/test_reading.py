"""Properties of reading: see reading.py."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spillway.model.quantity import QuantityError, parse
from tests.fuzz.reading import KINDS, SAMPLES, holds, page, paths, put

pytestmark = pytest.mark.feature("RS-06")

_SLOW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
_NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.just(10**400)
_WORDS = st.text(max_size=40) | st.sampled_from(
    ["True", "Unschedulable", "Exists", "Gt", "In", "-1", "1e30", "9" * 5000, "9" * 18 + "h", "i-0a", "aws:///us-east-1a/i-0a"]
)
_JSON: Any = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_WORDS, inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.parametrize("kind", KINDS)
@_SLOW
@given(st.data())
def test_an_object_of_any_content_breaks_nothing(kind: str, data: st.DataObject) -> None:
    bent = SAMPLES[kind]
    for _ in range(data.draw(st.integers(1, 4))):
        bent = put(bent, data.draw(st.sampled_from(list(paths(bent)))), data.draw(_JSON))
    holds(kind, json.dumps(bent).encode())


@_SLOW
@given(st.binary() | st.recursive(_JSON, st.lists).map(lambda value: json.dumps({"items": value, "kind": "PodList"}).encode()))
def test_a_page_of_any_bytes_reads_or_is_refused(raw: bytes) -> None:
    page(raw)


@given(st.text() | st.from_regex(r"[+-]?[0-9]{0,30}\.?[0-9]{0,30}([eE][+-]?[0-9]{1,12}|[numkMGTPE]i?)?", fullmatch=True))
def test_a_quantity_of_any_text_is_a_number_of_bounded_size_or_refused(text: str) -> None:
    try:
        value = parse(text)
    except QuantityError as error:
        told = str(error)
    else:
        told = ""
        assert value.numerator.bit_length() + value.denominator.bit_length() < 8000
    assert len(told) < 300
