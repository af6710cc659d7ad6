"""template.yaml as far as the local world builds it: table, functions, event sources, rules, workflow.

So what runs here is what is deployed: a filter, a batch size or a substitution that is wrong there is wrong here.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[3]
Properties = Mapping[str, Any]


class TemplateError(RuntimeError):
    """template.yaml lacks what the local world needs of it."""


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms: `!Ref a` reads as {"Ref": "a"}, `!Sub x` as {"Fn::Sub": "x"}."""


def _short_form(loader: Any, suffix: str, node: Any) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _short_form)  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class StreamRule:
    """How the table's stream feeds the plan function; times in seconds."""

    filters: tuple[Properties, ...]
    batch_size: int
    retries: int
    max_age_s: int


@dataclass(frozen=True)
class QueueRule:
    """How the queue of events feeds intake."""

    batch_size: int
    visibility_s: int
    max_receives: int


@dataclass(frozen=True)
class Template:
    root: Path = ROOT

    @cached_property
    def resources(self) -> Mapping[str, Any]:
        text = (self.root / "template.yaml").read_text()
        return yaml.load(text, Loader=_Loader)["Resources"]  # type: ignore[no-any-return]

    @cached_property
    def functions(self) -> Mapping[str, str]:
        """Folder under functions/ by logical id."""
        return {name: Path(properties["CodeUri"]).name for name, properties in self._of_type("AWS::Serverless::Function")}

    @cached_property
    def table(self) -> Properties:
        """What CreateTable takes, without the name."""
        wanted = ("BillingMode", "AttributeDefinitions", "KeySchema", "StreamSpecification")
        _, properties = self._only("AWS::DynamoDB::Table")
        found = {key: properties[key] for key in wanted}
        return found | {"StreamSpecification": {"StreamEnabled": True} | found["StreamSpecification"]}

    @cached_property
    def stream(self) -> StreamRule:
        source = self._event("plan", "DynamoDB")
        return StreamRule(
            filters=tuple(json.loads(item["Pattern"]) for item in source["FilterCriteria"]["Filters"]),
            batch_size=source["BatchSize"],
            retries=source["MaximumRetryAttempts"],
            max_age_s=source["MaximumRecordAgeInSeconds"],
        )

    @cached_property
    def queue(self) -> QueueRule:
        source = self._event("intake", "SQS")
        queue = self.resources[source["Queue"]["Fn::GetAtt"].split(".")[0]]["Properties"]
        return QueueRule(source["BatchSize"], queue["VisibilityTimeout"], queue["RedrivePolicy"]["maxReceiveCount"])

    @cached_property
    def schedules(self) -> tuple[str, ...]:
        """Functions that run once a minute."""
        found = []
        for function, properties in self._of_type("AWS::Serverless::Function"):
            for event in properties.get("Events", {}).values():
                if event["Type"] == "ScheduleV2":
                    if event["Properties"]["ScheduleExpression"] != "rate(1 minute)":
                        raise TemplateError(f"{function}: the local world ticks once a minute, template.yaml says otherwise")
                    found.append(self.functions[function])
        return tuple(found)

    @cached_property
    def rules(self) -> tuple[Properties, ...]:
        """Event patterns of the home region's rules."""
        return tuple(properties["EventPattern"] for _, properties in self._of_type("AWS::Events::Rule"))

    def definition(self, arn_of: Mapping[str, str]) -> str:
        """The workflow's ASL with its substitutions filled in; `arn_of` by folder of the function."""
        _, properties = self._only("AWS::Serverless::StateMachine")
        text: str = (self.root / properties["DefinitionUri"]).read_text()
        for placeholder, target in properties["DefinitionSubstitutions"].items():
            function = target["Ref"].removesuffix(".Alias")
            text = text.replace("${" + placeholder + "}", arn_of[self.functions[function]])
        if "${" in text:
            raise TemplateError(f"{properties['DefinitionUri']}: template.yaml has no substitution for a placeholder of it")
        return text

    def _of_type(self, kind: str) -> Iterator[tuple[str, Properties]]:
        return ((name, item["Properties"]) for name, item in self.resources.items() if item["Type"] == kind)

    def _only(self, kind: str) -> tuple[str, Properties]:
        found = list(self._of_type(kind))
        if len(found) != 1:
            raise TemplateError(f"template.yaml has {len(found)} resources of type {kind}, the local world wants one")
        return found[0]

    def _event(self, folder: str, kind: str) -> Properties:
        for function, properties in self._of_type("AWS::Serverless::Function"):
            for event in properties.get("Events", {}).values():
                if self.functions[function] == folder and event["Type"] == kind:
                    return event["Properties"]  # type: ignore[no-any-return]
        raise TemplateError(f"template.yaml: functions/{folder} has no event source of type {kind}")
