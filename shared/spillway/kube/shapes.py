"""Pods and templates to shapes: what no rule tells apart is one."""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from spillway.kube.fields import UNREADABLE
from spillway.kube.label_readers import LabelReaders, Reader, own_keys, readers_of
from spillway.kube.owners import State
from spillway.kube.recipes import Recipe, Template, shape_of, strings
from spillway.model.base import encode
from spillway.model.cluster import PodShape
from spillway.model.quantity import QuantityError
from spillway.model.volumes import VolumeNeed

DRAIN_LABELS = ("openai/do-not-drain",)
"""Labels of pods that a drain rule reads."""
_NO_OWNER = State()


class ShapeError(ValueError):
    """A pod's spec does not read; the text says where."""


class _Known(NamedTuple):
    shape: PodShape
    own_keys: frozenset[str]


class Shapes:
    """`recipes` are all of the cluster, as the rules of one decide which labels of another count."""

    def __init__(self, recipes: Iterable[Recipe], readers: Iterable[Reader], label_keys: Iterable[str] = ()) -> None:
        # By id(), as each recipe is kept once and hashing it again costs seconds; kept here, so that no other has the id.
        self._recipes = {id(recipe): recipe for recipe in recipes}
        self._known = {key: _read(recipe) for key, recipe in self._recipes.items()}
        rules = [known.shape for known in self._known.values() if isinstance(known, _Known)]
        own = (reader for shape in rules for reader in readers_of(shape))
        self._readers = LabelReaders([*readers, *own], (*label_keys, *DRAIN_LABELS))
        self._labels: dict[tuple[int, bytes], tuple[tuple[str, str], ...]] = {}
        self._found: dict[object, PodShape] = {}
        self._opaque: dict[str, PodShape] = {}

    def all(self) -> list[PodShape]:
        """Those that were asked for, by id."""
        found = {shape.id: shape for shape in (*self._found.values(), *self._opaque.values())}
        return [found[key] for key in sorted(found)]

    def of(self, recipe: Recipe, labels: bytes, volumes: tuple[VolumeNeed, ...] = (), owner: State = _NO_OWNER) -> PodShape:
        """Raises ShapeError. `labels` are raw JSON."""
        known = self._known[id(recipe)]
        if isinstance(known, str):
            raise ShapeError(known)
        kept = self._kept(recipe, known, labels)
        key = (id(recipe), kept, volumes, owner)
        shape = self._found.get(key)
        if shape is None:
            shape = self._found[key] = _identified(
                msgspec.structs.replace(
                    known.shape,
                    labels=dict(kept),
                    volumes=volumes,
                    owner_missing=owner.missing,
                    owner_replicas=owner.replicas,
                )
            )
        return shape

    def of_template(self, template: Template, volumes: tuple[VolumeNeed, ...] = ()) -> PodShape:
        """What its pods will be. Raises ShapeError."""
        return self.of(template.recipe, template.labels, volumes)

    def opaque(self, namespace: str) -> PodShape:
        """Of a pod that is there but does not read: it takes a slot and keeps its node busy."""
        if namespace not in self._opaque:
            self._opaque[namespace] = _identified(PodShape(id="", namespace=namespace, requests={"pods": 1}))
        return self._opaque[namespace]

    def _kept(self, recipe: Recipe, known: _Known, labels: bytes) -> tuple[tuple[str, str], ...]:
        key = (id(recipe), labels)
        if key not in self._labels:
            try:
                found = strings(labels)
            except UNREADABLE as error:
                raise ShapeError(f"labels: {error}") from error
            self._labels[key] = tuple(self._readers.kept(recipe.namespace, found, known.own_keys).items())
        return self._labels[key]


def _read(recipe: Recipe) -> _Known | str:
    try:
        shape = shape_of(recipe)
    except (QuantityError, *UNREADABLE) as error:
        return str(error)
    return _Known(shape, own_keys(shape))


def _identified(shape: PodShape) -> PodShape:
    """With an id that is a hash of its content."""
    return msgspec.structs.replace(shape, id=hashlib.sha256(encode(shape)).hexdigest()[:12])
