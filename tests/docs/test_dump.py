"""docs/dump.md: its commands are run as they stand, against a kubectl and an aws that only know their own models."""

import json
import os
import re
import shlex
import stat
import subprocess
from functools import cache
from pathlib import Path

import botocore.session
import pytest
from botocore import xform_name
from botocore.model import OperationModel

from spillway_local import dump

PAGE = (Path(__file__).parents[2] / "docs" / "dump.md").read_text(encoding="utf-8")
SCRIPT = re.search(r"```bash\n(.*?)```", PAGE, re.DOTALL).group(1)
CLI_ONLY = {"output", "no-paginate"}

KUBECTL = """#!/bin/sh
if [ "$1" = version ]; then echo '{"serverVersion": {"gitVersion": "v1.33.1-eks-1234567"}}'; exit; fi
echo '{"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": []}'
"""


@cache
def _operation(service: str, command: str) -> OperationModel:
    model = botocore.session.get_session().get_service_model(service)
    names = {xform_name(name, "-"): name for name in model.operation_names}
    return model.operation_model(names[command])


def _aws_commands() -> list[list[str]]:
    lines = SCRIPT.replace("\\\n", " ").splitlines()
    return [shlex.split(line.split(">")[0]) for line in map(str.strip, lines) if line.startswith("aws ")]


def test_every_aws_command_exists_with_its_options_and_prints_a_key_that_a_dump_knows() -> None:
    for _, service, command, *rest in _aws_commands():
        operation = _operation(service, command)
        options = {word.removeprefix("--") for word in rest if word.startswith("--")}
        assert options <= CLI_ONLY | {xform_name(member, "-") for member in operation.input_shape.members}, command
        assert set(operation.output_shape.members) & dump.LISTS, command


def test_the_commands_make_a_dump_that_can_be_read(tmp_path: Path) -> None:
    keys = {
        command: next(iter(set(_operation(s, command).output_shape.members) & dump.LISTS))
        for _, s, command, *_ in _aws_commands()
    }
    cases = "\n".join(f"  {command}) echo '{json.dumps({key: []})}';;" for command, key in keys.items())
    _program(tmp_path / "aws", f'#!/bin/sh\ncase "$2" in\n{cases}\nesac\n')
    _program(tmp_path / "kubectl", KUBECTL)

    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-euc", SCRIPT], cwd=tmp_path, env=environment, check=True)

    found = dump.read(tmp_path / "dump")
    assert found.cluster.server_version == "v1.33.1-eks-1234567"
    assert (found.cluster.cluster, found.fleet.home_region) == ("prod", "us-east-1")
    assert [region.name for region in found.fleet.regions] == ["us-east-1", "us-west-2"]


def test_the_page_names_every_key_that_a_region_may_hold() -> None:
    commands = {key for _, s, command, *_ in _aws_commands() for key in _operation(s, command).output_shape.members}
    table = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert commands | table >= dump.LISTS | dump.MAPPINGS


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize("text", re.findall(r"`(jq .*?|aws ec2 describe-launch-template-versions --launch.*?)`", PAGE))
def test_the_commands_beside_the_script_are_shell(text: str) -> None:
    subprocess.run(["bash", "-nc", text], check=True)
