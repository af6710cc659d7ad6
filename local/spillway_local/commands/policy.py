"""`spillway policy check` and `spillway policy apply`."""

import argparse
import getpass
from pathlib import Path

from spillway_local.options import Subparsers, command, deployed, deployed_table


def register(commands: Subparsers) -> None:
    policy = commands.add_parser(
        "policy",
        help="check a policy document, or put it into force",
        description="Check a policy document, or put it into force.",
    )
    actions = policy.add_subparsers(title="commands", metavar="COMMAND", required=True)
    check = command(
        actions,
        "check",
        run_check,
        summary="say what is wrong with a document",
        description="Read a policy document and name every wrong field. docs/schema/policy.json lists all fields.",
    )
    apply = command(
        actions,
        "apply",
        run_apply,
        summary="put a document into force",
        description="Check a policy document and write it to the stack's table as a new version; the next plan obeys it.",
    )
    for action in (check, apply):
        action.add_argument("file", type=Path, metavar="FILE", help="the document, YAML or JSON")
    deployed(apply)


def run_check(arguments: argparse.Namespace) -> int:
    from spillway_local.policy_file import read_policy

    read_policy(arguments.file)
    print(f"{arguments.file} is a valid policy")
    return 0


def run_apply(arguments: argparse.Namespace) -> int:
    from spillway_local.policy_file import read_policy

    policy = read_policy(arguments.file)
    with deployed_table(arguments) as table:
        from spillway.aws.table import settings

        fields = policy.model_dump(mode="json", exclude_unset=True)
        version = settings.put_policy(table, fields, by=getpass.getuser(), source=str(arguments.file))
    print(f"cluster {arguments.cluster}: policy version {version} is in force from the next plan on")
    return 0
