"""What was read of a cluster, already boiled down: from the live API's pages, a watch's events or a dump's files."""

import gc
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any

import msgspec
from msgspec import Raw

from spillway.kube import (
    attachments,
    budgets,
    buffers,
    capacities,
    daemons,
    fields,
    gang_objects,
    namespaces,
    nodes,
    owners,
    pod_templates,
    priorities,
    provisioning,
    scan,
    storage,
)  # fmt: skip
from spillway.kube.envelope import envelope_of, named_of
from spillway.kube.fields import UNREADABLE, Listed, as_name, is_name
from spillway.kube.kinds import kind_in
from spillway.kube.pods import SeenPods, holds_a_node, seen_bare
from spillway.model.reason import Code, Reason

Key = tuple[str, str]
"""Namespace ("" for what is in none) and name."""
Reader = Callable[[Raw | bytes], tuple[Key, object | None]]
"""An object's JSON to its key and what is kept of it, None for nothing. Raises one of `fields.UNREADABLE`."""

_kind = msgspec.json.Decoder(fields.Typed)
_pod_page = msgspec.json.Decoder(fields.PodPage)
_POD_LIST = b'{"kind":"PodList","apiVersion":"v1",'  # how an API server begins one
_bare_pod = msgspec.json.Decoder(fields.BarePod)


