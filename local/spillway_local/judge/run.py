"""Worlds by seed before the scheduler, in every way: what was found, and what helps to find out why."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spillway_local.judge import figures, free, pinned
from spillway_local.judge.features import BUILT, Feature
from spillway_local.judge.figures import Figures
from spillway_local.judge.generator import generate
from spillway_local.judge.pinned import Disagreement
from spillway_local.judge.stage import Stage

_NOMINATED_EACH = 3  # it costs as much time as the others, and shows only figures
DUMPS = Path(".cache") / "judge"


@dataclass(frozen=True)
class Findings:
    """`nominated` are the figures of some of the same worlds with pods nominated for their nodes."""

    disagreements: tuple[Disagreement, ...]
    free: Figures
    nominated: Figures


def judge(stage: Stage, seeds: Sequence[int], features: frozenset[Feature] = BUILT) -> Findings:
    """All worlds of `seeds` at once: pinned, free, and every third once more with nomination. Raises NotAtRest and Refusal."""
    worlds = [generate(seed, features) for seed in seeds]
    wrong = pinned.judge(stage, worlds)
    alone = free.run(stage, worlds)
    nominated = free.run(stage, worlds[::_NOMINATED_EACH], nominate=True)
    wrong += [one for course in (*alone, *nominated) for one in course.disagreements]
    return Findings(tuple(wrong), figures.of(alone), figures.of(nominated))


def report(found: Findings, features: frozenset[Feature] = BUILT) -> str:
    """What is wrong, by seed, each with a dump and the command that replays it; "" when nothing is."""
    lines = []
    for seed in sorted({one.seed for one in found.disagreements}):
        lines += [str(one) for one in found.disagreements if one.seed == seed]
        lines += [f"    dump: {dump(seed, features)}; replay: uv run python -m spillway_local.judge --seed {seed}"]
    return "\n".join(lines)


def dump(seed: int, features: frozenset[Feature] = BUILT) -> Path:
    """Writes the world as a dump, in place of an older one; gives its folder."""
    folder = DUMPS / f"s{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    generate(seed, features).write(folder)
    return folder
