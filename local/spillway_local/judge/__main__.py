"""One seed before the real scheduler: `python -m spillway_local.judge --seed 17`.

Exit code 0 when plan and scheduler agree, 1 when they do not, 2 for wrong usage or when there is no control plane.
"""

import argparse
import sys

from spillway_local.control_plane import ControlPlane
from spillway_local.control_plane.binaries import NoControlPlane
from spillway_local.judge import run
from spillway_local.judge.features import BUILT, Feature
from spillway_local.judge.generator import generate
from spillway_local.judge.stage import Stage


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m spillway_local.judge", description="Replay a random world, and dump it.")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument(
        "--hold", action="store_true", help="leave the world standing, with its pods to the scheduler, for kubectl"
    )
    parser.add_argument(
        "--features", type=_features, default=BUILT, metavar="LIST",
        help=f"what the world is made of, by commas (default: what the planner judges). Known: {', '.join(Feature)}",
    )  # fmt: skip
    arguments = parser.parse_args()
    print(f"dump: {run.dump(arguments.seed, arguments.features)}", flush=True)
    try:
        plane = ControlPlane(())
    except NoControlPlane as problem:
        print(f"spillway: {problem}", file=sys.stderr)
        return 2
    with plane, Stage(plane) as stage:
        found = run.judge(stage, [arguments.seed], arguments.features)
        print(run.report(found, arguments.features) or f"seed {arguments.seed}: plan and scheduler agree")
        print("\n".join(found.free.lines()))
        if arguments.hold:
            _hold(plane, stage, arguments.seed, arguments.features)
    return int(bool(found.disagreements))


def _hold(plane: ControlPlane, stage: Stage, seed: int, features: frozenset[Feature]) -> None:
    world = generate(seed, features)
    planned = world.plan()
    stage.put([*world.standing(planned), *planned.nodes.values(), *world.waiting()])
    input(f"export KUBECONFIG={plane.kubeconfig}\nlogs in {plane.folder}; Enter ends it ")


def _features(text: str) -> frozenset[Feature]:
    return frozenset(Feature(name.strip()) for name in text.split(","))


if __name__ == "__main__":
    sys.exit(main())
