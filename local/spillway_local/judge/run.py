"""Worlds and pairs by seed before the scheduler, in every way: what was found, and what helps to find out why."""

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from spillway_local.judge import decisions, figures, free, pinned, singles
from spillway_local.judge.features import BUILT, Feature
from spillway_local.judge.figures import Figures
from spillway_local.judge.generator import generate
from spillway_local.judge.pinned import Disagreement
from spillway_local.judge.scene import Key, key_of
from spillway_local.judge.stage import NotAtRest, Stage
from spillway_local.judge.world import RandomWorld

_NOMINATED_EACH = 10  # it costs as much time as the others, and shows only figures
DUMPS = Path(".cache") / "judge"
_REPLAY = ".tools/bin/uv run python -m spillway_local.judge"
_NO_GROUPS = {"AutoScalingGroups": list[object]()}
T = TypeVar("T")


@dataclass(frozen=True)
class Findings:
    """`nominated` are the figures of some of the same worlds with pods nominated for their nodes."""

    disagreements: tuple[Disagreement, ...]
    free: Figures
    nominated: Figures


def judge(stage: Stage, seeds: Sequence[int], features: frozenset[Feature] = BUILT) -> Findings:
    """All worlds of `seeds` at once: pinned, free, and every tenth once more with nomination. Raises NotAtRest and Refusal."""
    worlds = [generate(seed, features) for seed in seeds]

    def all_ways() -> Findings:
        wrong = pinned.judge(stage, worlds)
        alone = free.run(stage, worlds)
        nominated = free.run(stage, worlds[::_NOMINATED_EACH], nominate=True)
        wrong += [one for course in (*alone, *nominated) for one in course.disagreements]
        return Findings(tuple(wrong), figures.of(alone), figures.of(nominated))

    def helps() -> list[str]:
        untold = {namespace.partition("-")[0] for namespace, _ in untold_of(stage)}
        return [help_of(seed, features) for seed in seeds if not untold or f"s{seed}" in untold]

    return _with_help(all_ways, helps)


def judge_pairs(stage: Stage, seed: int, features: frozenset[Feature] = BUILT) -> list[Disagreement]:
    """`decisions.PAIRS` pairs at once. Raises NotAtRest and Refusal."""
    return _with_help(
        lambda: decisions.judge(stage, seed, features=features), lambda: help_of_pairs(seed, untold_of(stage), features)
    )


def untold_of(stage: Stage) -> list[Key]:
    """Pods of which the scheduler has said nothing."""
    return [key for key, verdict in stage.verdicts().items() if not verdict.is_told]


def _with_help(judged: Callable[[], T], helps: Callable[[], list[str]]) -> T:
    try:
        return judged()
    except NotAtRest as problem:
        raise NotAtRest("\n".join([str(problem), *helps()])) from problem


def report(found: Findings, features: frozenset[Feature] = BUILT) -> str:
    """What is wrong, by seed, each with a dump and the command that replays it; "" when nothing is."""
    lines = []
    for seed in sorted({one.seed for one in found.disagreements}):
        lines += [str(one) for one in found.disagreements if one.seed == seed]
        lines += [help_of(seed, features)]
    return "\n".join(lines)


def report_pairs(seed: int, wrong: Sequence[Disagreement], features: frozenset[Feature] = BUILT) -> str:
    """What is wrong among the pairs of a seed, with a dump of each and the command that replays them; "" when nothing is."""
    return "\n".join([*map(str, wrong), *(help_of_pairs(seed, [one.pod for one in wrong], features) if wrong else ())])


def help_of(seed: int, features: frozenset[Feature] = BUILT) -> str:
    return f"    dump: {dump(seed, features)}; replay: {_REPLAY} --seed {seed}{_named(features)}"


def help_of_pairs(seed: int, pods: Iterable[Key], features: frozenset[Feature] = BUILT) -> list[str]:
    dumps = [f"    dump: {folder}" for folder in dump_pairs(seed, pods, features)]
    return [*dumps, f"    replay: {_REPLAY} --pairs {seed}{_named(features)}"]


def _named(features: frozenset[Feature]) -> str:
    return "" if features == BUILT else f" --features {','.join(sorted(features))}"


def dump(seed: int, features: frozenset[Feature] = BUILT) -> Path:
    """Writes the world as a dump, in place of an older one; gives its folder."""
    return _write(generate(seed, features))


def dump_pairs(seed: int, pods: Iterable[Key], features: frozenset[Feature] = BUILT) -> list[Path]:
    """Writes the pairs of these pods, each as a dump of its own without any group; gives their folders."""
    wanted, spaces = set(pods), singles.namespaces(seed)
    return [
        _write(RandomWorld(seed, pair.name, features, (*spaces, pair.node, *pair.running, pair.pod), _NO_GROUPS, {}))
        for pair in singles.pairs(seed, decisions.PAIRS, features)
        if key_of(pair.pod) in wanted
    ]


def _write(world: RandomWorld) -> Path:
    folder = DUMPS / world.name
    shutil.rmtree(folder, ignore_errors=True)
    world.write(folder)
    return folder
