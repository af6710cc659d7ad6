"""What volumes say: whether each can be had on the node, whether the node can attach them, and who has one to itself.

Source: plugins volumebinding, volumezone, nodevolumelimits/csi.go and volumerestrictions; k8s.io/csi-translation-lib for EBS
volumes of the in-tree plugin. How much a driver has left (CSIStorageCapacity) is not looked at.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.fit.amounts import amount
from tests.fit.selectors import node_matches
from tests.fit.state import State, claim_names, key_of, labels_of

Object = Mapping[str, Any]

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
MAKES_NONE = "kubernetes.io/no-provisioner"
EBS, EBS_IN_TREE = "ebs.csi.aws.com", "kubernetes.io/aws-ebs"
_STANDARD = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
_PLACES = (*_STANDARD, *_STANDARD.values())


def are_to_be_had(state: State, pod: Object, node: Object) -> bool:
    free = _free(state, pod, node)
    return all(
        _is_to_be_had(state, pod, state.get("PersistentVolumeClaim", name, _space(pod)), node, free)
        for name in claim_names(pod)
    )


def take(state: State, pod: Object, node: str) -> None:
    """The pod comes to the node: its claims get the volumes that are free there."""
    state.taken |= _free(state, pod, state.nodes[node])


def _free(state: State, pod: Object, node: Object) -> dict[tuple[str, str], str]:
    """The volume that each claim of the pod gets there, the smallest claim and the smallest volume first."""
    claims = {key_of(one): one for name in claim_names(pod) if (one := state.get("PersistentVolumeClaim", name, _space(pod)))}
    found: dict[tuple[str, str], str] = {}
    for key, claim in sorted(claims.items(), key=lambda one: _size(one[1]["spec"]["resources"]["requests"])):
        if not _is_open(state, key, claim):
            continue
        gone = {*state.taken.values(), *found.values()}
        able = [
            one
            for one in state.of_kind("PersistentVolume").values()
            if one["metadata"]["name"] not in gone and _serves(one, claim) and _reaches(one, node)
        ]
        if able:
            found[key] = min(able, key=lambda one: ("claimRef" not in one["spec"], _size(one["spec"]["capacity"])))["metadata"][
                "name"
            ]
    return found


def _is_open(state: State, key: tuple[str, str], claim: Object) -> bool:
    of_class = state.get("StorageClass", claim["spec"].get("storageClassName") or "") or {}
    waits = of_class.get("volumeBindingMode") == "WaitForFirstConsumer"
    return waits and not claim["spec"].get("volumeName") and key not in state.taken and key not in state.chosen


def _size(amounts: Object) -> int:
    return amount("storage", amounts["storage"])


def _is_to_be_had(state: State, pod: Object, claim: Object | None, node: Object, free: Mapping[tuple[str, str], str]) -> bool:
    if claim is None or "deletionTimestamp" in claim["metadata"] or claim.get("status", {}).get("phase") == "Lost":
        return False
    if _is_ephemeral(pod, claim) and pod["metadata"].get("uid") not in [
        owner["uid"] for owner in claim["metadata"].get("ownerReferences") or () if owner.get("controller")
    ]:
        return False
    name, class_name = claim["spec"].get("volumeName"), claim["spec"].get("storageClassName") or ""
    if name:
        volume = state.get("PersistentVolume", name)
        is_bound = BIND_COMPLETED in (claim["metadata"].get("annotations") or {})
        return is_bound and volume is not None and _reaches(volume, node)
    storage_class = state.get("StorageClass", class_name)
    if storage_class is None or storage_class.get("volumeBindingMode") != "WaitForFirstConsumer":
        return False
    if own := state.taken.get(key_of(claim)):
        return _reaches(state.of_kind("PersistentVolume")["", own], node)
    if first := state.chosen.get(key_of(claim)):
        return _is_beside(first, node)
    return key_of(claim) in free or _would_be_made(storage_class, claim, node)


def _is_ephemeral(pod: Object, claim: Object) -> bool:
    names = [volume["name"] for volume in pod["spec"].get("volumes") or () if "ephemeral" in volume]
    return claim["metadata"]["name"] in [f"{pod['metadata']['name']}-{name}" for name in names]


def _is_beside(first: Object, node: Object) -> bool:
    """A volume that was made for a pod can be had in that pod's zone."""
    key = "topology.kubernetes.io/zone"
    return labels_of(first).get(key) == labels_of(node).get(key)


