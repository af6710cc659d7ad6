"""The volumes that a pod names: those that its node must be able to have, and those that are lost with it."""

from typing import NamedTuple

from spillway.kube import fields


class Use(NamedTuple):
    """One volume of a pod; what it needs of a node is for `volumes.Resolver` to say.

    `claim` names a PersistentVolumeClaim of the pod's namespace. `ephemeral`: the claim is made for this pod, so it must be
    owned by it; a template's is not made yet, and `made_by` is the StorageClass of what will be. `disk` is the id of an inline
    EBS volume. An inline volume of a CSI driver needs nothing: no limit counts it.
    """

    claim: str = ""
    ephemeral: bool = False
    disk: str = ""
    made_by: str = ""


def uses(volumes: list[fields.Volume], pod: str) -> tuple[Use, ...]:
    """Sorted; `pod` is its name, from which the API makes the names of its ephemeral claims; "" for a template's."""
    found = []
    for volume in volumes:
        if volume.persistent_volume_claim:
            found.append(Use(claim=volume.persistent_volume_claim.claim_name))
        elif volume.ephemeral is not None:
            made_by = "" if pod else volume.ephemeral.storage_class
            found.append(Use(claim=f"{pod}-{volume.name}", ephemeral=True, made_by=made_by))
        elif volume.aws_elastic_block_store:
            found.append(Use(disk=volume.aws_elastic_block_store.volume_id))
    return tuple(sorted(found))


def local_storage(volumes: list[fields.Volume], safe: str | None) -> tuple[str, ...]:
    """Volumes of host paths and of emptyDir on disk, less those that `safe` (a list with commas) says need not be kept."""
    lost = {v.name for v in volumes if v.host_path is not None or (v.empty_dir is not None and v.empty_dir.medium != "Memory")}
    return tuple(sorted(lost.difference(name.strip() for name in (safe or "").split(","))))
