"""`python -m bench [--only NAME]`: run the figures whose names start with NAME and print one JSON object a line."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from bench import allocatable, bursts, cold_start, drain, fleet, growth, peers, reaction, snapshot, tick
from bench.check import Wrong
from bench.data import Missing
from bench.figure import Figure

DONE, FAILED, WRONG_USAGE = 0, 1, 2
FIGURES: Mapping[str, Callable[[], Iterator[Figure]]] = {
    "allocatable": allocatable.compared,
    "cost_burst_300": partial(bursts.cost, "burst_300"),
    "cost_burst_2000": partial(bursts.cost, "burst_2000"),
    "bound_burst_300": partial(bursts.bound, "burst_300"),
    **{name: partial(peers.plan_time, name) for name in peers.GOALS},
    "plan_growth": growth.growth,
    "snapshot_150000": snapshot.snapshot,
    "tick_idle": tick.idle,
    "fleet_tick_200": fleet.tick,
    "drain_1000": drain.drain,
    "reaction": reaction.reaction,
    **{f"cold_start_{name}": partial(cold_start.first_answers, name) for name in cold_start.SAMPLES},
}


def main(arguments: Sequence[str] | None = None, figures: Mapping[str, Callable[[], Iterator[Figure]]] = FIGURES) -> int:
    """0 done, whatever the figures are; 1 a result did not pass the bench's own check; 2 no such figure."""
    parser = argparse.ArgumentParser(prog="make bench", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", metavar="NAME", help="only figures whose names start with NAME")
    only = parser.parse_args(arguments).only
    chosen = {name: run for name, run in figures.items() if name.startswith(only)}
    if not chosen:
        print(f"no figure's name starts with {only!r}; there are {', '.join(figures)}", file=sys.stderr)
        return WRONG_USAGE
    code = DONE
    for name, run in chosen.items():
        try:
            for figure in run():
                print(json.dumps(figure), flush=True)
        except Missing as missing:
            print(json.dumps({"figure": name, "skipped": str(missing)}), flush=True)
        except Wrong as wrong:
            print(json.dumps({"figure": name, "failed": str(wrong)}), flush=True)
            code = FAILED
    return code


if __name__ == "__main__":
    sys.exit(main())