def _reaches(volume: Object, node: Object) -> bool:
    """By its node affinity, and by the labels that older volumes have instead; these bind nodes that have any such label."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    if required is not None and not node_matches(required.get("nodeSelectorTerms") or (), node):
        return False
    have = labels_of(node)
    if not any(key in have for key in _PLACES):
        return True
    return all(
        have.get(key, have.get(_STANDARD.get(key, key))) in value.split("__")
        for key, value in labels_of(volume).items()
        if key in _PLACES
    )


def _serves(volume: Object, claim: Object) -> bool:
    """Whether a volume that is free, or kept for this claim, is what it asks for."""
    spec, wanted = volume["spec"], claim["spec"]
    kept_for = spec.get("claimRef")
    if kept_for:
        return bool((kept_for.get("namespace"), kept_for.get("name")) == key_of(claim))
    return (
        volume.get("status", {}).get("phase") == "Available"
        and (spec.get("storageClassName") or "") == (wanted.get("storageClassName") or "")
        and set(wanted.get("accessModes") or ()) <= set(spec.get("accessModes") or ())
        and amount("storage", spec["capacity"]["storage"]) >= amount("storage", wanted["resources"]["requests"]["storage"])
    )


def _would_be_made(storage_class: Object, claim: Object, node: Object) -> bool:
    chosen = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)
    if storage_class["provisioner"] == MAKES_NONE or chosen not in (None, "", node["metadata"]["name"]):
        return False
    terms = storage_class.get("allowedTopologies") or ()
    return not terms or any(
        all(labels_of(node).get(one["key"]) in one["values"] for one in term["matchLabelExpressions"]) for term in terms
    )


def can_be_attached(state: State, pod: Object, node: Object) -> bool:
    """Within the limits that the node's drivers name. A volume hangs on a node once, whoever uses it."""
    csi_node = state.get("CSINode", node["metadata"]["name"])
    drivers = csi_node["spec"].get("drivers") or () if csi_node else ()
    limits = {
        one["name"]: one["allocatable"]["count"] for one in drivers if (one.get("allocatable") or {}).get("count") is not None
    }
    there = {volume for other in state.pods[node["metadata"]["name"]] for volume in _attached(state, other)}
    there |= set(_attachments(state, node))
    wanted = set(_attached(state, pod)) - there
    return all(
        sum(one == driver for one, _ in there | wanted) <= limits[driver]
        for driver in {one for one, _ in wanted}
        if driver in limits
    )


def _attached(state: State, pod: Object) -> Iterator[tuple[str, str]]:
    """(driver, handle) of each of its volumes that a limit may count; one that is not made yet is named by its claim."""
    for name in claim_names(pod):
        claim = state.get("PersistentVolumeClaim", name, _space(pod))
        if claim is None:
            continue
        volume = state.get("PersistentVolume", claim["spec"].get("volumeName") or "")
        if volume is not None:
            yield from _identity(volume)
        elif storage_class := state.get("StorageClass", claim["spec"].get("storageClassName") or ""):
            driver = storage_class["provisioner"]
            if driver != MAKES_NONE:
                yield EBS if driver == EBS_IN_TREE else driver, f"{_space(pod)}/{name}"
    for volume in pod["spec"].get("volumes") or ():
        if disk := volume.get("awsElasticBlockStore"):
            yield EBS, _handle(disk)


def _attachments(state: State, node: Object) -> Iterator[tuple[str, str]]:
    for attachment in state.of_kind("VolumeAttachment").values():
        spec = attachment["spec"]
        volume = state.get("PersistentVolume", spec["source"].get("persistentVolumeName") or "")
        if spec["nodeName"] == node["metadata"]["name"] and volume is not None:
            yield from _identity(volume)


def _identity(volume: Object) -> Iterator[tuple[str, str]]:
    if csi := volume["spec"].get("csi"):
        yield csi["driver"], csi["volumeHandle"]
    elif disk := volume["spec"].get("awsElasticBlockStore"):
        yield EBS, _handle(disk)


def _handle(disk: Object) -> str:
    return str(disk["volumeID"]).rpartition("/")[2]


def have_no_other_owner(state: State, pod: Object, node: Object) -> bool:
    """A claim with ReadWriteOncePod is one pod's, on whichever node; an inline EBS volume is one pod's of a node."""
    alone = {
        (_space(pod), name)
        for name in claim_names(pod)
        if "ReadWriteOncePod"
        in (state.get("PersistentVolumeClaim", name, _space(pod)) or {"spec": {}})["spec"].get("accessModes", ())
    }
    used = {(_space(other), name) for _, other in state.everywhere() for name in claim_names(other)}
    disks = [disk for other in state.pods[node["metadata"]["name"]] for disk in _disks(other)]
    return not alone & used and not any(disk in disks for disk in _disks(pod))


def _disks(pod: Object) -> list[str]:
    """As they are written: the scheduler compares no more."""
    return [
        volume["awsElasticBlockStore"]["volumeID"]
        for volume in pod["spec"].get("volumes") or ()
        if "awsElasticBlockStore" in volume
    ]


def _space(pod: Object) -> str:
    return str(pod["metadata"]["namespace"])
