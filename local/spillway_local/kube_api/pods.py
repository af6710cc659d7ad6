"""What a pod's body says, in one place for scheduler, kubelet and evictions."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from spillway.model.quantity import resources, total

Body = dict[str, Any]


def is_finished(pod: Body) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def is_terminating(pod: Body) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def is_ready(pod: Body) -> bool:
    return condition(pod, "Ready").get("status") == "True"


def node_of(pod: Body) -> str:
    """The node it is bound to, or ""."""
    return str((pod.get("spec") or {}).get("nodeName") or "")


def controller(pod: Body) -> Body | None:
    """The owner reference with `controller: true`."""
    for owner in pod["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            found: Body = owner
            return found
    return None


def condition(body: Body, kind: str) -> Body:
    """The condition of that type, {} when there is none."""
    for one in (body.get("status") or {}).get("conditions") or ():
        if one.get("type") == kind:
            found: Body = one
            return found
    return {}


def with_condition(body: Body, new: Body, **status: Any) -> Body:
    """The object with one condition put in or replaced, and further fields of its status set.

    The time of the last transition stays when the condition's status does.
    """
    old = body.get("status") or {}
    conditions = list(old.get("conditions") or ())
    for index, one in enumerate(conditions):
        if one.get("type") == new["type"]:
            kept = {"lastTransitionTime": one["lastTransitionTime"]} if "lastTransitionTime" in one else {}
            conditions[index] = {**new, **kept} if one.get("status") == new["status"] else new
            break
    else:
        conditions.append(new)
    return {**body, "status": {**old, **status, "conditions": conditions}}


def phases(found: Iterable[Body]) -> Counter[str]:
    """How many pods are in each phase; `Terminating` counts as a phase of its own."""
    return Counter("Terminating" if is_terminating(pod) else (pod.get("status") or {}).get("phase", "Pending") for pod in found)


def requests(pod: Body) -> dict[str, int]:
    """What the scheduler sets aside: millicores of cpu, bytes, counts; `pods` is 1.

    The sum over containers and sidecars, or the largest init container beside the sidecars before it, if that is
    more; pod-level requests replace both; the overhead is added (k8s.io/component-helpers/resource/helpers.go).
    """
    spec = pod["spec"]
    running = total(_asked(container) for container in spec.get("containers") or ())
    sidecars: dict[str, int] = {}
    highest: dict[str, int] = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            sidecars = total([sidecars, _asked(container)])
            start = sidecars
        else:
            start = total([sidecars, _asked(container)])
        for name, amount in start.items():
            highest[name] = max(highest.get(name, 0), amount)
    running = total([running, sidecars])
    result = {name: max(running.get(name, 0), highest.get(name, 0)) for name in {**running, **highest}}
    result |= resources((spec.get("resources") or {}).get("requests") or {})
    result = total([result, resources(spec.get("overhead") or {})])
    return {**{name: amount for name, amount in result.items() if amount}, "pods": 1}


def _asked(container: Body) -> Mapping[str, int]:
    """A limit without a request is a request, as defaulting makes it."""
    wanted = container.get("resources") or {}
    return resources({**(wanted.get("limits") or {}), **(wanted.get("requests") or {})})
