"""docs/cluster-access.md: what it tells people to type and to write is what AWS, Kubernetes and Spillway take."""

import itertools
import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
import yaml
from botocore import xform_name

from spillway import errors
from spillway.aws.access import access
from spillway.env import Env
from spillway_local.cloudformation import ROOT, load
from spillway_local.kube_api import Cluster

PAGE = (ROOT / "docs" / "cluster-access.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^( *)```(\w*)\n(.*?)^ *```$", PAGE, re.MULTILINE | re.DOTALL)
JSON = [json.loads(text) for _, language, text in BLOCKS if language == "json"]
COMMANDS = [line.strip() for _, language, text in BLOCKS if not language for line in text.splitlines()]
PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
ROLE, BINDING = yaml.safe_load_all((ROOT / "deploy" / "rbac.yaml").read_text(encoding="utf-8"))
RULES = ROLE["rules"]


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def commands(program: str) -> list[list[str]]:
    """Words of each call, alone or in a pipe."""
    calls = [list(words) for line in COMMANDS for bar, words in itertools.groupby(shlex.split(line), "|".__eq__) if not bar]
    return [words for words in calls if words[0] == program]


@pytest.mark.feature("CS-01")
@pytest.mark.feature("CS-02")
@pytest.mark.parametrize("words", commands("aws"), ids=lambda words: " ".join(words[1:3]))
def test_a_call_of_the_aws_cli_has_the_operation_and_its_parameters(aws_credentials: None, words: list[str]):
    """Also those that AWS requires."""
    _, service, operation, *rest = words
    client = boto3.client(service, region_name="us-east-1")  # type: ignore[call-overload]
    shape = client.meta.service_model.operation_model(
        client.meta.method_to_api_mapping[operation.replace("-", "_")]
    ).input_shape
    given = {word.removeprefix("--") for word in rest if word.startswith("--")}
    known = {xform_name(name, "-"): name for name in shape.members}
    assert given <= known.keys()
    assert set(shape.required_members) <= {known[name] for name in given}


@pytest.mark.feature("CS-01")
def test_the_other_accounts_role_is_trusted_for_our_functions_and_finds_the_endpoint():
    trust, permissions = (document["Statement"][0] for document in JSON)
    assert trust["Action"] == "sts:AssumeRole"
    assert "arn:aws:iam::123456789012:role/spillway-*" in trust["Condition"]["ArnLike"].values()
    granted = load()["Resources"]["ClusterAccessPolicy"]["Properties"]["PolicyDocument"]["Statement"][0]["Fn::If"][1]
    assert [permissions["Action"]] == granted["Fn::If"][2]["Action"]  # what the stack's roles need in their own account
    assert (
        f"ClusterRoleArn={permissions['Resource'].replace('eks:us-east-1', 'iam:').replace('cluster/prod', 'role/spillway')}"
        in PAGE
    )


@pytest.mark.feature("CS-02")
@pytest.mark.parametrize("words", commands("kubectl"), ids=lambda words: " ".join(words[1:4]))
def test_files_that_kubectl_is_given_are_there_or_on_the_page(words: list[str]):
    files = [file for flag, file in itertools.pairwise(words) if flag == "-f" and file != "-"]
    assert all((ROOT / file).exists() or file == "token.yaml" for file in files)


@pytest.mark.feature("CS-02")
def test_the_service_account_of_the_page_has_the_rights_of_the_role(api_server: Cluster):
    """The API server takes the objects as they stand there."""
    (text,) = [text for _, language, text in BLOCKS if language == "yaml"]
    api_server.add(ROLE)
    account, secret, binding = yaml.safe_load_all(text)
    assert secret["metadata"]["annotations"]["kubernetes.io/service-account.name"] == account["metadata"]["name"]
    api_server.add(secret)
    api_server.add(binding)
    assert binding["roleRef"]["name"] == ROLE["metadata"]["name"]
    (subject,) = binding["subjects"]
    assert subject == {"kind": account["kind"], **account["metadata"]}


def documents() -> Iterator[tuple[str, list[str]]]:
    """What jq makes `access.json` of: the names of its fields, by the section they stand in."""
    for title in ("A token", "A client certificate"):
        (made,) = re.findall(r"'\{(server: .*)\}' > access\.json", section(title))
        yield title, re.findall(r"(\w+): ", re.sub(r'"[^"]*"', "", made))


@pytest.mark.feature("CS-02")
@pytest.mark.parametrize(("title", "fields"), list(documents()))
def test_the_document_that_the_page_makes_is_taken(title: str, fields: list[str]):
    made = {name: PEM if name in ("ca", "certificate", "key") else "https://k8s.example.com" for name in fields}
    found = access(Env("prod", "us-east-1", ("us-east-1",), "", "", f"json:{json.dumps(made)}", ()))
    assert found.server == "https://k8s.example.com"
    assert bool(found.token) != bool(found.certificate)


@pytest.mark.feature("CS-02")
def test_a_client_certificate_is_of_the_group_that_the_role_is_bound_to():
    assert f"-subj /O={BINDING['subjects'][0]['name']}/" in section("A client certificate")


@pytest.mark.feature("CS-02")
@pytest.mark.parametrize("program", ["aws", "aws-iam-authenticator", "kubelogin", "oidc"])
def test_a_login_program_of_the_page_is_refused_with_what_the_page_says(program: str):
    user = {"exec": {"command": program, "args": ["eks", "get-token"]}}
    named = {"contexts": "context", "clusters": "cluster", "users": "user"}
    inner: dict[str, Any] = {"contexts": {"cluster": "x", "user": "x"}, "clusters": {"server": "https://k8s"}, "users": user}
    document = {field: [{"name": "x", one: inner[field]}] for field, one in named.items()}
    with pytest.raises(errors.AccessError, match=f"by the program {program}, .* never run") as caught:
        access(Env("prod", "us-east-1", ("us-east-1",), "", "", f"json:{json.dumps(document)}", ()))
    (row,) = [line for line in section("A kubeconfig").splitlines() if re.search(rf"^\| .*`{program}\b", line)]
    assert ("`eks`" in str(caught.value)) == ("ClusterAccess=eks" in row)


@pytest.mark.feature("CS-03")
def test_the_table_of_rights_names_what_the_role_grants():
    table = section("Rights")
    granted = {resource for rule in RULES for resource in rule.get("resources", ())} - {"configmaps"}
    assert [name for name in sorted(granted) if name not in table] == []
    names = [name for rule in RULES for name in rule.get("resourceNames", ())]
    assert [name for name in names if name not in table] == []
    verbs = {verb for rule in RULES for verb in rule["verbs"]}
    told = {verb for line in table.splitlines() if line.startswith("| ") for verb in re.findall(r"\w+", line.split("|")[1])}
    assert told - {"Verbs"} == verbs


@pytest.mark.feature("CS-14")
def test_every_error_of_a_read_is_explained():
    ours = [name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.ClusterError)]
    wanted = {"AccessError", "AwsForbidden", "AwsUnavailable", *ours} - {"ClusterError"}
    assert (
        set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", section("What errors say"), re.MULTILINE)))) == wanted
    )


def test_links_inside_the_page_lead_somewhere():
    titles = {title.lower().replace(" ", "-") for title in re.findall(r"^## (.+)$", PAGE, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([\w-]+)\)", PAGE)) <= titles
