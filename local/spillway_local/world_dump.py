"""A dump as it was written: objects and answers undecoded, for a world that serves them through the real APIs."""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from spillway.aws import fleet
from spillway.model.fleet import FleetSnapshot
from spillway_local import dump
from spillway_local.emulator import fleets


@dataclass(frozen=True)
class RawDump:
    """`answers` by region; `policy` is the document as people wrote it; `group_names` are of groups that no tag marks."""

    cluster: str
    home: str
    now: datetime
    objects: tuple[Mapping[str, Any], ...]
    answers: Mapping[str, Mapping[str, Any]]
    policy: Mapping[str, Any] = field(default_factory=dict)
    group_names: tuple[str, ...] = ()


def read_raw(folder: Path, regions: tuple[str, ...] = ()) -> RawDump:
    """Regions that the dump lacks get its home region's groups, empty and a tenth dearer. Raises DumpError, PolicyError."""
    dump.read(folder)  # every mistake in it is told in its own words
    meta = json.loads((folder / "meta.json").read_text())
    home = meta["home_region"]
    answers = {path.name: _answers(path) for path in sorted((folder / "fleet").glob("*")) if path.is_dir()}
    for region in regions:
        if region not in answers:
            answers[region] = fleets.in_another_region(answers.get(home, {}), home, region)
    policy = folder / "policy.yaml"
    return RawDump(
        cluster=meta["cluster"],
        home=home,
        now=datetime.fromisoformat(meta["now"]),
        objects=tuple(item for document in _documents(folder / "cluster") for item in _items(document)),
        answers=answers,
        policy=(yaml.safe_load(policy.read_text()) or {}) if policy.exists() else {},
        group_names=tuple(meta.get("group_names", ())),
    )


def fleet_of(raw: RawDump) -> FleetSnapshot:
    """The fleet as our own decoder reads it: what each group would launch."""
    return fleet.reduce(raw.cluster, raw.home, raw.now, raw.answers, raw.group_names)


def _answers(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for document in _documents(folder):
        for key, value in document.items():
            if isinstance(value, list):
                found.setdefault(key, []).extend(value)
            elif isinstance(value, dict):
                found.setdefault(key, {}).update(value)
    return found


def _documents(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.glob("*.json*")):
        raw = file.read_bytes()
        yield json.loads(gzip.decompress(raw) if file.suffix == ".gz" else raw)


def _items(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Objects of a List with the kind that a typed list (PodList) leaves out."""
    if "items" not in document:
        yield document
        return
    common = {"apiVersion": document.get("apiVersion", "v1"), "kind": document["kind"].removesuffix("List")}
    for item in document["items"]:
        yield {**common, **item}
