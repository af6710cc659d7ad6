"""What each function's code does at AWS against what its role in template.yaml allows; the two must be equal."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from spillway_local import calls, cloudformation
from spillway_local.operations import permissions

HEADING = "## Functions\n\n"
_CODE = ("functions/", "shared/")
CLUSTER_FUNCTIONS = frozenset({"snapshot_cluster", "verify_nodes", "drain", "remove_node"})


@dataclass(frozen=True)
class Implied:
    """Permissions that no line of code calls for, but the way the function is run does; `functions` empty: all."""

    actions: frozenset[str]
    source: str
    functions: frozenset[str] = frozenset()


IMPLIED = (
    Implied(
        frozenset({"logs:CreateLogStream", "logs:PutLogEvents"}),
        "Lambda writes standard output with the function's role: Lambda developer guide, sending logs to CloudWatch",
    ),
    Implied(
        frozenset({"xray:PutTraceSegments", "xray:PutTelemetryRecords"}),
        "active tracing: Lambda developer guide, X-Ray",
    ),
    Implied(
        frozenset({
            "ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface",
            "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:UnassignPrivateIpAddresses",
        }),
        "a function in a VPC makes its network interfaces with its own role: Lambda developer guide, VPC",
        CLUSTER_FUNCTIONS,
    ),
    Implied(
        frozenset({"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"}),
        "the event source mapping reads the stream with the function's role: Lambda developer guide, DynamoDB streams",
        frozenset({"plan"}),
    ),
    Implied(
        frozenset({"sqs:SendMessage"}),
        "the event source mapping sends failed records with the function's role: Lambda developer guide, destinations",
        frozenset({"plan"}),
    ),
    Implied(
        frozenset({"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"}),
        "the event source mapping reads the queue with the function's role: Lambda developer guide, SQS",
        frozenset({"intake"}),
    ),
)  # fmt: skip


@cache
def needed(function: str) -> Mapping[str, str]:
    """IAM actions that the function needs, and why: a place in the source, or what is implied."""
    implied = {action: rule.source for rule in IMPLIED if function in (rule.functions or {function}) for action in rule.actions}
    called = {action: place for operation, place in calls.called(function).items() for action in permissions(operation)}
    return implied | called


def granted(function: str) -> set[str]:
    """IAM actions that the function's role allows under some values of the parameters."""
    return {action for statement in statements(role(function)) for action in actions(statement)}


def role(function: str) -> str:
    """The logical id of the function's role."""
    logical_id = cloudformation.functions()[function]
    return str(cloudformation.resources("AWS::Serverless::Function")[logical_id]["Role"]["Fn::GetAtt"][0])


def statements(role: str) -> list[dict[str, Any]]:
    """All statements of a role, its own and those of the policies attached to it, whatever conditions they are under."""
    found = cloudformation.resources("AWS::IAM::Role")[role]
    documents = [policy["PolicyDocument"] for policy in _chosen(found.get("Policies", []))]
    policies = cloudformation.resources("AWS::IAM::ManagedPolicy")
    documents += [policies[item["Ref"]]["PolicyDocument"] for item in _chosen(found.get("ManagedPolicyArns", []))]
    return [statement for document in documents for statement in _chosen(_document(document)["Statement"])]


def _document(document: dict[str, Any]) -> dict[str, Any]:
    """A policy written as text, because the cluster's name is part of a key, is read with its variables in place."""
    if "Fn::Sub" in document:
        parsed: dict[str, Any] = json.loads(document["Fn::Sub"])
        return parsed
    return document


def _chosen(items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Items with both branches of every `Fn::If`, without `AWS::NoValue`."""
    for item in items:
        if "Fn::If" in item:
            yield from _chosen(item["Fn::If"][1:])
        elif item.get("Ref") != "AWS::NoValue":
            yield item


def actions(statement: dict[str, Any]) -> list[str]:
    given: str | list[str] = statement["Action"]
    return [given] if isinstance(given, str) else given


def page() -> str:
    """The tables of docs/iam.md: each function's actions, with the line that needs them or what implies them."""
    lines: list[str] = []
    for function in sorted(cloudformation.functions()):
        lines += [f"### {function}", "", "| Action | Needed by |", "|---|---|"]
        places = {action: place.rpartition(":")[0] for action, place in needed(function).items() if place.startswith(_CODE)}
        lines += [f"| `{action}` | {place} |" for action, place in sorted(places.items())]
        lines += [""]
    lines += ["### Implied by the way a function is run", "", "| Functions | Actions | Source |", "|---|---|---|"]
    for rule in IMPLIED:
        names = ", ".join(sorted(rule.functions)) or "all"
        lines.append(f"| {names} | {', '.join(f'`{action}`' for action in sorted(rule.actions))} | {rule.source} |")
    return "\n".join(lines) + "\n"


def write() -> None:
    """Renews the tables of docs/iam.md, below its heading `Functions`."""
    path = cloudformation.ROOT / "docs/iam.md"
    path.write_text(path.read_text(encoding="utf-8").partition(HEADING)[0] + HEADING + page(), encoding="utf-8")


if __name__ == "__main__":
    write()
