"""template.yaml as a person would check it before a deploy."""

import json
import re
from typing import Any

import pytest
import yaml

from spillway.aws.table import keys
from spillway_local import callgraph, calls, cloudformation, iam
from spillway_local.cloudformation import ROOT, load, resources

FUNCTIONS = resources("AWS::Serverless::Function")
PARAMETERS = load()["Parameters"]
ENVIRONMENT = load()["Globals"]["Function"]["Environment"]["Variables"]
CLUSTER_FUNCTIONS = {name for name in cloudformation.functions() if "spillway.kube.session" in callgraph.imported(name)}


def refs(value: Any) -> set[str]:
    """Names that a value refers to by Ref or in a Sub."""
    if isinstance(value, list):
        return {name for item in value for name in refs(item)}
    if not isinstance(value, dict):
        return set()
    found = {name for item in value.values() for name in refs(item)}
    if isinstance(value.get("Ref"), str):
        found.add(value["Ref"])
    if "Fn::Sub" in value:
        text = value["Fn::Sub"] if isinstance(value["Fn::Sub"], str) else value["Fn::Sub"][0]
        found |= set(re.findall(r"\$\{([A-Za-z:.]+)}", text))
    return found


# ---- parameters ----


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_says_what_it_is_and_what_it_takes(name: str) -> None:
    parameter = PARAMETERS[name]
    assert parameter["Description"]
    if parameter["Type"] == "String" and "AllowedValues" not in parameter:
        assert parameter["AllowedPattern"]
        assert parameter["ConstraintDescription"].startswith("must ")


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("ClusterName", ["prod", "a1._-"], ["", "-a", "a b", "a" * 101, 'x"y']),
        (
            "ClusterAccess",
            ["eks", "arn:aws:secretsmanager:us-east-1:123456789012:secret:spillway/prod-AbC123"],
            ["", "EKS", "x"],
        ),
        ("ClusterRoleArn", ["", "arn:aws:iam::222222222222:role/spillway"], ["spillway", "arn:aws:iam::2:role/spillway"]),
        ("FleetRoleArn", ["", "arn:aws:iam::222222222222:role/teams/fleet"], ["fleet", "arn:aws:iam::2:role/fleet"]),
        ("Regions", ["", "us-east-2", "us-east-2,us-gov-west-1"], ["us-east-2, us-west-2", "us-east-2,", "mars"]),
        ("GroupNames", ["", "us-east-1/workers", "us-east-1/a b,us-west-2/c"], ["workers", "us-east-1/a,"]),
        ("AlarmTopic", ["", "arn:aws:sns:us-east-1:123456789012:alarms"], ["alarms"]),
        ("PermissionsBoundary", ["", "arn:aws:iam::123456789012:policy/bounds"], ["bounds"]),
        ("RolePath", ["/", "/teams/spillway/"], ["", "spillway", "/spillway"]),
    ],
)
def test_a_wrong_parameter_is_refused_before_anything_is_made(name: str, good: list[str], bad: list[str]) -> None:
    pattern = PARAMETERS[name]["AllowedPattern"]
    assert [value for value in good if not re.fullmatch(pattern, value)] == []
    assert [value for value in bad if re.fullmatch(pattern, value)] == []


def test_only_the_cluster_must_be_named() -> None:
    assert [name for name, parameter in PARAMETERS.items() if "Default" not in parameter] == ["ClusterName"]


