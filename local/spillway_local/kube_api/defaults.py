"""What the server makes of a new object before it stores it."""

import secrets
from typing import Any

from spillway.model.quantity import QuantityError, resources
from spillway_local.kube_api import events, pods
from spillway_local.kube_api.kinds import EVENT, NODE, POD, Kind
from spillway_local.kube_api.refusals import Problem, Refusal, bad_request, invalid
from spillway_local.kube_api.store import Body


def created(kind: Kind, namespace: str, given: Body) -> Body:
    """The object as a create over HTTP stores it: named, in its namespace, with the status a new one has.

    Raises Refusal 400, 422 and 500.
    """
    body: dict[str, Any] = {name: value for name, value in given.items() if name not in ("kind", "apiVersion")}
    meta = dict(body.get("metadata") or {})
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = meta["generateName"] + secrets.token_hex(3)[:5]
    if not meta.get("name"):
        raise invalid(kind, "", [Problem("metadata.name", "Required value: name or generateName is required")])
    if meta.get("resourceVersion"):
        raise Refusal(500, "resourceVersion should not be set on objects to be created", reason="")
    if kind.namespaced:
        if meta.setdefault("namespace", namespace or "default") != (namespace or "default"):
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    else:
        meta.pop("namespace", None)
    for name in ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"):
        meta.pop(name, None)
    body["metadata"] = meta
    if kind is POD:
        body["spec"] = pod_spec(body.get("spec") or {})
        body["status"] = {"phase": "Pending"}
    elif kind is not NODE and "status" in kind.subresources:  # a kubelet registers its node with its status
        body.pop("status", None)
    check(kind, body)
    if kind is EVENT:
        events.check(body)
    return body


def check(kind: Kind, body: Body) -> None:
    """Raises Refusal 400 for a quantity that is none, which a real server would not decode."""
    try:
        if kind is POD:
            pods.requests(body)
        elif kind is NODE:
            resources((body.get("status") or {}).get("allocatable") or {})
    except QuantityError:
        why = r"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        raise bad_request(f'{kind.name} in version "{kind.version}" cannot be handled as a {kind.name}: {why}') from None


def pod_spec(spec: Body) -> Body:
    """With the defaults that others read: pkg/apis/core/v1/defaults.go, and the priority admission's 0."""
    return {
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
        "priority": 0,
        "restartPolicy": "Always",
        **spec,
    }