class Objects:
    """A page's bytes are not kept. A later object replaces an earlier one. Kinds are called as `kind_in` says.

    `unreadable` are objects by kind that do not read, and why; `unread` kinds whose list the server has and does not give.
    """

    def __init__(self) -> None:
        self.unread: dict[str, str] = {}
        self.unreadable: dict[str, dict[Key, Reason]] = defaultdict(dict)
        self._pods = SeenPods()
        self._readers: dict[str, Reader] = {
            "Pod": self._pods.read,
            "Node": nodes.read,
            "PodDisruptionBudget": budgets.read,
            "DaemonSet": daemons.read,
            "ReplicaSet": owners.read,
            "ReplicationController": owners.read,
            "StatefulSet": owners.read,
            "Job": owners.read_job,
            "Namespace": namespaces.read,
            "ConfigMap": priorities.read,
            "PersistentVolume": storage.read_volume,
            "PersistentVolumeClaim": storage.read_claim,
            "StorageClass": storage.read_class,
            "CSINode": attachments.read_csi_node,
            "CSIDriver": attachments.read_csi_driver,
            capacities.KIND: capacities.read,
            "VolumeAttachment": attachments.read_attachment,
            "PodTemplate": pod_templates.read,
            buffers.KIND: buffers.read,
            provisioning.KIND: provisioning.read,
            "PodGroup.scheduling.k8s.io": gang_objects.read_pod_group,
            "CompositePodGroup.scheduling.k8s.io": gang_objects.read_composite,
            "Workload.scheduling.k8s.io": gang_objects.read_workload,
            "PodGroup.scheduling.x-k8s.io": gang_objects.read_member_group,
            "PodGroup.scheduling.volcano.sh": gang_objects.read_member_group,
            "Workload.kueue.x-k8s.io": gang_objects.read_kueue_workload,
            "JobSet.jobset.x-k8s.io": gang_objects.read_job_set,
        }
        self._kept: dict[str, dict[Key, Any]] = defaultdict(dict)
        self._nameless = count()

    def of(self, kind: str) -> Mapping[Key, Any]:
        """What is kept of each object of a kind."""
        return self._kept.get(kind, {})

    def has(self, kind: str) -> bool:
        """Whether that kind was read, if only to see that there is none."""
        return kind in self._kept

    def add(self, raw: bytes, opened: Callable[[Listed], object] = lambda page: None) -> Listed:
        """Takes a `List`, a `PodList` and the like, or a single object; other kinds are passed over. `opened` is told of the
        page before its items are read.

        An object that does not read is set aside with a warning that names it. Raises one of `fields.UNREADABLE` when `raw` is
        no JSON object, or ends too soon.
        """
        page = self._add_pods(raw, opened) if raw.startswith(_POD_LIST) else None
        if page is not None:
            return page
        envelope = envelope_of(raw)
        opened(envelope)
        with paused_gc():
            if envelope.items is None:
                self.put(kind_in(envelope.api_version, envelope.kind), raw)
                return envelope
            kind = envelope.kind.removesuffix("List")  # items of a PodList do not say what they are
            known = kind and kind_in(envelope.api_version, kind)
            if known in self._readers:
                self._kept.setdefault(known, {})
            for item in envelope.items:
                self.put(known or _kind_of(item), item)
        return envelope

    def _add_pods(self, raw: bytes, opened: Callable[[Listed], object]) -> Listed | None:
        """A page of pods is by far the most that there is to decode: all at once, which spares it a second pass.

        None, and nothing is kept, where that does not do; then each is decoded by itself.
        """
        try:
            pods = _pod_page.decode(raw)
        except UNREADABLE:
            return None
        opened(pods)
        self._kept.setdefault("Pod", {})
        aside = []
        with paused_gc():
            for number, pod in enumerate(pods.items or ()):
                try:
                    self._keep("Pod", *self._pods.keep(pod))
                except UNREADABLE:
                    aside.append(number)
        items = envelope_of(raw).items or () if aside else ()
        for number in aside:
            self.put("Pod", items[number])
        return pods

    def put(self, kind: str, raw: Raw | bytes) -> None:
        """One object as it is now."""
        reader = self._readers.get(kind)
        if reader is None:
            return
        try:
            self._keep(kind, *reader(raw))
        except UNREADABLE as error:
            self._set_aside(kind, raw, str(error))

    def _keep(self, kind: str, key: Key, seen: object | None) -> None:
        if not (key[1] and is_name(key[0]) and is_name(key[1])):
            raise msgspec.ValidationError("no object can have that name")
        if kind in self.unreadable:
            self.unreadable[kind].pop(key, None)
        if seen is None:
            self._kept[kind].pop(key, None)
        else:
            self._kept[kind][key] = seen

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """It is not in the cluster any more."""
        for kept in (self._kept.get(kind, {}), self.unreadable.get(kind, {})):
            kept.pop((namespace, name), None)

    def forget(self, kind: str) -> None:
        """Drops all of one kind: its list has to be read again from the start."""
        self._kept.pop(kind, None)
        self.unreadable.pop(kind, None)
        self.unread.pop(kind, None)

    def give_up(self, kind: str, problem: str) -> None:
        """Its list does not come: a part of it is none."""
        self.forget(kind)
        self.unread[kind] = problem

    def _set_aside(self, kind: str, raw: Raw | bytes, problem: str) -> None:
        key, name = ("", f"#{next(self._nameless)}"), f"{kind.lower()} without a readable name"
        try:
            raw, meta = named_of(kind, raw)
            namespace = meta.namespace or ("default" if kind == "Pod" else "")
            key = (as_name(namespace), as_name(meta.name))
            name = f"{kind.lower()} {'/'.join(part for part in key if part)}"
            self._kept[kind].pop(key, None)
            if kind == "Node":
                self._kept[kind][key] = nodes.seen_bare(key[1], raw)  # nor its instance as one that never joined
            if kind == "Pod" and holds_a_node(bare := _bare_pod.decode(raw)):
                self._kept[kind][key] = seen_bare(bare)  # a node must not look idle because its pod does not read
        except UNREADABLE:
            pass  # it has no name, or is on no node
        self.unreadable[kind][key] = unreadable(name, problem)


def unreadable(name: str, problem: str) -> Reason:
    return Reason(code=Code.OBJECT_UNREADABLE, text=f"{name} is set aside: {problem}")


@contextmanager
def paused_gc() -> Iterator[None]:
    """Millions of young objects and no cycles: the collector would only cost (2 to 3 times the run)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _typed(item: Raw) -> fields.Typed:
    try:
        return _kind.decode(item)
    except UNREADABLE:
        return _kind.decode(scan.outline(bytes(item), scan.KIND))


def _kind_of(item: Raw) -> str:
    try:
        typed = _typed(item)
    except UNREADABLE:
        return ""  # no kind of ours
    return kind_in(typed.api_version, typed.kind)