def test_the_guide_of_the_console_shows_every_parameter() -> None:
    groups = load()["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    assert sorted(name for group in groups for name in group["Parameters"]) == sorted(PARAMETERS)


# ---- functions ----


@pytest.mark.feature("OP-03")
def test_every_handler_is_deployed_and_every_function_has_one() -> None:
    assert sorted(cloudformation.functions()) == sorted(path.parent.name for path in ROOT.glob("functions/*/app.py"))


def test_the_environment_is_what_the_code_reads() -> None:
    read = set(re.findall(r'"(SPILLWAY_[A-Z_]+)"', (ROOT / "shared/spillway/env.py").read_text(encoding="utf-8")))
    of_plan = FUNCTIONS["PlanFunction"]["Environment"]["Variables"]
    assert ENVIRONMENT.keys() | of_plan.keys() == read | {"SPILLWAY_SETTINGS"}


def test_metrics_have_no_dimension_but_ours() -> None:
    """Powertools adds the dimension `service` to every metric when this is set, and no alarm would find them."""
    assert "POWERTOOLS_SERVICE_NAME" not in ENVIRONMENT


@pytest.mark.parametrize("name", sorted(cloudformation.functions()))
def test_only_functions_that_talk_to_the_cluster_are_in_the_vpc(name: str) -> None:
    function = FUNCTIONS[cloudformation.functions()[name]]
    assert ("VpcConfig" in function) == (name in CLUSTER_FUNCTIONS)
    if name in CLUSTER_FUNCTIONS:
        assert function["VpcConfig"]["Fn::If"][0] == "InVpc"


@pytest.mark.parametrize("name", sorted(CLUSTER_FUNCTIONS))
def test_a_function_in_the_vpc_needs_three_endpoints_and_one_for_secrets(name: str) -> None:
    services = {operation.partition(".")[0] for operation in calls.called(name)}
    assert services <= {"dynamodb", "sts", "eks", "secretsmanager"}


@pytest.mark.parametrize("logical_id", FUNCTIONS)
def test_a_changed_parameter_publishes_a_new_version(logical_id: str) -> None:
    """A version is made anew when its description changes: by the layer's number, or by the policy's new name."""
    assert load()["Globals"]["Function"]["AutoPublishAlias"] == "live"
    assert FUNCTIONS[logical_id]["VersionDescription"] == {"Fn::Sub": "${SharedLayer} ${BasePolicy}"}
    used = refs(ENVIRONMENT) | refs(FUNCTIONS[logical_id].get("VpcConfig"))
    description = resources("AWS::IAM::ManagedPolicy")["BasePolicy"]["Description"]
    assert used & PARAMETERS.keys() <= refs(description)
    assert ENVIRONMENT["SPILLWAY_SETTINGS"] == {"Ref": "BasePolicy"}  # else Lambda finds nothing new to publish


# ---- what starts them ----


@pytest.mark.parametrize("logical_id", ["SnapshotClusterFunction", "SnapshotFleetFunction"])
def test_a_missed_tick_is_not_made_up_for_hours_later(logical_id: str) -> None:
    function = FUNCTIONS[logical_id]
    tick = function["Events"]["EveryMinute"]
    assert tick["Type"] == "ScheduleV2"
    assert tick["Properties"]["RetryPolicy"]["MaximumRetryAttempts"] <= 2
    assert tick["Properties"]["RetryPolicy"]["MaximumEventAgeInSeconds"] == 120
    assert unless_watching(function["EventInvokeConfig"]["MaximumEventAgeInSeconds"]) == 120


def unless_watching(value: Any) -> Any:
    return value["Fn::If"][2] if isinstance(value, dict) else value


@pytest.mark.feature("CS-15")
def test_watch_mode_is_one_parameter_and_off() -> None:
    assert PARAMETERS["WatchMode"]["Default"] == "off"
    assert PARAMETERS["WatchMode"]["AllowedValues"] == ["off", "on"]
    assert ENVIRONMENT["SPILLWAY_WATCH_MODE"] == {"Ref": "WatchMode"}
    assert load()["Conditions"]["Watches"] == {"Fn::Equals": [{"Ref": "WatchMode"}, "on"]}


@pytest.mark.feature("CS-15")
def test_a_function_that_watches_runs_once_at_a_time_and_no_tick_is_repeated_or_run_late() -> None:
    function = FUNCTIONS["SnapshotClusterFunction"]
    assert function["ReservedConcurrentExecutions"] == {"Fn::If": ["Watches", 1, {"Ref": "AWS::NoValue"}]}
    assert function["EventInvokeConfig"] == {
        "MaximumRetryAttempts": {"Fn::If": ["Watches", 0, 1]},
        "MaximumEventAgeInSeconds": {"Fn::If": ["Watches", 60, 120]},  # the least that Lambda allows
    }


@pytest.mark.feature("CS-15")
def test_a_function_that_watches_has_time_for_its_minute() -> None:
    """It ends by itself 55 s after its tick was due, and reads once more when pods are waiting then."""
    function = FUNCTIONS["SnapshotClusterFunction"]
    assert function.get("Timeout", load()["Globals"]["Function"]["Timeout"]) == 60


def test_a_plan_is_started_by_a_new_head_of_the_cluster_or_an_event_and_nothing_else() -> None:
    stream = FUNCTIONS["PlanFunction"]["Events"]["HeadOrEvent"]["Properties"]
    (only,) = stream["FilterCriteria"]["Filters"]
    pattern = json.loads(only["Pattern"])
    assert pattern["dynamodb"]["Keys"]["sk"]["S"] == [keys.HEAD_CLUSTER, {"prefix": keys.EVENT}]
    assert pattern["eventName"] == ["INSERT", "MODIFY"]  # an item that time to live removes is no news


def test_a_record_of_the_stream_that_fails_is_kept_and_does_not_block_the_next() -> None:
    stream = FUNCTIONS["PlanFunction"]["Events"]["HeadOrEvent"]["Properties"]
    assert (stream["MaximumRetryAttempts"], stream["MaximumRecordAgeInSeconds"]) == (2, 60)
    assert stream["DestinationConfig"]["OnFailure"]["Destination"] == {"Fn::GetAtt": ["DeadLetters", "Arn"]}


def test_an_event_that_fails_goes_to_dead_letters_and_never_loops() -> None:
    queue = resources("AWS::SQS::Queue")["Events"]
    assert queue["RedrivePolicy"] == {"deadLetterTargetArn": {"Fn::GetAtt": ["DeadLetters", "Arn"]}, "maxReceiveCount": 3}
    assert queue["VisibilityTimeout"] >= 6 * FUNCTIONS["IntakeFunction"]["Timeout"]


def test_only_our_rules_may_write_to_the_queue() -> None:
    (statement,) = resources("AWS::SQS::QueuePolicy")["EventsPolicy"]["PolicyDocument"]["Statement"]
    rules = [{"Fn::GetAtt": [rule, "Arn"]} for rule in resources("AWS::Events::Rule")]
    assert statement["Condition"] == {"ArnEquals": {"aws:SourceArn": rules}}


# ---- table, workflow, roles, logs ----


@pytest.mark.feature("CS-13")
def test_the_table_is_the_one_that_the_code_expects() -> None:
    table = resources("AWS::DynamoDB::Table")["Table"]
    assert [key["AttributeName"] for key in table["KeySchema"]] == ["pk", "sk"]
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["StreamSpecification"] == {"StreamViewType": "KEYS_ONLY"}
    assert table["TimeToLiveSpecification"] == {"AttributeName": keys.TTL, "Enabled": True}
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}


