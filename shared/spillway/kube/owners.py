"""Who makes a pod anew: its controller, and how many pods that wants."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Raw

from spillway.kube import fields
from spillway.kube.kinds import kind_in

MANY = 10  # replicas above it are not told apart: no rule asks for more
_DEPLOYMENT_WANTS = "deployment.kubernetes.io/desired-replicas"
_DEPLOYMENT_REVISION = "deployment.kubernetes.io/revision"


class Owner(NamedTuple):
    """A controller. `kind` as `kinds.kind_in` names it, so that a StatefulSet of another API group is not Kubernetes' own."""

    kind: str
    name: str
    uid: str

    @property
    def shape_kind(self) -> str:
        """As PodShape has it: a DaemonSet is one whoever defines it, as its pods come with every node."""
        return "DaemonSet" if self.kind.startswith("DaemonSet.") else self.kind


class Controller(NamedTuple):
    """A ReplicaSet, StatefulSet, ReplicationController or Job as it is kept; of a DaemonSet no more than its uid is asked.

    `replicas` is how many pods it wants, `template` raw JSON, b"" where nobody needs it. A ReplicaSet of a Deployment has
    that as `owner`, its `revision`, and in `wanted` how many pods the Deployment wants.
    """

    uid: str
    replicas: int | None = None
    template: bytes = b""
    owner: Owner | None = None
    revision: int = 0
    wanted: int | None = None


class _Meta(fields.BareMeta):
    uid: str = ""
    owner_references: list[fields.OwnerReference] | None = None
    annotations: dict[str, str] | None = None


class _Spec(fields.Part):
    replicas: int | None = None
    parallelism: int | None = None
    completions: int | None = None
    template: Raw = fields.ABSENT


class _Status(fields.Part):
    conditions: list[fields.PodCondition] | None = None


class _Object(fields.Part):
    metadata: _Meta
    spec: _Spec | None = None
    status: _Status | None = None


_object = msgspec.json.Decoder(_Object)


def owner_of(references: Sequence[fields.OwnerReference]) -> Owner | None:
    """The one that is the controller."""
    for reference in references:
        if reference.controller:
            kind = fields.as_name(kind_in(reference.api_version, reference.kind))  # the API takes one of any length
            return Owner(kind, reference.name, reference.uid)
    return None


def read(raw: Raw | bytes) -> tuple[tuple[str, str], Controller]:
    """One that says how many pods it wants in `replicas`; the API server's default is 1."""
    found = _object.decode(raw)
    spec, notes = found.spec or _Spec(), found.metadata.annotations or {}
    replicas = 1 if spec.replicas is None else spec.replicas
    owner = owner_of(found.metadata.owner_references or ())
    is_old = owner is not None and not replicas and notes.get(_DEPLOYMENT_WANTS, "0") != "0"
    return found.metadata.key, Controller(
        uid=found.metadata.uid,
        replicas=replicas,
        template=b"" if is_old else bytes(spec.template),  # an old ReplicaSet of a Deployment that has a newer one
        owner=owner,
        revision=fields.number(notes.get(_DEPLOYMENT_REVISION)) or 0,
        wanted=fields.number(notes.get(_DEPLOYMENT_WANTS)),
    )


def read_job(raw: Raw | bytes) -> tuple[tuple[str, str], Controller]:
    found = _object.decode(raw)
    spec, status = found.spec or _Spec(), found.status or _Status()
    is_done = any(one.type in ("Complete", "Failed") and one.status == "True" for one in status.conditions or ())
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    return found.metadata.key, Controller(
        uid=found.metadata.uid,
        replicas=parallelism if spec.completions is None else min(parallelism, spec.completions),
        template=b"" if is_done else bytes(spec.template),
        owner=owner_of(found.metadata.owner_references or ()),
    )


class State(NamedTuple):
    """Of a pod's owner, as the drain asks: see PodShape."""

    missing: bool = False
    replicas: int | None = None


def state_of(owner: Owner | None, namespace: str, known: Mapping[str, Mapping[tuple[str, str], Controller]]) -> State:
    """`known` holds the controllers by kind, for kinds whose list was read; the owners of others may well be there."""
    if owner is None or owner.kind not in known:
        return State()
    found = known[owner.kind].get((namespace, owner.name))
    if found is None or (found.uid and owner.uid and found.uid != owner.uid):
        return State(missing=True)
    return State(replicas=None if found.replicas is None else min(found.replicas, MANY))
