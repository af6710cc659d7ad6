"""What a kubelet and a provisioner would do on a plane that has neither: deleted pods end, claims get volumes."""

from collections.abc import Callable
from contextlib import suppress

from spillway_local.control_plane.client import Client
from spillway_local.judge.scene import ZONE, Object
from spillway_local.judge.volumes import BIND_COMPLETED, volume_for
from spillway_local.kube_api.kinds import Kinds
from spillway_local.kube_api.protocol import What
from spillway_local.kube_api.refusals import Refusal, unless_gone

SELECTED_NODE = "volume.kubernetes.io/selected-node"  # the scheduler's word to the provisioner


class Caretaker:
    """Its methods listen to watches; what they order is done by `submit`, in another thread."""

    def __init__(self, client: Client, submit: Callable[..., None]) -> None:
        self._client, self._submit = client, submit
        kinds = Kinds()
        self._pods, self._nodes = kinds.named("Pod"), kinds.named("Node")
        self._claims, self._volumes = kinds.named("PersistentVolumeClaim"), kinds.named("PersistentVolume")

    def see_pod(self, what: What, pod: Object) -> None:
        """One that was deleted with grace, as the victims of a preemption are, ends at once."""
        meta = pod["metadata"]
        if what != "DELETED" and "deletionTimestamp" in meta:
            self._submit(self._end, f"{self._pods.path(meta['namespace'])}/{meta['name']}")

    def see_claim(self, what: What, claim: Object) -> None:
        """One for which the scheduler has chosen a node gets a volume in that node's zone."""
        chosen = SELECTED_NODE in claim["metadata"].get("annotations", {})
        if what != "DELETED" and chosen and not claim["spec"].get("volumeName"):
            self._submit(self._provide, claim)

    def see_volume(self, what: What, volume: Object) -> None:
        """A free one that the scheduler has chosen for a claim is bound to it."""
        chosen = (volume["spec"].get("claimRef") or {}).get("uid")
        if what != "DELETED" and chosen and volume.get("status", {}).get("phase") == "Available":
            self._submit(self._bind, volume)

    def _end(self, path: str) -> None:
        with unless_gone():
            self._client.ask("DELETE", f"{path}?gracePeriodSeconds=0")

    def _provide(self, claim: Object) -> None:
        with suppress(Refusal):  # claim or node may be gone, or another call of this was first
            meta = claim["metadata"]
            node = self._client.get(f"{self._nodes.path()}/{meta['annotations'][SELECTED_NODE]}")
            volume = volume_for(claim, [node["metadata"]["labels"][ZONE]])
            name = volume["metadata"]["name"]
            made = self._client.ask("POST", self._volumes.path(), volume)
            self._client.ask("PUT", f"{self._volumes.path()}/{name}/status", {**made, "status": volume["status"]})
            self._complete(claim, name)

    def _bind(self, volume: Object) -> None:
        with suppress(Refusal):
            wanted, name = volume["spec"]["claimRef"], volume["metadata"]["name"]
            self._client.ask("PUT", f"{self._volumes.path()}/{name}/status", {**volume, "status": {"phase": "Bound"}})
            claim = self._client.get(f"{self._claims.path(wanted['namespace'])}/{wanted['name']}")
            if not claim["spec"].get("volumeName"):
                self._complete(claim, name)

    def _complete(self, claim: Object, volume: str) -> None:
        meta, spec = claim["metadata"], claim["spec"]
        path = f"{self._claims.path(meta['namespace'])}/{meta['name']}"
        meta = {**meta, "annotations": {**meta.get("annotations", {}), BIND_COMPLETED: "yes"}}
        bound = self._client.ask("PUT", path, {**claim, "metadata": meta, "spec": {**spec, "volumeName": volume}})
        status = {"phase": "Bound", "accessModes": spec["accessModes"], "capacity": spec["resources"]["requests"]}
        self._client.ask("PUT", f"{path}/status", {**bound, "status": status})
