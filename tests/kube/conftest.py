"""What every test of the reader relies on."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def as_deep_as_in_lambda() -> Iterator[None]:
    """How deep an object may be nested before it does not decode is Python's own limit there; the workflow's interpreter of
    the local world raises it for the whole process."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)
