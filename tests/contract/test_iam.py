"""RS-01: a role allows what its function does, no more and no less."""

import ast
from pathlib import Path

import pytest

from spillway.aws import groups
from spillway_local import callgraph, calls, cloudformation, iam

FUNCTIONS = sorted(cloudformation.functions())

# Actions that IAM cannot narrow to a resource (Service Authorization Reference, checked 2026-11).
WITHOUT_RESOURCE = {
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeInstanceRefreshes",
    "autoscaling:DescribeLaunchConfigurations",
    "autoscaling:DescribeLifecycleHooks",
    "autoscaling:DescribePolicies",
    "autoscaling:DescribeScalingActivities",
    "autoscaling:DescribeScheduledActions",
    "autoscaling:DescribeWarmPool",
    "cloudwatch:GetMetricData",
    "dynamodb:ListStreams",
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeCapacityReservations",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeInstances",
    "ec2:DescribeLaunchTemplateVersions",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSpotPriceHistory",
    "ec2:DescribeSubnets",
    "ec2:GetInstanceTypesFromInstanceRequirements",
    "ec2:UnassignPrivateIpAddresses",
    "pricing:GetProducts",
    "servicequotas:ListServiceQuotas",
    "states:SendTaskSuccess",
    "xray:PutTelemetryRecords",
    "xray:PutTraceSegments",
}

# The tags by which `groups.belongs` knows a group.
OF_THIS_CLUSTER = [
    {"Null": {f"aws:ResourceTag/{tag}": "false" for tag in groups.discovery_tags("${ClusterName}")}},
    *(
        {
            "StringEquals": {
                f"aws:ResourceTag/{groups.OWNER}": "${ClusterName}",
                f"aws:ResourceTag/{role}": list(groups.WORKERS),
            }
        }
        for role in groups.ROLES
    ),
]


@pytest.mark.feature("RS-01")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_role_allows_all_that_the_code_calls(function: str) -> None:
    granted = iam.granted(function)
    missing = {action: place for action, place in iam.needed(function).items() if action not in granted}
    assert not missing, f"{function}'s role lacks {missing}"


@pytest.mark.feature("RS-01")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_role_allows_nothing_that_the_code_never_calls(function: str) -> None:
    superfluous = iam.granted(function) - iam.needed(function).keys()
    assert not superfluous, f"{function} never calls {sorted(superfluous)}"


@pytest.mark.feature("RS-01")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_nothing_is_allowed_by_wildcard(function: str) -> None:
    assert not [action for action in iam.granted(function) if "*" in action]


@pytest.mark.feature("RS-01")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_action_is_narrowed_to_its_resources_where_iam_can(function: str) -> None:
    role = iam.role(function)
    open_to_all = {a for s in iam.statements(role) if s["Resource"] == "*" for a in iam.actions(s)}
    assert open_to_all <= WITHOUT_RESOURCE


@pytest.mark.feature("RS-01")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_write_to_a_group_asks_for_the_tags_of_this_cluster(function: str) -> None:
    for statement in iam.statements(iam.role(function)):
        if any(a.startswith("autoscaling:") and ":Describe" not in a for a in iam.actions(statement)):
            assert statement["Resource"] == {"Ref": "GroupArns"} or statement["Condition"] in OF_THIS_CLUSTER


@pytest.mark.feature("RS-01")
def test_each_function_has_a_role_of_its_own() -> None:
    assert len({iam.role(function) for function in FUNCTIONS}) == len(FUNCTIONS)


@pytest.mark.feature("RS-01")
def test_what_no_code_calls_is_implied_by_a_documented_source() -> None:
    for rule in iam.IMPLIED:
        assert rule.actions
        assert "guide" in rule.source, rule


@pytest.mark.feature("RS-01")
def test_whoever_implies_a_permission_is_a_function() -> None:
    assert {name for rule in iam.IMPLIED for name in rule.functions} <= set(FUNCTIONS)


