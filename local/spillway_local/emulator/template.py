"""template.yaml as far as the local world builds it: table, functions, event sources, rules, workflow.

So what runs here is what is deployed: a filter, a batch size or a substitution that is wrong there is wrong here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from spillway_local.cloudformation import ROOT, load, resources

Properties = Mapping[str, Any]


class TemplateError(RuntimeError):
    """template.yaml lacks what the local world needs of it."""


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


@dataclass
class Template:
    """`workflow` is another file of the workflow than the one that template.yaml names."""

    workflow: Path | None = None

    @cached_property
    def functions(self) -> Mapping[str, str]:
        """Folder under functions/ by logical id."""
        return {name: Path(properties["CodeUri"]).name for name, properties in resources("AWS::Serverless::Function").items()}

    @cached_property
    def table(self) -> Properties:
        """What CreateTable takes, without the name."""
        wanted = ("BillingMode", "AttributeDefinitions", "KeySchema", "StreamSpecification")
        properties = self._only("AWS::DynamoDB::Table")
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
        queue = load()["Resources"][source["Queue"]["Fn::GetAtt"][0]]["Properties"]
        return QueueRule(source["BatchSize"], queue["VisibilityTimeout"], queue["RedrivePolicy"]["maxReceiveCount"])

    @cached_property
    def schedules(self) -> tuple[str, ...]:
        """Functions that run once a minute."""
        found = []
        for function, properties in resources("AWS::Serverless::Function").items():
            for event in properties.get("Events", {}).values():
                if event["Type"] == "ScheduleV2":
                    if event["Properties"]["ScheduleExpression"] != "rate(1 minute)":
                        raise TemplateError(f"{function}: the local world ticks once a minute, template.yaml says otherwise")
                    found.append(self.functions[function])
        return tuple(found)

    @cached_property
    def rules(self) -> tuple[Properties, ...]:
        """Event patterns of the home region's rules."""
        return tuple(properties["EventPattern"] for properties in resources("AWS::Events::Rule").values())

    def definition(self, arn_of: Mapping[str, str]) -> str:
        """The workflow's ASL with its substitutions filled in; `arn_of` by folder of the function."""
        properties = self._only("AWS::Serverless::StateMachine")
        file = self.workflow or ROOT / properties["DefinitionUri"]
        text = file.read_text(encoding="utf-8")
        for placeholder, target in properties["DefinitionSubstitutions"].items():
            function = target["Ref"].removesuffix(".Alias")
            text = text.replace("${" + placeholder + "}", arn_of[self.functions[function]])
        if "${" in text:
            raise TemplateError(f"{file.name}: template.yaml has no substitution for a placeholder of it")
        return text

    def _only(self, kind: str) -> Properties:
        found = list(resources(kind).values())
        if len(found) != 1:
            raise TemplateError(f"template.yaml has {len(found)} resources of type {kind}, the local world wants one")
        return found[0]

    def _event(self, folder: str, kind: str) -> Properties:
        for function, properties in resources("AWS::Serverless::Function").items():
            for event in properties.get("Events", {}).values():
                if self.functions[function] == folder and event["Type"] == kind:
                    return event["Properties"]  # type: ignore[no-any-return]
        raise TemplateError(f"template.yaml: functions/{folder} has no event source of type {kind}")
