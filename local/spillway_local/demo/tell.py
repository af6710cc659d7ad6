"""The demo from its options to its exit code: 0 only when every pod ran and nothing is left over."""

import argparse
import gc
import time
from collections.abc import Callable

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.table import Table

from spillway_local import tables
from spillway_local.clock import Stuck
from spillway_local.demo import calm, report
from spillway_local.demo.faults import REFUSALS, WHAT, Faults, named
from spillway_local.demo.story import Story, story
from spillway_local.demo.watch import STAGES, THE_LAST_NODE_IS_GONE, Watch
from spillway_local.world_dump import fleet_of

LIMIT_S = 4 * 3600  # virtual; the whole story takes a quarter of an hour


def main() -> int:
    options = _arguments()
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = tables.WIDTH
    gc.set_threshold(100_000, 50, 50)  # the emulated account is one large, living graph: looking through it often finds nothing
    told = story(options.seed, options.pods, scarce=REFUSALS in options.faults)
    _introduce(console, told)
    for name in options.faults:
        console.print(f"Fault: {WHAT[name]}.")
    if options.dry:
        tables.show(told.asked, console=console)
        return 0
    return _tell(console, told, Faults(options.faults, options.seed))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make demo", usage="make demo [SEED=n] [PODS=n] [DRY=1] [FAULTS=all]", description="Run the main job end to end."
    )
    parser.add_argument("--seed", type=_whole, default=0, help="draws which pods come, how long they run, how little is left")
    parser.add_argument("--pods", type=_positive, help="how many of the burst's pods come (default: all)")
    parser.add_argument("--dry", action="store_true", help="show the first plan and carry nothing out")
    parser.add_argument("--faults", type=_faults, default=(), help=f"what else goes wrong: {', '.join(WHAT)}, or all")
    return parser.parse_args()


def _faults(text: str) -> tuple[str, ...]:
    try:
        return named(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _whole(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of pods")
    return int(text)


def _introduce(console: Console, told: Story) -> None:
    home, families = told.raw.home, " and ".join(told.families)
    console.print(
        f"{told.asked.summary.pods_pending} pods of a real GPU cluster arrive at an empty cluster with groups in two regions."
    )
    if families:
        console.print(f"The home region {home} will run out of {families} on the way.")


def _tell(console: Console, told: Story, faults: Faults) -> int:
    begun = time.monotonic()
    prices = {group.key: group.template.price_usd_h or 0.0 for group in fleet_of(told.raw).groups if group.template}
    pods = told.asked.summary.pods_pending
    try:
        with told.world() as world:
            faults.begin(world)
            watch = Watch(world, prices, pods)
            _run(console, watch, lambda: watch.has_reached(THE_LAST_NODE_IS_GONE) and watch.world.is_idle())
            report.show(console, told, watch, calm.price_usd_h(told), time.monotonic() - begun)
            wrong = report.shortcomings(watch, faults.tolerated)
    except Stuck as stuck:
        console.print(f"The story did not come to its end: {stuck}")
        return 1
    if faults.killed:
        killed = ", ".join(f"{name} {count}" for name, count in sorted(faults.killed.items()))
        console.print(f"Functions that were killed in the midst of their calls: {killed}.")
    for line in wrong:
        console.print(f"Not as it must be: {line}")
    return 1 if wrong else 0


def _run(console: Console, watch: Watch, until: Callable[[], bool]) -> None:
    with Live(console=console, refresh_per_second=4, transient=True, get_renderable=lambda: _progress(watch)):

        def reached() -> bool:
            return watch.look() and until()

        watch.world.run(until=reached, limit_s=LIMIT_S)


def _progress(watch: Watch) -> Table:
    table = Table(title=f"{watch.world.clock.now():%H:%M:%S}", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for column in ("pods waiting", "running", "ended", "machines", "refusals", "stage"):
        table.add_column(column)
    stage = max(watch.moments, key=lambda name: STAGES.index(name), default="")
    phases = watch.phases
    table.add_row(
        str(phases["Pending"]), str(phases["Running"]), str(len(watch.ended)),
        "  ".join(f"{region} {count}" for region, count in sorted(watch.by_region().items())), str(watch.refusals), stage,
    )  # fmt: skip
    return table
