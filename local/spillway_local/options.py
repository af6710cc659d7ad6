"""What commands share: how they register, and the types of their options."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from spillway.errors import AwsForbidden, AwsUnavailable, SpillwayError

if TYPE_CHECKING:
    from spillway.aws.table import Table

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def command(
    commands: Subparsers,
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    summary: str,
    description: str,
) -> argparse.ArgumentParser:
    """A new command `name`; its `run` gets the arguments and returns the exit code."""
    found = commands.add_parser(name, help=summary, description=description, allow_abbrev=False)
    found.set_defaults(run=run)
    return found


def moment(text: str) -> datetime:
    """A time with its zone, as in 2026-01-01T00:00:00Z."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write it as in 2026-01-01T00:00:00Z") from None
    if found.tzinfo is None:
        raise argparse.ArgumentTypeError(f"{text!r} has no time zone; write it in UTC, as in 2026-01-01T00:00:00Z")
    return found


def listed(text: str) -> list[str]:
    """Names by commas, at least one."""
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise argparse.ArgumentTypeError("at least one name is wanted")
    return found


def deployed(parser: argparse.ArgumentParser) -> None:
    """Options that name the table of a deployed stack."""
    parser.add_argument("--cluster", required=True, metavar="NAME", help="the cluster, as the stack's parameter names it")
    parser.add_argument("--table", metavar="TABLE", help="the stack's table (default: spillway-NAME)")
    parser.add_argument("--region", metavar="REGION", help="the stack's home region (default: that of your AWS configuration)")


@dataclass(eq=False)
class TableUnusable(SpillwayError):
    """AWS does not let us use the table of a deployed stack."""

    table: str
    region: str
    problem: str

    def __str__(self) -> str:
        return (
            f"table {self.table} in region {self.region or '(none)'}: {self.problem}. "
            "Check --cluster, --table and --region, and the AWS credentials of this shell"
        )


@contextmanager
def deployed_table(arguments: argparse.Namespace) -> "Iterator[Table]":
    """The table that the options of `deployed` name; what AWS refuses meanwhile becomes TableUnusable."""
    import boto3
    from botocore.exceptions import BotoCoreError

    from spillway.aws.table import Table

    name = arguments.table or f"spillway-{arguments.cluster}"
    region = arguments.region or ""
    try:
        region = region or boto3.session.Session().region_name or ""
        if not region:
            raise TableUnusable(name, region, "no region is given")
        yield Table(name, arguments.cluster, region)
    except BotoCoreError as error:  # the shell's own configuration, a profile that is not there for example
        raise TableUnusable(name, region, str(error)) from error
    except AwsUnavailable as error:
        raise TableUnusable(name, region, f"{error.action} failed: {error.problem}") from error
    except AwsForbidden as error:
        raise TableUnusable(name, region, f"IAM does not allow {error.action}: {error.message}") from error
