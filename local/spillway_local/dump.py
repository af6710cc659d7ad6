"""A cluster and its fleet as files (docs/dump.md), read with the decoders that read the live APIs."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from spillway.aws import fleet
from spillway.errors import DumpError
from spillway.kube.fields import UNREADABLE
from spillway.kube.objects import Objects
from spillway.kube.reduce import reduce
from spillway.model.base import decode as decode_model
from spillway.model.base import encode
from spillway.model.cluster import ClusterSnapshot
from spillway.model.fleet import FleetSnapshot
from spillway.model.memory import Memory
from spillway.model.policy import Policy
from spillway_local.dump_files import field, files, no_json, top_level
from spillway_local.policy_file import read_policy

S = TypeVar("S", ClusterSnapshot, FleetSnapshot)

LISTS = frozenset({
    "AutoScalingGroups", "Activities", "LaunchConfigurations", "LaunchTemplateVersions", "Images", "InstanceTypes",
    "InstanceTypesFromInstanceRequirements",
    "InstanceTypeOfferings", "Reservations", "InstanceStatuses", "SpotPriceHistory", "CapacityReservations",
    "Quotas", "MetricDataResults", "Nodegroups", "ScalingPolicies", "ScheduledUpdateGroupActions",
    "InstanceRefreshes",
})  # fmt: skip
MAPPINGS = frozenset({"WarmPools", "OnDemandPrices", "CapacityReservationGroups"})
BESIDE = frozenset({"Messages"})  # `aws cloudwatch get-metric-data` prints it beside its answer; nothing reads it
LIST_KEYS = frozenset({"apiVersion", "kind", "metadata", "items"})
VERSION_KEYS = frozenset({"clientVersion", "kustomizeVersion", "serverVersion"})


class Meta(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """meta.json. `now` must carry its time zone. `group_names` are `region/name` of groups that no tag marks."""

    cluster: str
    home_region: str
    now: datetime
    group_names: tuple[str, ...] = ()


class _Version(msgspec.Struct, rename="camel"):
    git_version: str


class _Versions(msgspec.Struct, rename="camel"):
    """What `kubectl version -o json` prints, the server's part."""

    server_version: _Version


@dataclass(frozen=True)
class Dump:
    """`now` is the moment the dump speaks of: the `taken_at` of both snapshots."""

    cluster: ClusterSnapshot
    fleet: FleetSnapshot
    policy: Policy
    memory: Memory
    now: datetime


def read(folder: Path) -> Dump:
    """Everything in `folder`; raises DumpError, which names the file and the key, and PolicyError."""
    if not folder.is_dir():
        raise DumpError(str(folder), "", "there is no such folder. docs/dump.md says how to make one")
    meta = _read_meta(folder / "meta.json")
    policy_file = folder / "policy.yaml"
    policy = read_policy(policy_file) if policy_file.exists() else Policy()
    return Dump(
        cluster=_read_cluster(folder / "cluster", meta, policy),
        fleet=_read_fleet(folder / "fleet", meta, policy),
        policy=policy,
        memory=_read_memory(folder / "memory.json"),
        now=meta.now,
    )


def _read_meta(file: Path) -> Meta:
    if not file.exists():
        raise DumpError(str(file), "", 'it is missing. Write {"cluster": …, "home_region": …, "now": …}')
    try:
        meta = msgspec.json.decode(file.read_bytes(), type=Meta)
    except msgspec.ValidationError as error:
        raise DumpError(str(file), *field(error)) from error
    except msgspec.DecodeError as error:
        raise DumpError(str(file), "", no_json(error)) from error
    if meta.now.tzinfo is None:
        raise DumpError(str(file), "now", "the time has no zone; write it in UTC, as in 2026-01-01T00:00:00Z")
    for key in ("cluster", "home_region"):
        if not getattr(meta, key):
            raise DumpError(str(file), key, "it is empty")
    return meta


def _read_memory(file: Path) -> Memory:
    if not file.exists():
        return Memory()
    try:
        return decode_model(file.read_bytes(), Memory)
    except msgspec.ValidationError as error:
        raise DumpError(str(file), *field(error)) from error
    except msgspec.DecodeError as error:
        raise DumpError(str(file), "", no_json(error)) from error


def _read_cluster(folder: Path, meta: Meta, policy: Policy) -> ClusterSnapshot:
    if not folder.is_dir():
        raise DumpError(str(folder), "", "the folder is missing; it holds what `kubectl get … -o json` printed")
    objects, version = Objects(), ""
    for file, raw in files(folder):
        top = top_level(file, raw)
        try:
            if "serverVersion" in top and top.keys() <= VERSION_KEYS:
                version = msgspec.json.decode(raw, type=_Versions).server_version.git_version
                continue
            _check_kubernetes(file, top)
            objects.add(raw)
        except msgspec.ValidationError as error:
            raise DumpError(str(file), *field(error)) from error
        except UNREADABLE as error:
            raise DumpError(str(file), "", no_json(error)) from error
    return named(
        reduce(objects, cluster=meta.cluster, taken_at=meta.now, server_version=version, label_keys=policy.pod_label_keys)
    )


def _check_kubernetes(file: Path, top: Mapping[str, msgspec.Raw]) -> None:
    """Raises DumpError unless `top` are the keys of a whole List or a single object."""
    if "items" not in top and {"kind", "metadata"} <= top.keys():
        return
    for key in top:
        if key not in LIST_KEYS:
            raise DumpError(str(file), key, "no Kubernetes List has it; print the objects with `kubectl get … -o json`")
    if "items" not in top:
        raise DumpError(str(file), "items", "it is missing: this is no Kubernetes List")
    metadata = msgspec.json.decode(top.get("metadata", msgspec.Raw(b"{}")))
    if isinstance(metadata, dict) and metadata.get("continue"):
        raise DumpError(str(file), "metadata.continue", "this is one page of several; print all of them")


def _read_fleet(folder: Path, meta: Meta, policy: Policy) -> FleetSnapshot:
    """A dump without fleet is a cluster without groups."""
    regions = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    answers = {region.name: _region(region) for region in regions}
    return named(fleet.reduce(meta.cluster, meta.home_region, meta.now, answers, meta.group_names, policy=policy))


def named(snapshot: S) -> S:
    """With the hash of its content as id: no table has given it one, and a plan names what it was made from."""
    return msgspec.structs.replace(snapshot, id=hashlib.sha256(encode(snapshot)).hexdigest()[:16])


def _region(folder: Path) -> Mapping[str, Any]:
    answers: dict[str, Any] = {}
    for file, raw in files(folder):
        for key, text in top_level(file, raw).items():
            value = msgspec.json.decode(text)
            if key in LISTS and isinstance(value, list):
                answers.setdefault(key, []).extend(value)
            elif key in MAPPINGS and isinstance(value, dict):
                answers.setdefault(key, {}).update(value)
            elif key not in BESIDE:
                raise DumpError(str(file), key, _wrong_key(key))
    return answers


def _wrong_key(key: str) -> str:
    if key == "NextToken":
        return "this is one page of several; print all of them (leave out --max-items and --no-paginate)"
    if key in LISTS:
        return "a list is wanted"
    if key in MAPPINGS:
        return "an object is wanted"
    return f"no answer has this key; known are {', '.join(sorted(LISTS | MAPPINGS))}"
