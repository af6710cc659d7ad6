"""What goes wrong in the demo beside what its story holds anyway. In the end nothing may be lost all the same."""

import random
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from spillway_local.emulator.wire import Call, Event, Killed, When
from spillway_local.world import World

REFUSALS, KILLED, OUTAGE = "refusals", "killed", "outage"
WHAT = {
    REFUSALS: "the home region has a tenth of every machine that is wanted of it",
    KILLED: "one in ten runs of our functions is killed before or after one of its first twenty calls",
    OUTAGE: "the home region's Auto Scaling and EC2 give no answer for ten minutes",
}
KILLED_RUNS, AMONG_CALLS = 0.1, 20
OUTAGE_FROM_S, OUTAGE_S = 20.0, 600.0  # in the midst of the first scale out


@dataclass
class Faults:
    """`killed` counts functions that ended in the midst, by name. The same seed, the same draws."""

    names: Collection[str]
    seed: int = 0
    killed: Counter[str] = field(default_factory=Counter)

    def begin(self, world: World) -> None:
        if KILLED in self.names:
            draw = random.Random(self.seed)
            doomed: dict[int, tuple[int, When]] = {}  # runs, by their event, and where they end

            def kill(call: Call, when: When, event: Event) -> None:
                if (call.number, when) == (1, When.BEFORE):
                    doomed.pop(id(event), None)
                    if draw.random() < KILLED_RUNS:
                        doomed[id(event)] = draw.randint(1, AMONG_CALLS), draw.choice(list(When))
                if doomed.get(id(event)) == (call.number, when):
                    self.killed[call.function] += 1
                    raise Killed

            world.aws.functions.wire.fault = kill
        if OUTAGE in self.names:
            silent = world.aws.functions.wire.silent
            world.clock.call_in(OUTAGE_FROM_S, lambda: silent.add(world.raw.home))
            world.clock.call_in(OUTAGE_FROM_S + OUTAGE_S, lambda: silent.discard(world.raw.home))

    @property
    def tolerated(self) -> tuple[str, ...]:
        """Failures of functions that are the fault itself."""
        return (Killed().error,) if KILLED in self.names else ()


def named(text: str) -> tuple[str, ...]:
    """From `refusals,outage` or `all`; raises ValueError."""
    names = tuple(WHAT) if text == "all" else tuple(text.split(","))
    for name in names:
        if name not in WHAT:
            raise ValueError(f"{name!r} is no fault; there are {', '.join(WHAT)}, and all")
    return names
