"""`python -m bench [--only NAME]`: run the figures whose name starts with NAME and print one JSON object a line."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator

from bench import bursts, cold_start, peers
from bench.data import Missing

Figure = dict[str, object]
FIGURES: dict[str, Callable[[], Iterator[Figure]]] = {
    "cost_burst_300": lambda: bursts.cost("burst_300"),
    "cost_burst_2000": lambda: bursts.cost("burst_2000"),
    "bound_burst_300": lambda: bursts.bound("burst_300"),
    "karpenter_20000": lambda: peers.plan_time("karpenter_20000"),
    "ca_scale_up_50000": lambda: peers.plan_time("ca_scale_up_50000"),
    "ca_binpack_51000": lambda: peers.plan_time("ca_binpack_51000"),
    "plan_150000": peers.plan_150000,
    "cold_start": cold_start.figures,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--only", default="", metavar="NAME", help="only figures whose name starts with NAME")
    only = parser.parse_args().only
    chosen = {name: run for name, run in FIGURES.items() if name.startswith(only) or only.startswith(name)}
    if not chosen:
        print(f"no figure starts with {only!r}; there are {', '.join(FIGURES)}", file=sys.stderr)
        return 2
    for name, run in chosen.items():
        try:
            for figure in run():
                print(json.dumps(figure), flush=True)
        except Missing as missing:
            print(json.dumps({"figure": name, "skipped": str(missing)}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
