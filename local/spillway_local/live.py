"""A dump of what runs: the answers of the API server and of AWS, written down without what they keep secret."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from spillway import clock
from spillway.aws.kept import Kept
from spillway.aws.partial import Partial
from spillway.errors import AwsError, ClusterForbidden
from spillway.kube import resources
from spillway.kube.envelope import envelope_of
from spillway.kube.fields import Listed
from spillway.kube.pages import read_list
from spillway.kube.resources import Resource
from spillway.kube.session import Answer, Session
from spillway_local.user_data import told

NEEDED = (resources.NODES, resources.PODS)  # without them there is no dump

# What `kubectl apply` keeps of a whole object. Beside these, values of the environment wherever a pod or its template
# stands: `env` with a list, as it may be a label's key too; and of what an instance is started with all but the kubelet's.
SECRET = frozenset({"kubectl.kubernetes.io/last-applied-configuration", "managedFields"})
NODES_SHOW = frozenset({"managedFields"})  # who cordoned them; values stand in them nowhere


def write_cluster(folder: Path, session: Session) -> tuple[datetime, list[str]]:
    """Fills DIR/cluster; returns the server's time and a sentence for each list that may not be read.

    Raises ClusterError where there is no answer, and ClusterForbidden for nodes and pods.
    """
    folder.mkdir(parents=True)
    answer = session.call("GET", "/version", ("get", "/version"))
    _write(folder / "version.json", {"serverVersion": json.loads(answer.body)})
    lists, left_out = [*NEEDED, *resources.OTHERS], []
    try:
        lists += resources.optional(session, lambda _: None)
    except ClusterForbidden as error:
        left_out.append(f"what the cluster has beside Kubernetes' own is left out: {error}")
    for resource in lists:
        try:
            found = _read(session, resource)
        except ClusterForbidden as error:
            if resource in NEEDED:
                raise
            left_out.append(f"{resource.name} are left out: {error}")
            continue
        _write(folder / f"{resource.name}.json", found, NODES_SHOW if resource is resources.NODES else frozenset())
    date = answer.headers.get("Date", "")
    return parsedate_to_datetime(date).astimezone(UTC) if date else clock.utcnow(), left_out


def _read(session: Session, resource: Resource) -> dict[str, Any]:
    items: list[Any] = []
    envelope: dict[str, Any] = {}

    def take(answer: Answer, more: Callable[[Listed], object]) -> None:
        page = envelope_of(answer.body)
        more(page)
        envelope.update(kind=page.kind, apiVersion=page.api_version)
        items.extend(json.loads(bytes(item)) for item in page.items or ())

    read_list(session, resource, take, items.clear)
    return {**envelope, "metadata": {}, "items": items}


def write_fleet(folder: Path, answers: Mapping[str, Mapping[str, Any] | AwsError]) -> list[str]:
    """Fills DIR/fleet; returns a sentence for each answer that is missing. Raises the error of a region without groups."""
    left_out = []
    for region, found in answers.items():
        if isinstance(found, AwsError):
            raise found
        (folder / region).mkdir(parents=True)
        for key, value in found.items():
            if isinstance(value, AwsError):
                left_out.append(f"{key} are left out: {value}")
                continue
            if isinstance(value, Partial):
                left_out += [f"{part} of {key} is left out: {error}" for part, error in value.missing.items()]
            _write(folder / region / f"{key}.json", {key: value.value if isinstance(value, Kept | Partial) else value})
    return left_out


def _write(file: Path, value: object, shown: frozenset[str] = frozenset()) -> None:
    """Without what is secret, but for the keys that are `shown`."""
    file.write_text(json.dumps(_open(value, SECRET - shown), indent=1, default=_text) + "\n", encoding="utf-8")


def _open(value: Any, secret: frozenset[str]) -> Any:
    if isinstance(value, Mapping):
        hidden = secret | {"env"} if isinstance(value.get("env"), list) else secret
        shown = {key: _open(inner, secret) for key, inner in value.items() if key not in hidden | {"UserData"}}
        kept = told(value["UserData"]) if isinstance(value.get("UserData"), str) else None
        return shown | ({"UserData": kept} if kept else {})
    if isinstance(value, list | tuple):
        return [_open(inner, secret) for inner in value]
    return value


def _text(value: object) -> str:
    """Times as the AWS CLI prints them."""
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is nothing that AWS answers")
