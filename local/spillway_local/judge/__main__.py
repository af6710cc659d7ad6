"""One seed before the real scheduler: `python -m spillway_local.judge --seed 17`, or `--pairs 3` for single decisions.

Exit code 0 when we and the scheduler agree, 1 when we do not, 2 for wrong usage or when there is no control plane.
"""

import argparse
import sys

from spillway_local.control_plane import ControlPlane
from spillway_local.control_plane.binaries import NoControlPlane
from spillway_local.judge import pinned, run
from spillway_local.judge.features import BUILT, Feature
from spillway_local.judge.generator import generate
from spillway_local.judge.stage import Stage


def main() -> int:
    arguments = parser().parse_args()
    if arguments.hold and arguments.seed is None:
        parser().error("--hold is for a world: it goes with --seed")
    if arguments.seed is not None:
        print(f"dump: {run.dump(arguments.seed, arguments.features)}", flush=True)
    try:
        plane = ControlPlane(())
    except NoControlPlane as problem:
        print(f"spillway: {problem}", file=sys.stderr)
        return 2
    with plane, Stage(plane) as stage:
        if arguments.seed is None:
            return _pairs(stage, arguments.pairs, arguments.features)
        found = run.judge(stage, [arguments.seed], arguments.features)
        print(run.report(found, arguments.features) or f"seed {arguments.seed}: plan and scheduler agree")
        print("\n".join(found.free.lines()))
        if arguments.hold:
            _hold(plane, stage, arguments)
    return int(bool(found.disagreements))


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="python -m spillway_local.judge", description="Replay a seed, and dump what it makes.")
    what = found.add_mutually_exclusive_group(required=True)
    what.add_argument("--seed", type=int, help="of a random world")
    what.add_argument("--pairs", type=int, metavar="SEED", help="of random pairs of a pod and a node")
    found.add_argument(
        "--hold", nargs="?", choices=("pinned", "free"), const="pinned",
        help="leave the world standing for kubectl: its pods pinned to the plan's nodes, or free to go anywhere",
    )  # fmt: skip
    found.add_argument(
        "--features", type=_features, default=BUILT, metavar="LIST",
        help=f"what the world is made of, by commas (default: what the planner judges). Known: {', '.join(Feature)}",
    )  # fmt: skip
    return found


def _pairs(stage: Stage, seed: int, features: frozenset[Feature]) -> int:
    wrong = run.judge_pairs(stage, seed, features)
    print(run.report_pairs(seed, wrong, features) or f"seed {seed}: we and the scheduler agree on all pairs")
    return int(bool(wrong))


def _hold(plane: ControlPlane, stage: Stage, arguments: argparse.Namespace) -> None:
    world = generate(arguments.seed, arguments.features)
    if arguments.hold == "pinned":
        pinned.set_up(stage, [world])
    else:
        planned = world.plan()
        stage.put([*world.standing(planned), *planned.nodes.values(), *planned.company, *world.waiting()])
    input(f"export KUBECONFIG={plane.kubeconfig}\nlogs in {plane.folder}; Enter ends it ")


def _features(text: str) -> frozenset[Feature]:
    return frozenset(Feature(name.strip()) for name in text.split(","))


if __name__ == "__main__":
    sys.exit(main())
