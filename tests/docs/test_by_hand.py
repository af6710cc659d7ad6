"""What people type: `make demo` on a fresh machine, and a function of the stack called with a sample event."""

import re
import subprocess

import pytest

from spillway_local.cloudformation import ROOT, resources
from spillway_local.handlers import Handlers

DEPLOY = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")


def commands(verb: str) -> str:
    """What make would run for a verb where nothing is installed yet."""
    asked = ["make", "--no-print-directory", "--dry-run", "--always-make", verb]
    return subprocess.run(asked, cwd=ROOT, check=True, capture_output=True, text=True).stdout


@pytest.mark.feature("OP-02")
def test_the_demo_needs_python_and_make_and_installs_the_rest_at_locked_versions() -> None:
    told = commands("demo").splitlines()
    made, installed, synced, run = told
    assert made.startswith("python3 -m venv")
    assert re.search(r"pip install .*uv==[\d.]+$", installed)
    assert "sync --locked" in synced
    assert run.rstrip().endswith("python -m spillway_local.demo")


@pytest.mark.feature("OP-03")
@pytest.mark.parametrize("function", Handlers())
def test_a_function_of_the_stack_is_found_by_its_folders_name(function: str) -> None:
    """The way of the guide: `sam remote invoke <Name>Function --event-file events/<name>.….json`."""
    name = "".join(part.capitalize() for part in function.split("_")) + "Function"
    assert name in resources("AWS::Serverless::Function")
    assert list((ROOT / "events").glob(f"{function}.*.json"))


@pytest.mark.feature("OP-03")
def test_the_guides_call_names_a_function_of_the_stack_and_a_sample_that_is_there() -> None:
    [(name, event)] = re.findall(r"^sam remote invoke (\w+) --stack-name \S+ --event-file (\S+)$", DEPLOY, re.MULTILINE)
    assert name in resources("AWS::Serverless::Function")
    assert (ROOT / event).exists()
