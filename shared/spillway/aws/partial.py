"""An answer of which AWS did not give all parts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spillway.errors import AwsError


@dataclass(frozen=True)
class Partial:
    """`value` in the form of the whole answer, and by the names of the parts that it lacks why it does."""

    value: Any
    missing: Mapping[str, AwsError]
