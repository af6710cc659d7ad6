"""`spillway policy`, `spillway stop` and `spillway resume`."""

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from spillway.aws import clients
from spillway.aws.table import Table, settings
from spillway_local import cli

DEPLOYED = ["--cluster", "prod", "--table", "spillway-prod", "--region", "us-east-1"]


@pytest.fixture
def document(tmp_path: Path) -> Path:
    return tmp_path / "policy.yaml"


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[Table]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        clients.clear()
        boto3.client("dynamodb", region_name="us-east-1").create_table(
            TableName="spillway-prod",
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        )
        yield Table("spillway-prod", "prod", "us-east-1")
    clients.clear()


def test_says_that_a_policy_is_valid(document: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document.write_text("scale_in:\n  idle_s: 300\n")
    assert cli.main(["policy", "check", str(document)]) == 0
    assert capsys.readouterr().out == f"{document} is a valid policy\n"


@pytest.mark.parametrize("text", ["", "# nothing but a remark\n", "scale_in:\npods:\n"])
def test_what_is_left_empty_means_the_defaults(document: Path, text: str) -> None:
    document.write_text(text)
    assert cli.main(["policy", "check", str(document)]) == 0


def test_names_every_wrong_field_with_its_path(document: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document.write_text("mode: fly\ngroups: {'gpu-*': {scale_in: {idle_s: -1, idle: 3}}}\nscale_out: {limits: {cpu: lots}}\n")
    assert cli.main(["policy", "check", str(document)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"spillway: policy {document}: ")
    for field in ("mode: ", "groups.gpu-*.scale_in.idle_s: ", "groups.gpu-*.scale_in.idle: ", "scale_out.limits.cpu: "):
        assert field in said.err
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mode: [run", "line 1"),
        ("mode: run\nmode: off\n", "line 2: the field mode is given twice"),
        ("- mode\n", "document: a mapping of fields is wanted, this is a list"),
    ],
)
def test_a_document_that_is_no_policy_says_where(
    document: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    document.write_text(text)
    assert cli.main(["policy", "check", str(document)]) == 2
    assert says in capsys.readouterr().err


def test_a_file_that_is_not_there_is_named(document: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["policy", "check", str(document)]) == 2
    assert str(document) in capsys.readouterr().err


def test_apply_puts_a_new_version_into_force(table: Table, document: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document.write_text("scale_in: {idle_s: 300}\n")
    assert cli.main(["policy", "apply", str(document), *DEPLOYED]) == 0
    policy, version = settings.policy(table)
    assert policy.scale_in.idle_s == 300
    assert f"version {version} " in capsys.readouterr().out


def test_apply_stores_nothing_that_is_wrong(table: Table, document: Path) -> None:
    document.write_text("scale_in: {idle_s: never}\n")
    assert cli.main(["policy", "apply", str(document), *DEPLOYED]) == 2
    assert settings.policy(table)[1] == settings.NO_POLICY


def test_stop_throws_the_switch_and_resume_takes_it_back(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["stop", *DEPLOYED, "--reason", "moving subnets"]) == 0
    assert settings.is_stopped(table)
    assert settings.switch(table).reason == "moving subnets"
    assert cli.main(["resume", *DEPLOYED]) == 0
    assert not settings.is_stopped(table)
    assert "prod" in capsys.readouterr().out


def test_a_table_that_is_not_there_is_one_sentence(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["stop", "--cluster", "prod", "--table", "other", "--region", "us-east-1"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("spillway: table other in region us-east-1: ")
    assert len(said.splitlines()) == 1


def test_without_a_region_it_asks_for_one(
    table: Table, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    assert cli.main(["resume", "--cluster", "prod"]) == 1
    assert "--region" in capsys.readouterr().err
