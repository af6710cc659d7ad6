"""What a cluster needs of a clock, and what the fake cluster and a real one both offer."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Literal, Protocol

from spillway_local.kube_api.kinds import Kind

Object = dict[str, Any]
What = Literal["ADDED", "MODIFIED", "DELETED"]


class Timer(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    """`spillway_local.clock.VirtualClock` is one."""

    def now(self) -> datetime: ...

    def call_in(self, seconds: float, action: Callable[[], None]) -> Timer: ...

    def busy(self) -> AbstractContextManager[None]: ...


class Cluster(Protocol):
    """A Kubernetes cluster as tests and the local world use it: objects as JSON, and its API over plain HTTP on loopback.

    `FakeCluster` is one, `spillway_local.control_plane.cluster.RealCluster` the other. Kinds are named by kind (`Pod`) or
    plural.
    """

    @property
    def clock(self) -> Clock: ...

    @property
    def url(self) -> str:
        """Where a client of Spillway's reaches the API."""

    @property
    def token(self) -> str:
        """The bearer token of `tester`, who may do everything until `allow` says what."""

    @property
    def tokens(self) -> Mapping[str, str]:
        """Of each user: `tester`, and `spillway`, who is in the group that deploy/rbac.yaml binds its role to."""

    def define(self, group: str, version: str, name: str, plural: str, namespaced: bool = True) -> Kind:
        """Serves a custom resource of any fields, as if its CustomResourceDefinition were installed."""

    def add(self, obj: Object) -> Object:
        """Stores an object, or the items of a List, status included, and answers what was stored; raises Refusal.

        What only a server sets (uid, times) may differ from what is given.
        """

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """A copy of the object, None when there is none."""

    def objects(self, kind: str) -> list[Object]:
        """Copies of all objects of a kind, by namespace and name."""

    def edit(self, kind: str, name: str, change: Callable[[Object], None], namespace: str | None = None) -> Object:
        """Has `change` work on a copy and stores what comes of it, status included; raises Refusal 404.

        `change` may be called again when somebody else wrote meanwhile.
        """

    def remove(self, kind: str, name: str, namespace: str | None = None, grace_s: int = 0) -> None:
        """Deletes an object as a client would; raises Refusal 404."""

    def watch(self, kind: str, listener: Callable[[What, Object], None]) -> Callable[[], None]:
        """Has `listener` told of what there is, as ADDED, and then of each change, in order; the answer ends that.

        It is called by the thread that wrote or by one of the cluster's own, so it must be short, must not write to
        the cluster (a timer of the clock can) and must not change the object.
        """

    def phases(self) -> Counter[str]:
        """How many pods are in each phase; `Terminating` counts as a phase of its own."""

    def allow(self, rules: Iterable[tuple[str, str]] | None) -> None:
        """`tester` may do only these (verb, resource) from now on; None: all.

        As `("list", "pods")`, `("create", "pods/eviction")`, `("*", "nodes")`.
        """

    def fail(
        self, verb: str, resource: str, status: int, times: int = 1, retry_after: int | None = None,
        name: str | None = None, after: int = 0,
    ) -> None:  # fmt: skip
        """The next `times` matching requests to `url` get this status, once `after` more have gone well; `*` is any."""

    def hang(self, verb: str, resource: str, times: int = 1) -> None:
        """The next matching requests are never answered; they end when the client gives up or the server stops."""

    def drop(self, verb: str, resource: str, times: int = 1) -> None:
        """The connection of the next matching requests is closed without an answer."""

    def compact(self) -> None:
        """Old resourceVersions and continue tokens get 410 from now on."""

    @property
    def requests(self) -> Counter[tuple[str, str]]:
        """Requests to `url` so far by (verb, resource)."""

    @property
    def bytes_sent(self) -> int:
        """Bytes of answers of `url` on the wire so far, headers not counted."""
