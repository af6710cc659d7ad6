"""Reads a CloudFormation template: its short tags become the long forms, as in `!Ref X` to `{"Ref": "X"}`."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
_BARE = ("Ref", "Condition")  # all other tags are functions, `Fn::` and their name


class _Loader(yaml.SafeLoader):
    pass


def _tag(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)  # type: ignore[arg-type]
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {suffix if suffix in _BARE else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _tag)  # type: ignore[no-untyped-call]


@cache
def load(name: str = "template.yaml") -> dict[str, Any]:
    """The template of this name at the root of the project; treat it as read-only."""
    template: dict[str, Any] = yaml.load((ROOT / name).read_text(encoding="utf-8"), _Loader)
    return template


def resources(kind: str, name: str = "template.yaml") -> dict[str, dict[str, Any]]:
    """Properties by logical id of all resources of a type."""
    return {key: item["Properties"] for key, item in load(name)["Resources"].items() if item["Type"] == kind}


def functions() -> dict[str, str]:
    """Logical ids by the folder of the function's code, as in `{"plan": "PlanFunction"}`."""
    return {Path(item["CodeUri"]).name: key for key, item in resources("AWS::Serverless::Function").items()}
