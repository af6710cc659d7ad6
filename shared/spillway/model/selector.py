"""Selector expressions, of labels and of nodes. Source: k8s.io/api/core/v1/types.go."""

from spillway.model.base import Model

ANY_VALUE = "*"
"""Stands for the value of a pod's label of which rules read only that it is there. No label may have it, as "*" is no
character of a label's value (k8s.io/apimachinery/pkg/util/validation, IsValidLabelValue)."""

UNTOLD = "?"
"""Stands for the value of a node's label of which nobody knows more than that it will be there. It is no value, either."""


class Requirement(Model, frozen=True):
    """One selector expression; `operator` is In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Model, frozen=True):
    """All expressions and fields hold together; a term without either matches no node."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


class PreferredTerm(Model, frozen=True):
    weight: int
    term: NodeSelectorTerm