def test_the_workflow_calls_functions_by_their_alias() -> None:
    machine = resources("AWS::Serverless::StateMachine")["ExecutePlan"]
    definition = (ROOT / machine["DefinitionUri"]).read_text(encoding="utf-8")
    named = set(re.findall(r"\$\{(\w+)}", definition))
    assert machine["DefinitionSubstitutions"] == {name: {"Ref": f"{name}.Alias"} for name in named}


def test_the_workflow_may_call_its_functions_and_no_others() -> None:
    machine = resources("AWS::Serverless::StateMachine")["ExecutePlan"]
    role = resources("AWS::IAM::Role")["ExecutePlanRole"]
    invoke = role["Policies"][0]["PolicyDocument"]["Statement"][0]
    assert invoke["Action"] == ["lambda:InvokeFunction"]
    assert invoke["Resource"] == list(machine["DefinitionSubstitutions"].values())


@pytest.mark.parametrize("role", resources("AWS::IAM::Role").values(), ids=list(resources("AWS::IAM::Role")))
def test_every_role_keeps_the_rules_of_the_organisation(role: dict[str, Any]) -> None:
    assert role["Path"] == {"Ref": "RolePath"}
    assert role["PermissionsBoundary"]["Fn::If"] == ["HasBoundary", {"Ref": "PermissionsBoundary"}, {"Ref": "AWS::NoValue"}]
    assert "RoleName" not in role  # CAPABILITY_IAM is enough, and two stacks never collide


def test_eks_lets_in_exactly_the_roles_that_talk_to_the_cluster() -> None:
    entries = resources("AWS::EKS::AccessEntry")
    ids = cloudformation.functions()
    expected = {f"{ids[name].removesuffix('Function')}Role" for name in CLUSTER_FUNCTIONS}
    assert {entry["PrincipalArn"]["Fn::GetAtt"][0] for entry in entries.values()} == expected
    assert all(entry["KubernetesGroups"] == ["spillway"] for entry in entries.values())
    assert all(load()["Resources"][name]["Condition"] == "HasAccessEntries" for name in entries)


