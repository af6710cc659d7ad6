"""Requirements on one label of a node that hold for a given value, or miss it narrowly."""

from collections.abc import Callable, Sequence

from spillway_local.judge.instance_types import KINDS
from spillway_local.judge.scene import LABELS, TYPE, ZONES, Dice, Object

ARCH, ABSENT = "kubernetes.io/arch", "absent"
VALUES = {**LABELS, ARCH: ("amd64", "arm64"), TYPE: tuple(kind.name for kind in KINDS), ABSENT: ("yes", "no")}
"""What pods ask of these labels; no node has the last."""


def about(dice: Dice, key: str, have: str | None, holds: bool) -> Object:
    """A requirement on `key` that holds, or not, for the value `have`, None for no such label."""
    others = [value for value in VALUES.get(key, ZONES) if value != have]
    ways: list[Callable[[], Object]]
    if have is None:
        yes = [lambda: requirement(key, "NotIn", dice.some(others, 2)), lambda: requirement(key, "DoesNotExist")]
        no = [
            lambda: requirement(key, "In", dice.some(others, 2)),
            lambda: requirement(key, "Exists"),
            lambda: requirement(key, dice.pick(("Gt", "Lt")), ["5"]),
        ]
        return dice.pick(yes if holds else no)()
    ways = [
        lambda: requirement(key, "In", sorted([have, *dice.some(others, 2)]) if holds else dice.some(others, 2)),
        lambda: requirement(key, "NotIn", dice.some(others, 2) if holds else sorted([have, *dice.some(others, 2)])),
        lambda: requirement(key, "Exists" if holds else "DoesNotExist"),
    ]
    if have.isdigit():
        # The bound itself is neither above nor below.
        ways += [
            lambda: requirement(key, "Gt", [str(int(have) - holds)]),
            lambda: requirement(key, "Lt", [str(int(have) + holds)]),
        ]
    elif not holds:
        ways += [lambda: requirement(key, "Gt", ["0"]), lambda: requirement(key, "Lt", ["100"])]
    return dice.pick(ways)()


def requirement(key: str, operator: str, values: Sequence[str] = ()) -> Object:
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})
