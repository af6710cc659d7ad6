"""Roles on a real server, whose authorizer follows them a moment behind."""

import secrets
from collections.abc import Iterable
from time import monotonic, sleep
from typing import Any

from spillway_local.control_plane.client import Client
from spillway_local.kube_api.access import Rule
from spillway_local.kube_api.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, RBAC
from spillway_local.kube_api.protocol import Object
from spillway_local.kube_api.refusals import unless_gone

ALL: tuple[Rule, ...] = ({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, {"nonResourceURLs": ["*"], "verbs": ["*"]})
_LOOK_S, _LIMIT_S = 0.005, 10.0
_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def grant(client: Client, user: str, rules: Iterable[Rule]) -> None:
    """From its return on the user may do this, and nothing that an earlier call gave.

    The first rule is about nothing that there is: it tells one grant from another.
    """
    mark = {"apiGroups": [RBAC], "resources": ["marks"], "resourceNames": [secrets.token_hex(4)], "verbs": ["get"]}
    role = {"metadata": {"name": user}, "rules": [mark, *rules]}
    named = {"apiGroup": RBAC, "kind": "ClusterRole", "name": user}
    binding = {"metadata": {"name": user}, "roleRef": named, "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}]}
    for kind, body in ((CLUSTER_ROLE, role), (CLUSTER_ROLE_BINDING, binding)):
        whole = {"apiVersion": kind.api_version, "kind": kind.name, **body}
        if any(one["metadata"]["name"] == user for one in client.get(kind.path())["items"]):
            client.ask("PUT", f"{kind.path()}/{user}", whole)
        else:
            client.ask("POST", kind.path(), whole)
    _until(client, binding, mark, True)


def follow(client: Client, binding: Object) -> None:
    """Returns when the authorizer knows a ClusterRoleBinding whose role is there."""
    _until(client, binding, _rule_of(client, binding), True)


def forget(client: Client, binding: Object) -> None:
    """Deletes a ClusterRoleBinding, if it is there, and returns when it gives no rights any more.

    One whose role is gone gives none.
    """
    with unless_gone():
        client.ask("DELETE", f"{CLUSTER_ROLE_BINDING.path()}/{binding['metadata']['name']}")
    with unless_gone():
        _until(client, binding, _rule_of(client, binding), False)


def _rule_of(client: Client, binding: Object) -> Rule:
    role = client.get(f"{CLUSTER_ROLE.path()}/{binding['roleRef']['name']}")
    return next(rule for rule in role["rules"] if rule.get("resources"))


def _until(client: Client, binding: Object, rule: Rule, allowed: bool) -> None:
    subject = binding["subjects"][0]
    who: dict[str, Any] = {"user": subject["name"]}
    if subject["kind"] == "Group":
        who = {"user": "anybody", "groups": [subject["name"]]}
    elif subject["kind"] == "ServiceAccount":
        who = {"user": f"system:serviceaccount:{subject['namespace']}:{subject['name']}"}
    resource, _, subresource = rule["resources"][0].partition("/")
    what = {"verb": rule["verbs"][0], "group": rule["apiGroups"][0], "resource": resource, "subresource": subresource}
    what["name"] = next(iter(rule.get("resourceNames") or ("",)))
    asked = {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {**who, "resourceAttributes": what},
    }  # fmt: skip
    end = monotonic() + _LIMIT_S
    while client.ask("POST", _REVIEWS, asked)["status"]["allowed"] is not allowed:
        if monotonic() > end:
            raise TimeoutError(f"the server has not taken note of {binding['metadata']['name']} within {_LIMIT_S:.0f} s")
        sleep(_LOOK_S)
