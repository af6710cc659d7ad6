"""/version, /api, /apis and the resource lists below them."""

from collections.abc import Iterable
from typing import Any

from spillway_local.kube_api.kinds import Kind, Kinds

_VERSION = {
    "major": "1", "minor": "37", "gitVersion": "v1.37.2", "gitCommit": "", "gitTreeState": "clean",
    "buildDate": "2025-08-27T10:09:04Z", "goVersion": "go1.24.5", "compiler": "gc", "platform": "linux/amd64",
}  # fmt: skip
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


def discover(kinds: Kinds, path: str) -> dict[str, Any] | str | None:
    """What such a path answers, None for one that is unknown."""
    steps = path.partition("?")[0].strip("/").split("/")
    match steps:
        case ["version"]:
            return dict(_VERSION)
        case ["healthz" | "livez" | "readyz"]:
            return "ok"
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["api", "v1"]:
            return _resources("v1", (kind for kind in kinds if not kind.group))
        case ["apis"]:
            groups = sorted({kind.group for kind in kinds if kind.group})
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(kinds, group) for group in groups]}
        case ["apis", group] if any(kind.group == group for kind in kinds):
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(kinds, group)}
        case ["apis", group, version]:
            found = [kind for kind in kinds if (kind.group, kind.version) == (group, version)]
            return _resources(f"{group}/{version}", found) if found else None
    return None


def _group(kinds: Kinds, group: str) -> dict[str, Any]:
    versions = sorted({kind.version for kind in kinds if kind.group == group})
    entries = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": entries, "preferredVersion": entries[0]}


def _resources(group_version: str, kinds: Iterable[Kind]) -> dict[str, Any]:
    entries = []
    for kind in kinds:
        entry = {"name": kind.plural, "singularName": kind.name.lower(), "namespaced": kind.namespaced, "kind": kind.name}
        entries.append({**entry, "verbs": _VERBS})
        entries += [
            {**entry, "name": f"{kind.plural}/{sub}", "singularName": "", "verbs": ["get"]} for sub in kind.subresources
        ]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": entries}
