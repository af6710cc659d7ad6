"""The shape of every model: frozen, ordered fields, one codec.

Models are msgspec structs: planner loops need cheap attributes, and a snapshot of 150,000 pods must be
written and read within a Lambda's second. Only the policy and events are pydantic, where people's
mistakes deserve an error for every field at once (docs/adr/0002).
"""

import json
from collections.abc import Mapping
from typing import TypeVar

import msgspec

SCHEMA_VERSION = 1

M = TypeVar("M")


class Model(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A frozen value. Collections are tuples and mappings; nobody mutates a mapping of a model."""


Labels = Mapping[str, str]
Resources = Mapping[str, int]
"""Amounts by Kubernetes resource name: cpu in millicores, bytes where the resource is memory-like
(memory, ephemeral-storage, hugepages-*), else counts; `pods` is the number of pod slots."""


def encode(model: object) -> bytes:
    """JSON with sorted mapping keys: equal models give equal bytes. A lone surrogate, which UTF-8 cannot hold, is a `?`."""
    try:
        return msgspec.json.encode(model, order="deterministic")
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(model), ensure_ascii=False, sort_keys=True).encode(errors="replace")


def decode(data: bytes | str, kind: type[M]) -> M:
    """The model of `data`; raises msgspec.ValidationError, which names the field."""
    return msgspec.json.decode(data, type=kind)
