"""One dump in, one plan out, in this process: what `spillway plan --from DIR --output json --assign` prints."""

import json
from collections.abc import Sequence
from typing import Any

from spillway_local import cli, dump
from spillway_local.commands import plan as command


def plan(folder: str, args: Sequence[str] = ()) -> dict[str, Any]:
    """The plan with its assignments; raises errors with an `exit_code`, and SystemExit(2) for wrong `args`."""
    arguments = cli.parser().parse_args(["plan", "--from", folder, "--output", "json", "--assign", *args])
    read = dump.read(arguments.folder)
    found = command.plan_of(read, arguments.folder, arguments.assume_idle_since)
    answer: dict[str, Any] = json.loads(json.dumps(command.document(found, read, assign=arguments.assign)))
    return answer
