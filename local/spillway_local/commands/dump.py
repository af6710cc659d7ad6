"""`spillway dump`: a dump of a cluster that runs. Nothing is changed anywhere."""

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spillway_local.options import Subparsers, command, listed

if TYPE_CHECKING:
    from spillway.model.access import Access


def register(commands: Subparsers) -> None:
    dump = command(
        commands,
        "dump",
        run,
        summary="write down a cluster and its fleet",
        description="Read a running cluster and its Auto Scaling groups, and write a dump (docs/dump.md). Nothing is changed; "
        "values of environments, secrets, config maps (but the older autoscaler's priorities), and of user data all but what "
        "it tells the kubelet, are left out.",
    )
    dump.add_argument("folder", type=Path, metavar="DIR", help="a folder that does not exist yet")
    dump.add_argument("--cluster", required=True, metavar="NAME", help="the cluster, as the tags of its groups name it")
    dump.add_argument(
        "--regions", type=listed, required=True, metavar="LIST", help="regions with groups, the home region first, by commas"
    )
    dump.add_argument(
        "--group-names", type=listed, default=[], metavar="LIST", help="region/name of groups that no tag marks, by commas"
    )
    dump.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="how to reach the API server, with a token or a certificate in it (default: an EKS cluster of that name, by IAM)",
    )
    dump.add_argument(
        "--cluster-role", default="", metavar="ARN", help="the role to assume where the EKS cluster is another account's"
    )


def run(arguments: argparse.Namespace) -> int:
    from spillway.aws import reader
    from spillway.errors import DumpError
    from spillway.kube.session import connect
    from spillway_local import live

    folder: Path = arguments.folder
    regions: list[str] = arguments.regions
    if folder.exists():
        raise DumpError(str(folder), "", "it is there already; name a new folder")
    session = connect(_access(arguments.cluster, regions[0], arguments.kubeconfig, arguments.cluster_role))
    answers = reader.read(regions, arguments.cluster, arguments.group_names)
    now, left_out = live.write_cluster(folder / "cluster", session)
    left_out += live.write_fleet(folder / "fleet", answers)
    meta: dict[str, Any] = {"cluster": arguments.cluster, "home_region": regions[0], "now": now.isoformat()}
    meta |= {"group_names": arguments.group_names} if arguments.group_names else {}
    (folder / "meta.json").write_text(json.dumps(meta) + "\n", encoding="utf-8")
    for sentence in left_out:
        print(f"spillway: {sentence}", file=sys.stderr)
    print(f"{folder} holds cluster {arguments.cluster}; show what would be done with `spillway plan --from {folder}`")
    return 0


def _access(cluster: str, region: str, file: Path | None, role: str) -> Callable[[bool], "Access"]:
    from spillway.aws.access import access
    from spillway.env import Env

    return partial(access, Env(cluster, region, (region,), "", "", f"file:{file}" if file else "eks", (), role))
