"""Shapes of the pods that templates will make. One tenant may make thousands of objects of one large template, so each is
judged once."""

from spillway.kube.recipes import Template
from spillway.kube.shapes import ShapeError, Shapes
from spillway.kube.volumes import Resolver
from spillway.model.base import Resources


class TemplateShapes:
    """Known by id(), so the templates must be kept as long as this is."""

    def __init__(self, shapes: Shapes, resolver: Resolver) -> None:
        self._shapes, self._resolver = shapes, resolver
        self._known: dict[int, tuple[str, Resources] | str] = {}

    def of(self, namespace: str, template: Template) -> tuple[str, Resources]:
        """Id and requests. Raises ShapeError."""
        if id(template) not in self._known:
            self._known[id(template)] = self._judged(namespace, template)
        found = self._known[id(template)]
        if isinstance(found, str):
            raise ShapeError(found)
        return found

    def _judged(self, namespace: str, template: Template) -> tuple[str, Resources] | str:
        try:
            shape = self._shapes.of_template(template, self._resolver.needs(namespace, template.volumes, ""))
        except ShapeError as error:
            return str(error)
        return shape.id, shape.requests
