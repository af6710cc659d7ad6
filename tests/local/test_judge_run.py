"""What a failing seed leaves behind: a dump, and a command that makes the same again."""

import shlex
from pathlib import Path
from typing import cast

import pytest

from spillway_local import dump
from spillway_local.judge import decisions, figures, pinned, run, singles
from spillway_local.judge.__main__ import parser
from spillway_local.judge.features import BUILT, Feature
from spillway_local.judge.pinned import Disagreement
from spillway_local.judge.scene import Key, key_of
from spillway_local.judge.stage import NotAtRest, Stage, Verdict

MORE = BUILT | {Feature.POD_AFFINITY}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def replay(text: str) -> list[str]:
    """The arguments of the command that the last line names."""
    command = text.splitlines()[-1].partition("replay: ")[2]
    program, arguments = command.split(" spillway_local.judge ")
    assert program == ".tools/bin/uv run python -m"
    return shlex.split(arguments)


@pytest.mark.parametrize("features", [BUILT, MORE], ids=["built", "more"])
def test_a_wrong_world_is_replayed_with_its_features(features: frozenset[Feature]) -> None:
    wrong = Disagreement(5, ("s5-alpha", "s5-w0-0"), "served on s5-a-0", "no word")
    text = run.report(run.Findings((wrong,), figures.of([]), figures.of([])), features)

    again = parser().parse_args(replay(text))
    assert (again.seed, again.pairs, again.features) == (5, None, features)
    assert dump.read(run.DUMPS / "s5").cluster == run.generate(5, features).plan().cluster


def test_a_wrong_pair_is_dumped_and_replayed() -> None:
    pair = singles.pairs(3, decisions.PAIRS, BUILT)[7]
    text = run.report_pairs(3, [Disagreement(3, key_of(pair.pod), "it may go there", "no word")])

    again = parser().parse_args(replay(text))
    assert (again.seed, again.pairs, again.features) == (None, 3, BUILT)
    assert f"dump: {run.DUMPS / pair.name}" in text
    read = dump.read(run.DUMPS / pair.name)
    assert [node.name for node in read.cluster.nodes] == [pair.name]
    assert run.report_pairs(3, []) == ""


class Restless:
    """A stage whose scheduler does not say a word on some pods."""

    def __init__(self, untold: Key) -> None:
        self._untold = untold

    def clear(self) -> None:
        raise NotAtRest("not at rest")

    def verdicts(self) -> dict[Key, Verdict]:
        return {self._untold: Verdict(), ("s8-alpha", "s8-w0-0"): Verdict(node="s8-a-0")}


def test_no_rest_names_the_seeds_that_keep_the_scheduler_busy() -> None:
    with pytest.raises(NotAtRest) as told:
        run.judge(cast(Stage, Restless(("s9-alpha", "s9-w0-0"))), range(8, 11), MORE)
    assert str(told.value).splitlines()[0] == "not at rest"
    assert len(str(told.value).splitlines()) == 2
    assert parser().parse_args(replay(str(told.value))).seed == 9
    assert (run.DUMPS / "s9").is_dir()


def test_no_rest_among_pairs_dumps_those_without_a_word() -> None:
    pair = singles.pairs(4, decisions.PAIRS, BUILT)[2]
    with pytest.raises(NotAtRest) as told:
        run.judge_pairs(cast(Stage, Restless(key_of(pair.pod))), 4)
    assert parser().parse_args(replay(str(told.value))).pairs == 4
    assert (run.DUMPS / pair.name).is_dir()


def test_a_world_is_held_as_it_was_pinned_unless_it_is_wanted_free() -> None:
    held = [parser().parse_args(["--seed", "1", *more]).hold for more in ([], ["--hold"], ["--hold", "free"])]
    assert held == [None, "pinned", "free"]


class Ready:
    """A stage that binds every pod to the only node that it may go to, but those of `evicted`; keeps what was put."""

    def __init__(self) -> None:
        self.objects: list[dict[str, object]] = []
        self.found: dict[Key, Verdict] = {}

    def clear(self) -> None:
        self.objects.clear()

    def put(self, objects: object) -> None:
        self.objects += list(cast("list[dict[str, object]]", objects))

    def settle(self) -> dict[Key, Verdict]:
        return self.found


def test_a_pod_that_nobody_asks_room_for_may_be_bound_or_not_and_a_victim_is_gone() -> None:
    """A pod below the policy's cutoff takes what room it finds, and is no disagreement when it does."""
    features = BUILT | {Feature.PREEMPTION}
    worlds = [run.generate(seed, features) for seed in range(6)]
    plans = [world.plan() for world in worlds]
    stage = Ready()
    stage.found = {key_of(pod): Verdict(node=node) for planned in plans for pod, node in planned.assigned}
    idle = [pod for planned in plans for pod, why in planned.unserved if not why]
    assert idle
    stage.found |= {key_of(pod): Verdict(node="some") for pod in idle}
    assert pinned.judge(cast(Stage, stage), worlds) == []

    victim = key_of(plans[0].assigned[0][0])
    del stage.found[victim]
    (wrong,) = pinned.judge(cast(Stage, stage), worlds)
    assert (wrong.pod, wrong.theirs) == (victim, "preempted, and gone")
