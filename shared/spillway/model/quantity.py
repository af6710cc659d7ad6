"""Kubernetes quantities as integers.

Grammar and rounding: k8s.io/apimachinery/pkg/api/resource/quantity.go. A request rounds up, as
`Quantity.MilliValue` and `Quantity.Value` do, so that a pod is never taken for smaller than it is.
"""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache

from spillway.model.base import Resources

_FORM = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:[eE]([+-]?[0-9]{1,3})|([numkMGTPE]|[KMGTPE]i)?)")
_SUFFIX: Mapping[str, Fraction] = {
    "": Fraction(1), "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000),
    **{letter: Fraction(1000**power) for power, letter in enumerate("kMGTPE", 1)},
    **{letter + "i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", 1)},
}  # fmt: skip
_LONGEST = 100  # characters: no amount needs more, and what was read is remembered
_MAX = 2**63 - 1  # the API server caps quantities at an int64 of their unit


class QuantityError(ValueError):
    """`text` is no Kubernetes quantity, or not one that may stand there."""

    def __init__(
        self, text: object, problem: str = "is no quantity; write a number with an optional suffix, as in 500m, 1.5, 2Gi or 1e3"
    ) -> None:
        shown = repr(text)
        super().__init__(f"{shown if len(shown) <= _LONGEST else shown[:_LONGEST] + '…'} {problem}")


@lru_cache(maxsize=65536)
def parse(text: str | int | float) -> Fraction:
    """The exact value of a quantity (`100m`, `1.5`, `0.5Gi`, `1e3`, `1n`); raises QuantityError."""
    match = _FORM.fullmatch(str(text).strip())
    if not match or len(match[0]) > _LONGEST:
        raise QuantityError(text)
    number, exponent, suffix = match.groups()
    scale = Fraction(10) ** int(exponent) if exponent else _SUFFIX[suffix or ""]
    return Fraction(number) * scale


@lru_cache(maxsize=65536)
def amount(resource: str, text: str | int | float) -> int:
    """The integer a model holds: millicores of cpu, else whole units (bytes, counts), rounded up."""
    return whole(resource, parse(text))


def whole(resource: str, exact: Fraction) -> int:
    """The integer of an exact amount in Kubernetes' own unit, rounded up: sums are rounded once, at their end."""
    scaled = exact * (1000 if resource == "cpu" else 1)
    return max(-_MAX, min(_MAX, -((-scaled.numerator) // scaled.denominator)))


def resources(quantities: Mapping[str, str | int | float]) -> Resources:
    """All amounts of a `requests` or `allocatable` map; raises QuantityError."""
    return {name: amount(name, text) for name, text in quantities.items()}


def total(amounts: Iterable[Resources]) -> dict[str, int]:
    """The sum, resource by resource."""
    result: dict[str, int] = {}
    for one in amounts:
        for name, value in one.items():
            result[name] = result.get(name, 0) + value
    return result


def largest(*amounts: Resources) -> dict[str, int]:
    """The maximum, resource by resource; absent is 0."""
    result: dict[str, int] = {}
    for one in amounts:
        for name, value in one.items():
            result[name] = max(result.get(name, 0), value)
    return result


def smallest(*amounts: Resources) -> dict[str, int]:
    """The minimum of the resources that all have: what each of several machines is sure to bring."""
    shared = set(amounts[0]).intersection(*amounts[1:])
    return {name: min(one[name] for one in amounts) for name in sorted(shared)}


def show(resource: str, value: int) -> str:
    """An amount for people: `1.5` cores, `12 GiB`, `8`."""
    if resource == "cpu":
        return f"{value / 1000:g}"
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
            if abs(value) >= 1024**power:
                return f"{value / 1024**power:.4g} {unit}"
    return str(value)
