"""`make schema`: the JSON Schemas of docs/schema, made from the models that the code itself uses.

policy.json is the policy document, plan.json what `spillway plan --output json` prints, event.<function>.json what a handler
takes.
"""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from pydantic import BaseModel

from spillway.model.plan import Plan
from spillway.model.policy import Policy

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "schema"
EVENTS = {  # function to the pydantic model in its app.py that reads the event, or to the field that holds all of it
    "drain": "Event.event",
    "intake": "Event",
    "plan": "Event",
    "remove_node": "Event",
    "scale_in": "Event.event",
    "scale_out": "Event",
    "snapshot_cluster": "Tick",
    "snapshot_fleet": "Tick",
    "verify_instances": "Event.event",
    "verify_nodes": "Event",
}
FOREIGN = {"widget"}  # their events are CloudWatch's own, and nothing in them is needed
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ASSIGNMENTS = {
    "type": "array",
    "description": "With --assign: pods by the node that takes them, in the order in which the plan places them",
    "items": {
        "type": "object",
        "properties": {
            "node": {"type": "string", "description": "A node, or region/group#k, the k-th node still to come to a group"},
            "pods": {"type": "array", "items": {"type": "string", "description": "namespace/name"}},
        },
        "required": ["node", "pods"],
    },
}


def policy() -> dict[str, Any]:
    schema: dict[str, Any] = Policy.model_json_schema()
    overrides = schema["$defs"]["GroupOverride"]["properties"]
    for section, model in (("scale_out", "ScaleOutPolicy"), ("scale_in", "ScaleInPolicy")):
        overrides[section] = {"$ref": f"#/$defs/{model}"}  # every field is optional, so a part of it is one of it
    return {"$schema": _DIALECT} | schema


def plan() -> dict[str, Any]:
    """Without placements, which stay in the table; with the optional `assignments`."""
    definitions: dict[str, Any] = msgspec.json.schema(Plan)["$defs"]
    top: dict[str, Any] = definitions.pop("Plan")
    definitions.pop("Placement")
    del top["properties"]["placements"]
    for model in (top, *definitions.values()):
        if "properties" in model and model.get("title") != "Reason":
            model["required"] = sorted(model["properties"])  # defaults are written too
    top["properties"]["created_at"]["format"] = "date-time"
    top["properties"]["assignments"] = _ASSIGNMENTS
    return {"$schema": _DIALECT} | top | {"$defs": definitions}


def events() -> Iterator[tuple[str, dict[str, Any]]]:
    """(function, schema of its event), by name."""
    for name, place in sorted(EVENTS.items()):
        model, _, field = place.partition(".")
        event: type[BaseModel] = getattr(importlib.import_module(f"functions.{name}.app"), model)
        schema = event.model_json_schema()
        if field:
            schema = {"title": model, "$defs": schema["$defs"]} | schema["properties"][field]
        yield name, {"$schema": _DIALECT} | schema


def files() -> dict[str, str]:
    """Every schema file by its name, as it should be."""
    schemas = {"policy": policy(), "plan": plan()} | {f"event.{name}": schema for name, schema in events()}
    return {f"{name}.json": json.dumps(schema, indent=2) + "\n" for name, schema in schemas.items()}


def main() -> int:
    sys.path.insert(0, str(ROOT))  # functions/ is no installed package
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = files()
    for old in FOLDER.glob("*.json"):
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"docs/schema/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
