"""Machines become nodes: what a kubelet registers about itself, a while after its instance is in service."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spillway.model.fleet import NodeTemplate
from spillway_local.clock import VirtualClock
from spillway_local.kube_api import NodeAgent

_CLOUD_S = 45.0  # a node is missed after 40 s, and a cloud controller looks every 5 s (node-monitor-period)
_IN_BYTES = ("memory", "ephemeral-storage")


@dataclass
class Joining:
    """Joins the cluster with every machine of a known group, and falls silent with it.

    `templates` by `region/group`. The Node object stays until somebody deletes it, as without a cloud controller; where
    that plays too (`cloud_controller`), it deletes the nodes that are missed and whose machine is gone.
    """

    clock: VirtualClock
    agent: NodeAgent
    templates: Mapping[str, NodeTemplate]
    join_s: float = 20.0
    cloud_controller: bool = False
    names: dict[str, str] = field(default_factory=dict)
    _ended: set[str] = field(default_factory=set)

    def knows(self, instance_id: str, node: str) -> None:
        """A machine whose node is in the cluster already."""
        self.names[instance_id] = node

    def in_service(self, group: Any, machine: Any) -> None:
        template = self.templates.get(f"{group.region}/{group.name}")
        if template is not None:
            self.clock.call_in(self.join_s, lambda: self._join(group, machine, template))

    def ending(self, group: Any, machine: Any) -> None:
        """Its system shuts down at once, long before EC2 calls it terminated."""
        self._ended.add(machine.id)
        if machine.id in self.names:
            node = self.names[machine.id]
            self.agent.leave(node)
            if self.cloud_controller:
                self.clock.call_in(_CLOUD_S, lambda: self.agent.leave(node, delete_node=True))

    def _join(self, group: Any, machine: Any, template: NodeTemplate) -> None:
        if machine.id in self._ended:
            return
        node = node_of(group.region, machine.id, machine.instance_type, machine.availability_zone, template)
        self.names[machine.id] = node["metadata"]["name"]
        self.agent.join(node)


def node_of(region: str, instance_id: str, instance_type: str, zone: str, template: NodeTemplate) -> dict[str, Any]:
    """The Node object of a new machine, named as EC2 names resources (`i-….us-west-2.compute.internal`)."""
    name = f"{instance_id}.{region}.compute.internal"
    choice = template.choice_of(instance_type)
    template = template.of(choice) if choice else template
    labels = {
        **template.labels,
        "kubernetes.io/hostname": name,
        "node.kubernetes.io/instance-type": instance_type,
        "topology.kubernetes.io/region": region,
        "topology.kubernetes.io/zone": zone,
    }
    taints = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in template.taints]
    amounts = {resource: _quantity(resource, amount) for resource, amount in template.allocatable.items()}
    if choice is not None and choice.memory_bytes:
        capacity = amounts | {"memory": _quantity("memory", choice.memory_bytes - choice.overhead_bytes)}
    else:
        capacity = amounts
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "spec": {"providerID": f"aws:///{zone}/{instance_id}", "taints": taints},
        "status": {"allocatable": amounts, "capacity": capacity},
    }  # fmt: skip


def instance_of(node: Mapping[str, Any]) -> str:
    """The instance id in a Node's provider id, "" for a machine that EC2 has not made."""
    provider = str(node.get("spec", {}).get("providerID", ""))
    return provider.rsplit("/", 1)[-1] if provider.startswith("aws:///") else ""


def _quantity(resource: str, amount: int) -> str:
    if resource == "cpu":
        return f"{amount}m"
    return f"{amount // 1024}Ki" if resource in _IN_BYTES and amount % 1024 == 0 else str(amount)
