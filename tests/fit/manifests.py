"""Kubernetes objects for tests of fit, in one line each."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.kube import objects
from tests.kube.objects import Object

HOSTNAME, ZONE, TYPE = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def node(
    name: str = "n1", zone: str = "a", *, labels: Mapping[str, str] | None = None, spec: Object | None = None, **have: str
) -> Object:
    """With the labels of its name and zone, and what `have` says beyond 4 CPUs, 16 GiB and 110 pods."""
    found = objects.node(name, spec=spec, labels={HOSTNAME: name, ZONE: zone, **(labels or {})})
    found["status"]["allocatable"] |= have
    return found


def pod(name: str = "p", node: str = "", *, namespace: str = "default", app: str = "web", cpu: str = "", **spec: Any) -> Object:
    """Labelled app=`app`; on `node`, or waiting."""
    return objects.pod(name, node=node, cpu=cpu, spec=spec, namespace=namespace, labels={"app": app})


def namespace(name: str, **labels: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def app(name: str) -> Object:
    """The selector of pods labelled so."""
    return {"matchLabels": {"app": name}}


def term(key: str = ZONE, selector: Object | None = None, **fields: Any) -> Object:
    """Of pod affinity; of the pods labelled app=web where no selector is given."""
    return {"topologyKey": key, "labelSelector": app("web") if selector is None else selector, **fields}


def beside(*terms: Object) -> Object:
    """The affinity of a pod that wants to be beside those of `terms`."""
    return {"podAffinity": {REQUIRED: list(terms)}}


def apart(*terms: Object) -> Object:
    """The affinity of a pod that avoids those of `terms`."""
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def on_nodes(*terms: Object) -> Object:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def where(key: str, operator: str, *values: str) -> Object:
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


def spread(key: str = ZONE, skew: int = 1, selector: Object | None = None, **fields: Any) -> Object:
    """Over the domains of `key`; of the pods labelled app=web where no selector is given."""
    chosen = app("web") if selector is None else selector
    return {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": chosen, **fields}


def ports(*numbers: int, address: str = "", protocol: str = "TCP") -> Sequence[Object]:
    """Of a container: host ports."""
    return [
        {"containerPort": number, "hostPort": number, "protocol": protocol} | ({"hostIP": address} if address else {})
        for number in numbers
    ]


def with_ports(one: Object, opened: Sequence[Object]) -> Object:
    one["spec"]["containers"][0]["ports"] = list(opened)
    return one
