"""`spillway stop` and `spillway resume`: the one switch that stops everything."""

import argparse
import getpass

from spillway_local.options import Subparsers, command, deployed, deployed_table


def register(commands: Subparsers) -> None:
    stop = command(
        commands,
        "stop",
        run_stop,
        summary="stop everything at once",
        description="Throw the switch: no plan starts, a running one stops before its next write, and drains are given up "
        "without a trace. Snapshots go on, so that you can see what would be done.",
    )
    resume = command(
        commands,
        "resume",
        run_resume,
        summary="let it go on",
        description="Take the switch back: the next plan starts from what is there then.",
    )
    for parser in (stop, resume):
        deployed(parser)
        parser.add_argument("--reason", default="", metavar="TEXT", help="why, for those who find the switch thrown")


def run_stop(arguments: argparse.Namespace) -> int:
    with deployed_table(arguments) as table:
        from spillway.aws.table import settings

        settings.stop(table, getpass.getuser(), arguments.reason)
    print(f"cluster {arguments.cluster}: stopped; nothing is written until `spillway resume`")
    return 0


def run_resume(arguments: argparse.Namespace) -> int:
    with deployed_table(arguments) as table:
        from spillway.aws.table import settings

        settings.resume(table, getpass.getuser(), arguments.reason)
    print(f"cluster {arguments.cluster}: goes on with its next plan")
    return 0