@pytest.mark.feature("CS-01")
def test_a_cluster_of_another_account_is_reached_by_its_role_and_nothing_else() -> None:
    """That role has the access entry, which this stack cannot make, and finds the endpoint."""
    document = resources("AWS::IAM::ManagedPolicy")["ClusterAccessPolicy"]["PolicyDocument"]
    condition, by_eks, _ = document["Statement"][0]["Fn::If"]
    inner, with_role, without = by_eks["Fn::If"]
    assert (condition, inner) == ("AccessByEks", "HasClusterRole")
    assert (with_role["Action"], with_role["Resource"]) == (["sts:AssumeRole"], {"Ref": "ClusterRoleArn"})
    assert without["Action"] == ["eks:DescribeCluster"]
    assert {"Fn::Not": [{"Condition": "HasClusterRole"}]} in load()["Conditions"]["HasAccessEntries"]["Fn::And"]
    assert ENVIRONMENT["SPILLWAY_CLUSTER_ROLE_ARN"] == {"Ref": "ClusterRoleArn"}


@pytest.mark.feature("FS-01")
@pytest.mark.parametrize("function", ["snapshot_fleet", "scale_out", "verify_instances", "scale_in"])
def test_groups_of_another_account_are_reached_by_their_role(function: str) -> None:
    (statement,) = [one for one in iam.statements(iam.role(function)) if one.get("Sid") == "AssumeFleetRole"]
    assert (statement["Action"], statement["Resource"]) == (["sts:AssumeRole"], {"Ref": "FleetRoleArn"})
    assert ENVIRONMENT["SPILLWAY_FLEET_ROLE_ARN"] == {"Ref": "FleetRoleArn"}


def test_a_cluster_without_access_entries_is_told_the_lines_of_its_config_map() -> None:
    lines = yaml.safe_load(load()["Outputs"]["AwsAuth"]["Value"]["Fn::Sub"])
    entries = resources("AWS::EKS::AccessEntry").values()
    without_path = "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/"  # the map knows a role by no other ARN
    roles = [entry["PrincipalArn"]["Fn::GetAtt"][0] for entry in entries]
    assert [line["rolearn"] for line in lines] == [f"{without_path}${{{role}}}" for role in roles]
    assert all(line["groups"] == ["spillway"] for line in lines)


def test_the_guide_lists_every_parameter() -> None:
    guide = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
    assert [name for name in PARAMETERS if f"`{name}`" not in guide] == []


def test_the_cluster_binds_the_group_that_the_roles_are_members_of() -> None:
    documents = yaml.safe_load_all((ROOT / "deploy/rbac.yaml").read_text(encoding="utf-8"))
    (binding,) = [one for one in documents if one["kind"] == "ClusterRoleBinding"]
    assert [subject["name"] for subject in binding["subjects"]] == ["spillway"]


def test_no_log_is_kept_for_ever() -> None:
    groups = resources("AWS::Logs::LogGroup")
    assert all(group["RetentionInDays"] == {"Ref": "LogRetentionDays"} for group in groups.values())
    assert load()["Globals"]["Function"]["LoggingConfig"] == {"LogGroup": {"Ref": "FunctionLogs"}}


def test_deleting_the_stack_leaves_nothing_behind() -> None:
    kept = {name for name, item in load()["Resources"].items() if item.get("DeletionPolicy", "Delete") != "Delete"}
    assert kept == set()
    assert FUNCTIONS
    assert resources("AWS::Serverless::LayerVersion")["SharedLayer"]["RetentionPolicy"] == "Delete"


def test_two_stacks_in_one_account_share_no_name() -> None:
    names = [
        *(
            function["Events"]["EveryMinute"]["Properties"]["Name"]
            for function in FUNCTIONS.values()
            if "EveryMinute" in str(function)
        ),
        resources("AWS::Serverless::LayerVersion")["SharedLayer"]["LayerName"],
        resources("AWS::Logs::LogGroup")["WorkflowLogs"]["LogGroupName"],
    ]
    assert all("AWS::StackName" in refs(name) for name in names)
