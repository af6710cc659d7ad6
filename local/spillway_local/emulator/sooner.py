"""The same answers, sooner: what stock moto works out anew for every field of every answer is remembered."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import xmltodict
from moto.core import responses
from moto.core.serialize import AttributePicker, XFormedAttributePicker
from moto.core.utils import method_names_from_class

from spillway_local.emulator.patching import Patch


def sooner() -> list[Patch]:
    return [
        Patch(responses, "method_names_from_class", lru_cache(maxsize=None)(method_names_from_class)),
        Patch(xmltodict, "_validate_name", lambda value, kind: None),  # tags come from AWS's own models
        *(Patch(picker, "get_possible_keys", _remembered(picker)) for picker in (AttributePicker, XFormedAttributePicker)),
    ]


def _remembered(picker: type[AttributePicker]) -> Callable[[Any, Any], Iterable[str]]:
    """Under which names a model may keep a field: the same for all objects of a class in one place of an answer."""
    stock = picker.get_possible_keys
    known: dict[tuple[object, ...], tuple[str, ...]] = {}

    def get_possible_keys(self: Any, context: Any) -> Iterable[str]:
        shape = context.shape
        parent = getattr(shape, "parent", None)
        place = (
            type(context.obj), context.key, tuple(self.alias_providers),
            shape and (shape.name, shape.serialization.get("name")), parent and parent.name,
        )  # fmt: skip
        if place not in known:
            known[place] = tuple(stock(self, context))
        return known[place]

    return get_possible_keys
