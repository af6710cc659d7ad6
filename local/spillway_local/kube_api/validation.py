"""What the server does not store: names and values of labels, taints, and changes to what is fixed.

Sources: k8s.io/apimachinery/pkg/util/validation/validation.go, pkg/apis/core/validation/validation.go.
"""

import re
from collections.abc import Iterator, Mapping

from spillway_local.kube_api.kinds import NODE, POD, Kind
from spillway_local.kube_api.refusals import Problem, invalid
from spillway_local.kube_api.store import Body

_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_ENDS = "and must start and end with an alphanumeric character"
_PLAIN = f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS} (e.g. 'MyName',  or 'my.name',  or '123-abc'"
_PLAIN_VALUE = (
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS} "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE}')"
)
_LOWER = f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}"
_LONGEST = 63
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_POD_MAY_CHANGE = {
    "containers", "initContainers", "tolerations", "activeDeadlineSeconds", "terminationGracePeriodSeconds", "schedulingGates",
}  # fmt: skip


def validate(kind: Kind, body: Body, old: Body | None = None) -> None:
    """Of an object that comes over HTTP, `old` when it is there already; raises Refusal 422."""
    meta = body["metadata"]
    problems = list(_name(meta["name"])) if old is None else []
    for key, value in (meta.get("labels") or {}).items():
        problems += [Problem("metadata.labels", told) for told in (*_key(key), *_value(value))]
    if kind is NODE:
        problems += _taints((body.get("spec") or {}).get("taints") or ())
    if old is not None:
        problems += _changes(kind, body, old)
    if problems:
        raise invalid(kind, meta["name"], problems)


def _name(name: str) -> Iterator[Problem]:
    if not re.fullmatch(_SUBDOMAIN, name):
        yield Problem("metadata.name", f'Invalid value: "{name}": {_LOWER}')


def _value(text: str) -> Iterator[str]:
    if len(text) > _LONGEST:
        yield f'Invalid value: "{text}": must be no more than {_LONGEST} bytes'
    if not re.fullmatch(_VALUE, text):
        yield f'Invalid value: "{text}": {_PLAIN_VALUE}'


def _key(text: str) -> Iterator[str]:
    head = f'Invalid value: "{text}":'
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        yield f"{head} a valid label key {_PLAIN}"
        return
    if slash and not prefix:
        yield f"{head} prefix part must be non-empty"
    elif slash and not re.fullmatch(_SUBDOMAIN, prefix):
        yield f"{head} prefix part {_LOWER}"
    if not name:
        yield f"{head} name part must be non-empty"
    elif len(name) > _LONGEST:
        yield f"{head} name part must be no more than {_LONGEST} bytes"
    if not re.fullmatch(_NAME, name):
        yield f"{head} name part {_PLAIN}"


def _taints(taints: list[Body] | tuple[Body, ...]) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    for at, taint in enumerate(taints):
        path, key, effect = f"metadata.taints[{at}]", taint.get("key") or "", taint.get("effect") or ""
        yield from (Problem(f"{path}.key", told) for told in _key(key))
        yield from (Problem(f"{path}.value", told) for told in _value(taint.get("value") or ""))
        if not effect:
            yield Problem(f"{path}.effect", "Required value")
        elif effect not in _EFFECTS:
            known = ", ".join(f'"{one}"' for one in _EFFECTS)
            yield Problem(f"{path}.effect", f'Unsupported value: "{effect}": supported values: {known}')
        if (key, effect) in seen:
            yield Problem(path, f'Duplicate value: "{key}": taints must be unique by key and effect pair')
        seen.add((key, effect))


def _changes(kind: Kind, body: Body, old: Body) -> Iterator[Problem]:
    uid = body["metadata"].get("uid") or old["metadata"]["uid"]
    if uid != old["metadata"]["uid"]:
        yield Problem("metadata.uid", f'Invalid value: "{uid}": field is immutable')
    spec, before = body.get("spec") or {}, old.get("spec") or {}
    if kind is NODE and before.get("providerID") and spec.get("providerID") != before["providerID"]:
        yield Problem("spec.providerID", "Invalid value: null: field cannot be modified once set")
    if kind is POD and _fixed(spec, before) != _fixed(before, before):
        yield Problem("spec", "Forbidden: pod updates may not change fields other than those of a few")


def _fixed(spec: Mapping[str, object], before: Mapping[str, object]) -> Body:
    """A gated pod may still be told where it may go."""
    free = _POD_MAY_CHANGE | ({"nodeSelector", "affinity"} if before.get("schedulingGates") else set())
    return {name: value for name, value in spec.items() if name not in free}
