"""Rules between pods in one line each."""

from typing import Any

from spillway.model.cluster import PodAffinityTerm, SpreadConstraint
from spillway.model.selector import Requirement

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


def labelled(**labels: str) -> tuple[Requirement, ...]:
    return tuple(Requirement(key=key, operator="In", values=(value,)) for key, value in labels.items())


def term(key: str = HOST, app: str = "db", **fields: Any) -> tuple[PodAffinityTerm, ...]:
    """Required, of the pods with this `app`."""
    return (PodAffinityTerm(topology_key=key, selector=fields.pop("selector", labelled(app=app)), **fields),)


def spread(key: str = ZONE, app: str = "web", skew: int = 1, **fields: Any) -> SpreadConstraint:
    """DoNotSchedule, of the pods with this `app`."""
    selector = fields.pop("selector", labelled(app=app))
    return SpreadConstraint(
        topology_key=key, max_skew=skew, when_unsatisfiable=fields.pop("when", "DoNotSchedule"), selector=selector, **fields
    )
