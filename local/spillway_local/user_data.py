"""Of user data a dump keeps what it tells the kubelet, in the words of its own form, and nothing else."""

import base64
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping

from spillway.aws import user_data
from spillway.aws.kubelet import Settings
from spillway.model.policy import ImageFamily


def told(encoded: str) -> str | None:
    """Base64 text that `spillway.aws.user_data.read` reads as it reads `encoded`; None where that tells or reads nothing."""
    try:
        settings = user_data.read(encoded)
    except user_data.Unreadable:
        return None
    if settings == Settings():
        return None
    return base64.b64encode(_FORMS.get(settings.family, _script)(settings).encode()).decode()


def _node_config(settings: Settings) -> str:
    spec: dict[str, object] = {"kubelet": {"flags": list(_flags(settings))}}
    if settings.instance_store:
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
    return json.dumps({"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec})


def _bootstrap(settings: Settings) -> str:
    arguments = ["--kubelet-extra-args", " ".join(map(shlex.quote, _flags(settings)))]
    arguments += ["--use-max-pods", "false"] if settings.max_pods_unset else []
    arguments += ["--local-disks", "raid0"] if settings.instance_store else []
    return f"{_script(settings)}\n/etc/eks/bootstrap.sh {shlex.join(arguments)}"


def _bottlerocket(settings: Settings) -> str:
    lines = ["[settings.kubernetes]"] + ([f"max-pods = {settings.max_pods}"] if settings.max_pods else [])
    taints: dict[str, list[str]] = {}
    for taint in settings.taints:
        taints.setdefault(taint.key, []).append(f"{taint.value}:{taint.effect}")
    tables: dict[str, Mapping[str, object]] = {
        "kubernetes.kube-reserved": settings.kube_reserved,
        "kubernetes.system-reserved": settings.system_reserved,
        "kubernetes.eviction-hard": settings.eviction_hard,
        "kubernetes.node-labels": settings.labels,
        "kubernetes.node-taints": taints,
        "kernel.sysctl": {"vm.nr_hugepages": str(_hugepages(settings))} if settings.hugepages else {},
    }
    for name, table in tables.items():
        if table:
            lines += [f"[settings.{name}]", *(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in table.items())]
    return "\n".join(lines)


def _script(settings: Settings) -> str:
    return f"#!/bin/sh\nsysctl -w vm.nr_hugepages={_hugepages(settings)}" if settings.hugepages else "#!/bin/sh"


_FORMS: Mapping[ImageFamily | None, Callable[[Settings], str]] = {
    ImageFamily.AL2023: _node_config,
    ImageFamily.AL2: _bootstrap,
    ImageFamily.BOTTLEROCKET: _bottlerocket,
}


def _flags(settings: Settings) -> Iterator[str]:
    if settings.max_pods:
        yield f"--max-pods={settings.max_pods}"
    for name, pairs, mark in (
        ("node-labels", settings.labels, "="),
        ("kube-reserved", settings.kube_reserved, "="),
        ("system-reserved", settings.system_reserved, "="),
        ("eviction-hard", settings.eviction_hard, "<"),
    ):
        if pairs:
            yield f"--{name}=" + ",".join(f"{key}{mark}{value}" for key, value in pairs.items())
    if settings.taints:
        yield "--register-with-taints=" + ",".join(f"{one.key}={one.value}:{one.effect}" for one in settings.taints)


def _hugepages(settings: Settings) -> int:
    """How many, of 2 MiB."""
    (text,) = settings.hugepages.values()
    return int(re.sub(r"\D", "", text)) // 2
