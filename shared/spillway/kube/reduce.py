"""What was read of a cluster to a ClusterSnapshot."""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from itertools import groupby

import msgspec

from spillway.kube import budgets, buffers, daemons, nodes, priorities, provisioning
from spillway.kube.attachments import Attachments
from spillway.kube.gangs import Gangs
from spillway.kube.namespaces import namespaces
from spillway.kube.objects import Objects, paused_gc, unreadable
from spillway.kube.pod_sets import pod_sets
from spillway.kube.recipes import Recipe, Template
from spillway.kube.shapes import Shapes
from spillway.kube.template_shapes import TemplateShapes
from spillway.kube.unread import warnings as unread_lists
from spillway.kube.volumes import Resolver
from spillway.model.cluster import ClusterSnapshot, Node, UnreadNode
from spillway.model.reason import Code, Reason

MOST_WARNINGS = 100  # of one code: what goes wrong in every pod is told by some of them


def reduce(
    objects: Objects, *, cluster: str, taken_at: datetime, server_version: str = "", label_keys: Collection[str] = ()
) -> ClusterSnapshot:
    """The snapshot of all that was added; equal objects in any order give an equal snapshot.

    `label_keys` are labels of pods that the policy reads.
    """
    with paused_gc():
        warnings = [reason for reasons in objects.unreadable.values() for reason in reasons.values()]
        warnings += unread_lists(objects.unread)
        resolver = Resolver(objects)
        unread = list[UnreadNode]()
        machines = tuple(_nodes(objects, resolver, taken_at, warnings, unread))
        wanted = buffers.wanted(objects.of)
        daemon_sets = daemons.templates(objects.of("DaemonSet"), objects.of("Pod"))
        disruption_budgets = objects.of("PodDisruptionBudget")
        templates = [
            *(one.template for one in wanted if one.template),
            *provisioning.templates(objects.of),
            *daemon_sets.values(),
        ]
        shapes = Shapes(_recipes(objects, templates), budgets.readers(disruption_budgets.values()), label_keys)

        of_templates = TemplateShapes(shapes, resolver)
        together = Gangs(objects.of, objects.unread)
        pods = tuple(pod_sets(objects, shapes, resolver, together, taken_at, warnings))
        kept_free = tuple(buffers.buffers(wanted, of_templates.of))
        everywhere = tuple(daemons.daemons(daemon_sets, lambda *daemon: of_templates.of(*daemon)[0], warnings))
        asked = tuple(provisioning.requests(objects.of, of_templates.of))
        warnings += [unreadable(f"capacitybuffer {one.namespace}/{one.name}", one.problem) for one in kept_free if one.problem]
        warnings += [unreadable(f"provisioningrequest {one.namespace}/{one.name}", one.problem) for one in asked if one.problem]
        found = shapes.all()
        warnings += together.warnings
    return ClusterSnapshot(
        cluster=cluster,
        taken_at=taken_at,
        nodes=machines,
        unread_nodes=tuple(sorted(unread, key=lambda node: node.name)),
        shapes=tuple(found),
        pods=pods,
        namespaces=tuple(namespaces(objects.of("Namespace"), found)),
        budgets=tuple(budgets.budgets(disruption_budgets, found)),
        daemons=everywhere,
        gangs=together.all(),
        buffers=kept_free,
        provisioning_requests=asked,
        free_volumes=resolver.free,
        priorities=objects.of("ConfigMap").get((priorities.NAMESPACE, priorities.NAME), ()),
        server_version=server_version,
        set_aside=sum(warning.code == Code.OBJECT_UNREADABLE for warning in warnings),
        warnings=tuple(_some(warnings)),
    )


def _some(warnings: Iterable[Reason]) -> Iterator[Reason]:
    """By code and text; of each code the first, and how many more there are."""
    for code, alike in groupby(sorted(set(warnings), key=lambda w: (w.code, w.text)), key=lambda w: w.code):
        texts = list(alike)
        yield from texts[:MOST_WARNINGS]
        if len(texts) > MOST_WARNINGS:
            yield Reason(code=code, text=f"and {len(texts) - MOST_WARNINGS} more like these")


def _nodes(
    objects: Objects, resolver: Resolver, taken_at: datetime, warnings: list[Reason], unread: list[UnreadNode]
) -> Iterator[Node]:
    """By name, with what may be attached to them; `nodes.nodes` says what goes to the lists."""
    attached = Attachments(objects, resolver)
    for node in sorted(nodes.nodes(objects.of("Node").values(), taken_at, warnings, unread), key=lambda n: n.name):
        yield msgspec.structs.replace(node, attach_limits=attached.limits(node.name), attached=attached.attached(node.name))


def _recipes(objects: Objects, templates: Iterable[Template]) -> Iterator[Recipe]:
    yield from (pod.recipe for pod in objects.of("Pod").values() if pod.recipe is not None)
    yield from (template.recipe for template in templates)
