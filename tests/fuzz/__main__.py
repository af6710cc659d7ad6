"""A fuzzer on what reads a cluster, for as long as one likes:

    uv run --with atheris==3.0.0 python -m tests.fuzz -max_total_time=600

atheris (35 MB) is no dependency: nothing else needs it. A find is printed and kept as `crash-…`, whose bytes belong into
a test of their own. The first byte chooses what they are: an object of a kind, a page, or a quantity.
"""

import json
import sys
from collections.abc import Callable
from contextlib import suppress

import atheris

with atheris.instrument_imports(include=["spillway"]):
    from spillway.model.quantity import QuantityError, parse
    from tests.fuzz.reading import KINDS, SAMPLES, holds, page, paths, put

_PAGE, _QUANTITY = len(KINDS), len(KINDS) + 1


def one_input(data: bytes) -> None:
    if not data:
        return
    number, raw = data[0] % (len(KINDS) + 2), data[1:]
    if number == _PAGE:
        page(raw)
    elif number == _QUANTITY:
        with suppress(QuantityError):
            parse(raw.decode("utf-8", "ignore"))
    else:
        holds(KINDS[number], raw)


def mutate(data: bytes, longest: int, seed: int) -> bytes:
    """Bytes at random, or a value somewhere in an object, so that what comes of it is an object still."""
    chooser = atheris.FuzzedDataProvider(seed.to_bytes(8, "little") * 8 + data)
    if len(data) < 2 or chooser.ConsumeBool():
        return atheris.Mutate(data, longest)
    try:
        whole = json.loads(data[1:])
        places = list(paths(whole))
    except (ValueError, RecursionError):
        return (data[:1] + json.dumps(SAMPLES[KINDS[data[0] % len(KINDS)]]).encode())[:longest]
    make: Callable[[], object] = chooser.PickValueInList(
        [
            lambda: None, lambda: chooser.ConsumeInt(9), lambda: chooser.ConsumeFloat(), lambda: chooser.ConsumeUnicode(40),
            lambda: [], lambda: {}, lambda: put(whole, (), chooser.PickValueInList(list(_values(whole)))),
            lambda: "9" * chooser.ConsumeIntInRange(1, 6000), lambda: [None] * 9,
        ]
    )  # fmt: skip
    bent = put(whole, chooser.PickValueInList(places), make())
    return (data[:1] + json.dumps(bent).encode("utf-8", "replace"))[:longest]


def _values(whole: object) -> list[object]:
    found: list[object] = []
    for at in paths(whole):
        inner = whole
        for key in at:
            inner = inner[key]  # type: ignore[index]
        found.append(inner)
    return found


def main() -> None:
    atheris.Setup(sys.argv, one_input, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
