"""Custom resources on a real server, which serves them, and stops to, a moment after it is told."""

from collections.abc import Callable
from time import monotonic, sleep

from spillway_local.control_plane.client import Client
from spillway_local.kube_api.kinds import Kind
from spillway_local.kube_api.refusals import Refusal, unless_gone

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_LOOK_S, _LIMIT_S = 0.02, 20.0


def install(client: Client, kind: Kind) -> None:
    """Any fields are taken. Returns when it is served and discovery tells of it."""
    names = {"plural": kind.plural, "singular": kind.name.lower(), "kind": kind.name, "listKind": f"{kind.name}List"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": kind.version, "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    scope = "Namespaced" if kind.namespaced else "Cluster"
    spec = {"group": kind.group, "scope": scope, "names": names, "versions": [version]}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    client.ask("POST", _CRDS, {**head, "metadata": {"name": kind.qualified}, "spec": spec})
    _until(lambda: _is_known(client, kind) and _status(client, kind.path()) == 200, f"{kind.qualified} is served")


def uninstall(client: Client, kind: Kind) -> None:
    """With all objects of it. Returns when it is neither served nor told of, and its name is free."""
    definition = f"{_CRDS}/{kind.qualified}"
    with unless_gone():
        client.ask("DELETE", definition)
    _until(
        lambda: not _is_known(client, kind) and {_status(client, path) for path in (kind.path(), definition)} == {404},
        f"{kind.qualified} is gone",
    )


def _is_known(client: Client, kind: Kind) -> bool:
    groups = client.get("/apis")["groups"]
    if not any(kind.api_version == one["groupVersion"] for group in groups for one in group["versions"]):
        return False
    try:
        found = client.get(f"/apis/{kind.api_version}")["resources"]
    except Refusal:
        return False
    return any(one["name"] == kind.plural for one in found)


def _status(client: Client, path: str) -> int:
    try:
        client.get(path)
    except Refusal as refusal:
        return refusal.code
    return 200


def _until(holds: Callable[[], bool], what: str) -> None:
    end = monotonic() + _LIMIT_S
    while not holds():
        if monotonic() > end:
            raise TimeoutError(f"the server does not say within {_LIMIT_S:.0f} s that {what}")
        sleep(_LOOK_S)