@pytest.mark.feature("RS-01")
def test_the_page_is_what_the_code_does() -> None:
    """`make permissions` writes it anew."""
    page = (cloudformation.ROOT / "docs/iam.md").read_text(encoding="utf-8")
    assert page.partition(iam.HEADING)[2] == iam.page()


# ---- the reader of calls ----


def project_of(monkeypatch: pytest.MonkeyPatch, **sources: str) -> None:
    """A project of small modules; `app` is the handler `f`, the others are `spillway.aws.<name>`."""
    modules = {"spillway.aws.clients": callgraph.Module("spillway.aws.clients", Path("clients.py"))}
    for name, source in sources.items():
        dotted = "functions.f.app" if name == "app" else f"spillway.aws.{name}"
        modules[dotted] = callgraph.parse(dotted, cloudformation.ROOT / f"{name}.py", ast.parse(source))
    modules["spillway.aws.clients"].bodies[""] = ast.Module(body=[], type_ignores=[])
    for reader in (callgraph, calls):
        monkeypatch.setattr(reader, "project", lambda: modules)


def test_finds_a_call_on_a_client(monkeypatch: pytest.MonkeyPatch) -> None:
    project_of(
        monkeypatch,
        app="from spillway.aws.clients import client\ndef handler(event, context):\n"
        '    client("ec2", "r").terminate_instances()',
    )
    assert calls.called("f") == {"ec2.terminate_instances": "app.py:3"}


def test_finds_what_another_module_does_only_where_it_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    project_of(
        monkeypatch,
        app="from spillway.aws import other\ndef handler(event, context):\n    return list(map(other.read, [1]))",
        other="from spillway.aws import clients\n"
        'def read(x):\n    return clients.ask("sqs", "r", "list_queues")\n'
        'def write(x):\n    return clients.ask("sqs", "r", "purge_queue")\n',
    )
    assert set(calls.called("f")) == {"sqs.list_queues"}


def test_finds_a_method_of_an_object_whose_class_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    project_of(
        monkeypatch,
        app="from spillway.aws.other import A, B\ndef handler(event, context):\n"
        "    thing = A()\n    return thing.get(), {}.get(1)",
        other="from spillway.aws import clients\n"
        'class A:\n    def get(self):\n        return clients.pages("sqs", "r", "list_queues")\n'
        'class B:\n    def get(self):\n        return clients.ask("sqs", "r", "purge_queue")\n',
    )
    assert set(calls.called("f")) == {"sqs.list_queues"}


def test_an_object_of_unknown_class_may_be_any(monkeypatch: pytest.MonkeyPatch) -> None:
    project_of(
        monkeypatch,
        app="from spillway.aws import other\ndef handler(event, context):\n    return event.thing.get()",
        other="from spillway.aws import clients\n"
        'class A:\n    def get(self):\n        return clients.client("sqs", "r").get_paginator("list_queues")\n',
    )
    assert set(calls.called("f")) == {"sqs.list_queues"}


@pytest.mark.feature("RS-01")
def test_a_call_that_cannot_be_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    project_of(
        monkeypatch,
        app='from spillway.aws import clients\ndef handler(event, context):\n    return clients.ask("sqs", "r", event["do"])',
    )
    with pytest.raises(calls.UnreadableCall, match=r"app.py:3: argument 3 of clients.ask must be a literal"):
        calls.called("f")


def test_finds_what_is_asked_of_a_helper_that_takes_the_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    project_of(
        monkeypatch,
        app="from spillway.aws import other\ndef handler(event, context):\n    other.change('r', 'purge_queue')",
        other="from spillway.aws import clients\ndef change(region, operation):\n"
        '    getattr(clients.client("sqs", region), operation)()\n',
    )
    assert calls.called("f") == {"sqs.purge_queue": "app.py:3"}


def test_a_client_that_is_handed_on_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    project_of(
        monkeypatch,
        app='from spillway.aws import clients\ndef handler(event, context):\n    return act(clients.client("sqs", "r"))',
    )
    with pytest.raises(calls.UnreadableCall, match=r"app.py:3: a client is handed on"):
        calls.called("f")
