"""Lints the state machine: its form by statelint, and every JSONata expression by compiling it, which statelint does not.

python -m spillway_local.lint_workflow statemachine/execute_plan.asl.json
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonata.jexception import JException
from jsonata.jsonata import Jsonata
from statelint.config import Config  # type: ignore[import-untyped]
from statelint.linter import Linter  # type: ignore[import-untyped]
from statelint.problem import ProblemType  # type: ignore[import-untyped]

# statelint 3.1.0 wants a number here; the language takes an expression too: states-language.net, "JSONata", and the
# Step Functions developer guide, Task's TimeoutSeconds and HeartbeatSeconds and Wait's Seconds.
_TAKES_EXPRESSION = re.compile(r'\.(TimeoutSeconds|HeartbeatSeconds|Seconds) is "\{%.*%}" but should be an Integer')
_IGNORED = {ProblemType.URI}  # `${ScaleOutFunction}` is put in at deploy time


def problems(definition: str) -> list[str]:
    """One sentence for each, [] for a definition that is sound."""
    found = [problem for problem in Linter.validate(definition, Config(_IGNORED)) if not _TAKES_EXPRESSION.search(problem)]
    return found + [f"{expression}: {problem}" for expression, problem in _broken(json.loads(definition))]


def _broken(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _broken(item)
    elif isinstance(value, str) and value.startswith("{%"):
        try:
            Jsonata(value[2:-2].strip())
        except JException as error:
            yield value, str(error)


if __name__ == "__main__":
    lines = problems(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print("\n".join(lines), end="\n" if lines else "")
    sys.exit(bool(lines))
