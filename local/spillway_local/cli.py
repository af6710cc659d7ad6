"""The command `spillway`. Exit codes: 0 done, 1 failed, 2 wrong usage or bad input.

A command's module says in `register` what it takes, and imports what it needs only when it runs: `--help` is at once there.
"""

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import cast

from spillway.errors import AwsUnavailable, SpillwayError
from spillway_local.commands import dump, plan, policy, switch

EPILOG = """exit codes:
  0  done
  1  failed: something could not be reached, or what was asked for is not there
  2  wrong usage, or input that must be mended: a file of a dump, a field of a policy"""

COMMANDS = (plan, dump, policy, switch)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="spillway",
        description="Node autoscaler for Kubernetes on EC2 Auto Scaling groups.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in COMMANDS:
        module.register(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code is returned, wrong usage leaves by SystemExit(2)."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a name may hold what the terminal cannot show
    arguments = parser().parse_args(argv)
    run = cast(Callable[[argparse.Namespace], int], arguments.run)
    try:
        code = run(arguments)
        sys.stdout.flush()  # a closed pipe shows here, not when Python exits
    except AwsUnavailable as error:  # its own sentence speaks of the next tick, and a laptop has none
        problem = f"region {error.region}: {error.action} failed: {error.problem}"
        return _failed(f"{problem}. Check the network and the AWS credentials of this shell", error.exit_code)
    except SpillwayError as error:
        return _failed(str(error), error.exit_code)
    except BrokenPipeError:  # the reader, `head` for example, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return code


def _failed(sentence: str, code: int) -> int:
    print(f"spillway: {sentence}", file=sys.stderr)
    return code
