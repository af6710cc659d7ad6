"""What the volumes of a pod ask of its node."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from spillway.kube.pod_volumes import Use
from spillway.model.volumes import VolumeNeed

if TYPE_CHECKING:  # which registers the readers of this module
    from spillway.kube.objects import Objects


class Resolver:
    """Over all that `objects` holds of volumes."""

    def __init__(self, objects: "Objects") -> None:
        self._objects = objects

    def needs(self, namespace: str, uses: Iterable[Use], pod_uid: str) -> tuple[VolumeNeed, ...]:
        """Of a pod in `namespace`; a template's pod has the uid ""."""
        return ()
