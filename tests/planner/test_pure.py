"""The planner and the model read no clock and draw no random number: what they import cannot do either."""

import ast
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared" / "spillway"
FILES = sorted(path for folder in ("planner", "model") for path in (SHARED / folder).rglob("*.py"))
IMPURE = {"time", "random", "os", "secrets", "uuid", "boto3", "botocore", "kubernetes", "aws_lambda_powertools", "threading"}


@pytest.mark.feature("SO-27")
@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(SHARED)) for path in FILES])
def test_a_module_of_the_planner_is_a_function_of_its_input(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = {call.attr for call in calls if isinstance(call, ast.Attribute)}
    assert not {name.partition(".")[0] for name in imported} & IMPURE
    assert not imported & {"spillway.clock", "spillway.env", "spillway.telemetry"}
    assert not called & {"now", "today", "utcnow", "urandom"}
