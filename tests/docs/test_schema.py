"""docs/schema is what the code itself reads and writes."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from spillway_local import schema

ROOT = Path(__file__).parents[2]
EVENTS = [path for path in sorted((ROOT / "events").glob("*.json")) if path.name.partition(".")[0] not in schema.FOREIGN]


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    found = json.loads((schema.FOLDER / name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


def test_the_published_schemas_are_current() -> None:
    published = {path.name: path.read_text(encoding="utf-8") for path in schema.FOLDER.glob("*.json")}
    assert published == schema.files(), "run `make schema`"


def test_the_event_of_every_function_is_published() -> None:
    assert {path.parent.name for path in (ROOT / "functions").glob("*/app.py")} == schema.EVENTS.keys() | schema.FOREIGN


@pytest.mark.parametrize("path", EVENTS, ids=lambda path: path.stem)
def test_a_sample_event_is_as_its_function_takes_it(path: Path) -> None:
    validator(f"event.{path.name.partition('.')[0]}.json").validate(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"scale_in": {"budgets": [{"nodes": "10%"}, {"nodes": 3, "reasons": ["empty"]}], "max_age_s": None}},
        {"scale_out": {"objective": ["priority", "least-waste"], "limits": {"cpu": "1k", "resources": {"nvidia.com/gpu": 8}}}},
        {"groups": {"gpu-*": {"max": 4, "scale_in": {"idle_s": 60}, "scale_out": {"provision_time_s": 1200}}}},
    ],
)
def test_the_policy_schema_takes_what_the_policy_takes(document: dict[str, Any]) -> None:
    validator("policy.json").validate(document)


@pytest.mark.parametrize(
    "document", [{"mode": "fly"}, {"unknown": 1}, {"scale_in": {"idle_s": -1}}, {"groups": {"a": {"scale_in": {"idle": 1}}}}]
)
def test_the_policy_schema_refuses_what_the_policy_refuses(document: dict[str, Any]) -> None:
    assert not validator("policy.json").is_valid(document)


def test_the_plan_schema_leaves_placements_to_the_table_and_allows_fields_to_be_added() -> None:
    found = json.loads((schema.FOLDER / "plan.json").read_text(encoding="utf-8"))
    assert "placements" not in found["properties"]
    assert "additionalProperties" not in json.dumps(found)
