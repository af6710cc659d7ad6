"""Label and field selectors: k8s.io/apimachinery/pkg/labels/selector.go and pkg/fields/selector.go."""

import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any

from spillway_local.kube_api.kinds import Kind
from spillway_local.kube_api.refusals import bad_request

Labels = Mapping[str, str]
Requirement = tuple[str, str, tuple[str, ...]]  # key, operator as in matchExpressions, values
_SET = re.compile(r"^(\S+)\s+(in|notin)\s*\(([^)]*)\)$")
_EQUAL = re.compile(r"^([^=!\s]+)\s*(==|=|!=)\s*(\S*)$")
_META = ("metadata.name", "metadata.namespace")
# What each resource can be selected by; all others know name and namespace only (pkg/registry/core/*/strategy.go).
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
        "status.phase", "status.podIP", "status.nominatedNodeName",
    ),
    "nodes": ("spec.unschedulable",),
    "events": (
        "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "reason", "type",
        "reportingComponent", "source",
    ),
    "namespaces": ("status.phase",),
    "jobs.batch": ("status.successful",),
    "replicasets.apps": ("status.replicas",),
}  # fmt: skip


def _holds(labels: Labels, requirement: Requirement) -> bool:
    key, operator, values = requirement
    return holds(labels.get(key), operator, values)


def holds(value: str | None, operator: str, values: Collection[str]) -> bool:
    """Whether a label's value, None where it is absent, meets In, NotIn, Exists or DoesNotExist."""
    match operator:
        case "In":
            return value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case _:
            return value is None


@lru_cache(maxsize=1024)
def parse_labels(text: str) -> tuple[Requirement, ...]:
    """The requirements of `a=b,c in (d,e),!f`; raises Refusal 400."""
    found: list[Requirement] = []
    for part in re.split(r",(?![^(]*\))", text) if text else ():
        part = part.strip()
        if match := _SET.match(part):
            values = tuple(value.strip() for value in match[3].split(","))
            found.append((match[1], "In" if match[2] == "in" else "NotIn", values))
        elif match := _EQUAL.match(part):
            found.append((match[1], "NotIn" if match[2] == "!=" else "In", (match[3],)))
        elif part and not re.search(r"[\s()=]", part):
            found.append((part.lstrip("!"), "DoesNotExist" if part.startswith("!") else "Exists", ()))
        else:
            raise bad_request(f"unable to parse requirement: found '{part}' in label selector '{text}'")
    return tuple(found)


def labels_match(selector: Mapping[str, Any] | None, labels: Labels) -> bool:
    """Whether a LabelSelector object takes in these labels; an empty one takes in all, none takes in nothing."""
    if selector is None:
        return False
    wanted = [(key, "In", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    wanted += [
        (term["key"], term["operator"], tuple(term.get("values") or ())) for term in selector.get("matchExpressions") or ()
    ]
    return all(_holds(labels, requirement) for requirement in wanted)


def _field(body: Mapping[str, Any], path: str) -> str:
    if path == "source":
        return str((body.get("source") or {}).get("component") or body.get("reportingComponent") or "")
    value: Any = body
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    if isinstance(value, bool) or (value is None and path in ("spec.unschedulable", "spec.hostNetwork")):
        return "true" if value else "false"
    return "" if value is None else str(value)


def parse_fields(kind: Kind, text: str) -> list[tuple[str, bool, str]]:
    """(path, wanted equal, value) of `status.phase!=Running,spec.nodeName=`; raises Refusal 400 for unknown fields."""
    found = []
    for part in filter(None, text.split(",")):
        match = _EQUAL.match(part.strip())
        if not match:
            raise bad_request(f"invalid field selector: '{part}'; can't understand '{part}'")
        path = match[1]
        if path not in _META and path not in _FIELDS.get(kind.qualified, ()):
            raise bad_request(f"field label not supported: {path}")
        found.append((path, match[2] != "!=", match[3]))
    return found


def matcher(kind: Kind, label_selector: str, field_selector: str) -> Callable[[Mapping[str, Any]], bool] | None:
    """A test of objects, or None when nothing is selected away."""
    labels, fields = parse_labels(label_selector), parse_fields(kind, field_selector)
    if not labels and not fields:
        return None

    def matches(body: Mapping[str, Any]) -> bool:
        if not all((_field(body, path) == value) is wanted for path, wanted, value in fields):
            return False
        own = body["metadata"].get("labels") or {}
        return all(_holds(own, requirement) for requirement in labels)

    return matches
