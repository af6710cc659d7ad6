"""The one way in which the emulator changes moto: replace a named attribute, or add one that it lacks, until the end."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple


class MotoMoved(RuntimeError):
    """moto lacks a name that the emulator replaces, or has one that it adds; its version is pinned for that reason."""


class Patch(NamedTuple):
    """`owner` is a module or a class, `value` what stands under `name` while the patch holds."""

    owner: Any
    name: str
    value: Any


class Addition(NamedTuple):
    """An operation that moto does not answer: `value` under `name` of the class that answers the others."""

    owner: Any
    name: str
    value: Any


@contextmanager
def patched(patches: Iterable[Patch]) -> Iterator[None]:
    """Applies all patches, takes them back in reverse; raises MotoMoved and changes nothing when a name is gone."""
    todo = list(patches)
    for owner, name, _ in todo:
        if not hasattr(owner, name):
            raise MotoMoved(f"{getattr(owner, '__name__', owner)} has no {name} any more: moto has changed, adapt emulator/")
    before = [(owner, name, owner.__dict__[name]) for owner, name, _ in todo]
    try:
        for owner, name, value in todo:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in reversed(before):
            setattr(owner, name, value)


@contextmanager
def added(additions: Iterable[Addition]) -> Iterator[None]:
    """Adds them all, takes them away again; raises MotoMoved and changes nothing when moto has a name by now."""
    todo = list(additions)
    for owner, name, _ in todo:
        if hasattr(owner, name):
            raise MotoMoved(f"{owner.__name__} has {name} by now: moto has changed, adapt emulator/")
    try:
        for owner, name, value in todo:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, _ in todo:
            delattr(owner, name)
