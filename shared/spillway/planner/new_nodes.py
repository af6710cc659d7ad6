"""A node that a group has still to bring: how the rules see it, and what it will have free."""

from collections import defaultdict
from collections.abc import Mapping

from spillway.model.base import Resources
from spillway.model.fleet import Instance, NodeGroup, NodeTemplate, Variant
from spillway.planner.amounts import DEFAULT_MAX_PODS, Dimensions
from spillway.planner.daemons import Daemons
from spillway.planner.rules.base import ZONE_KEYS, Host
from spillway.planner.starting import is_starting, lasting, soft
from spillway.planner.view import View

NAMELESS = {"kubernetes.io/hostname": ""}  # it will have one, and it is none that is there


class NewNodes:
    """In the terms of one plan's dimensions."""

    def __init__(self, view: View, dimensions: Dimensions, daemons: Daemons) -> None:
        self._view, self._dimensions, self._daemons = view, dimensions, daemons
        self._attachments = _attachments(view)
        self._known: dict[tuple[str, str, str, str], tuple[Host, tuple[int, ...]]] = {}

    def of(self, group: NodeGroup, template: NodeTemplate) -> tuple[Host, tuple[int, ...]]:
        """The next node of the group, and what it will have free; the same for each pod that asks, and each node that comes.

        In the only zone of the group and of its only sort, else whichever that will choose.
        """
        key = (group.key, group.zones[0] if len(group.zones) == 1 else "", "", "")
        if key not in self._known:
            self._known[key] = self._made(group, template, key[1])
        return self._known[key]

    def of_instance(self, group: NodeGroup, template: NodeTemplate, instance: Instance) -> tuple[Host, tuple[int, ...]]:
        """The node of one that is launched already, so that its zone and its type are known."""
        key = (group.key, instance.zone, instance.instance_type, instance.definition)
        if key not in self._known:
            self._known[key] = self._made(group, self._view.template_of(group, instance) or template, instance.zone)
        return self._known[key]

    def _made(self, group: NodeGroup, template: NodeTemplate, zone: str) -> tuple[Host, tuple[int, ...]]:
        host = self._host(group, template, zone)
        return host, tuple(self._free(group, template, host))

    def _host(self, group: NodeGroup, template: NodeTemplate, zone: str) -> Host:
        zonal = dict.fromkeys(ZONE_KEYS, zone) if zone else {}
        labels = {**NAMELESS, **zonal, **template.labels}
        own = tuple(Variant(labels=one.labels, taints=lasting(one.taints, self._view)) for one in template.variants)
        mild = {taint for taints in (template.taints, *(one.taints for one in template.variants)) for taint in taints}
        zones = () if zone else tuple(sorted(group.zones))
        return Host("", labels, lasting(template.taints, self._view), zones, own, soft(mild, self._view))

    def _free(self, group: NodeGroup, template: NodeTemplate, host: Host) -> list[int]:
        """Without the daemons that will come to it. Its CSI drivers will attach as many volumes as on its fellows."""
        free = self._dimensions.room(_slots(template.allocatable), self._attachments.get(group.key, {}))
        for dimension, amount in self._daemons.on(host).items():
            left = free[dimension] - amount
            free[dimension] = left if self._dimensions.is_neighbour(dimension) else max(0, left)
        return free


def _slots(allocatable: Resources) -> Resources:
    return allocatable if "pods" in allocatable else {**allocatable, "pods": DEFAULT_MAX_PODS}


def _attachments(view: View) -> Mapping[str, Mapping[str, int]]:
    """By group's key and driver, the least limit of its nodes that no longer start."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for live in view.nodes:
        if live.group is not None and not is_starting(view, live):
            known = found[live.group.key]
            for driver, limit in live.node.attach_limits.items():
                known[driver] = min(limit, known.get(driver, limit))
    return found
