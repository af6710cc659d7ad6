"""Volumes that still hang on a node. An instance that ends under them keeps them from their next node for six minutes.

Source: pkg/controller/volume/attachdetach of kubernetes (maxWaitForUnmountDuration); a VolumeAttachment is deleted once its
driver has detached the volume (k8s.io/api/storage/v1/types.go).
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

import msgspec

from spillway.kube import fields
from spillway.kube.live_pods import LivePod
from spillway.kube.pages import read_list
from spillway.kube.resources import OTHERS, Resource
from spillway.kube.session import Answer, Session

P = TypeVar("P", bound=fields.Listed)
_RESOURCES = {resource.kind: resource for resource in OTHERS}


class _Source(fields.Part):
    persistent_volume_name: str | None = None


class _AttachmentSpec(fields.Part):
    node_name: str = ""
    source: _Source | None = None


class _Attachment(fields.Part):
    metadata: fields.BareMeta
    spec: _AttachmentSpec

    @property
    def volume(self) -> str:
        """The name of its PersistentVolume; an inline volume has none."""
        return (self.spec.source.persistent_volume_name or "" if self.spec.source else "") or self.metadata.name


class _Attachments(fields.Listed):
    items: list[_Attachment] | None = None


class _ClaimSpec(fields.Part):
    volume_name: str | None = None


class _Claim(fields.Part):
    spec: _ClaimSpec | None = None


class _Claims(fields.Listed):
    items: list[_Claim] | None = None


_attachments = msgspec.json.Decoder(_Attachments)
_claims = msgspec.json.Decoder(_Claims)


def attached(session: Session, node: str, beside: Iterable[LivePod]) -> tuple[str, ...]:
    """Volumes on the node, by name, but for those of pods that stay there to the end. Raises what Session.call raises."""
    found: set[str] = set()
    for page in _pages(session, _RESOURCES["VolumeAttachment"], _attachments):
        found |= {one.volume for one in page.items or () if one.spec.node_name == node}
    for pod in beside if found else ():
        for claim in pod.claims:
            found -= _volumes(session, pod.namespace, claim)
    return tuple(sorted(found))


def _volumes(session: Session, namespace: str, claim: str) -> set[str]:
    """What the claim is bound to; a list of one name, which needs no right beyond those of a snapshot."""
    asked = replace(_RESOURCES["PersistentVolumeClaim"], namespace=namespace, field_selector=f"metadata.name={claim}")
    pages = _pages(session, asked, _claims)
    return {one.spec.volume_name for page in pages for one in page.items or () if one.spec and one.spec.volume_name}


def _pages(session: Session, resource: Resource, decoder: msgspec.json.Decoder[P]) -> list[P]:
    pages: list[P] = []

    def take(answer: Answer, more: Callable[[fields.Listed], object]) -> None:
        page = decoder.decode(answer.body)
        more(page)
        pages.append(page)

    read_list(session, resource, take, pages.clear)
    return pages
