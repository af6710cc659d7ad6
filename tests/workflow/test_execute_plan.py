"""The workflow: it routes, waits, tries again and never lets one failure stop the rest."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from spillway.aws import clients
from spillway.aws.workflow import DRAINS_EACH
from spillway_local.emulator.wire import Killed
from tests.workflow.stubs import FILE, HOME, INPUT, QUIET, WEST, Workflow, definition, error, open_workflow, states

MORE = {"open": 1, "unready": 0, "spill": [], "done": False, "poll_s": 15, "news": 3}
DONE = QUIET["verify_instances.check"]
SPILL = [{"region": WEST, "requests": ["p1#1#1", "p1#2#1"]}]


@pytest.fixture
def workflow(aws_credentials: None) -> Iterator[Workflow]:
    with open_workflow() as opened:
        yield opened


def only(**parts: Any) -> dict[str, Any]:
    return {**INPUT, "grow": [], "drains": [], "give_back": [], **parts}


def test_the_sample_beside_it_is_an_input_that_it_carries_out(workflow: Workflow) -> None:
    """docs/deploy.md hands it to `sam remote invoke`."""
    sample = json.loads(FILE.with_name("execute_plan.burst.json").read_text(encoding="utf-8"))
    assert sample.keys() == INPUT.keys()
    trace = workflow.run(sample)
    assert trace.status == "SUCCEEDED"
    assert {event["plan_id"] for event in trace.events("scale_out")} == {sample["plan_id"]}


@pytest.mark.feature("EX-01")
def test_carries_out_all_parts_of_a_plan(workflow: Workflow) -> None:
    trace = workflow.run()

    assert (trace.status, trace.output) == ("SUCCEEDED", {})
    assert sorted(trace.keys()) == sorted([
        "scale_in.give_back", "drain.uncordon", "scale_out", "verify_instances.check",
        "drain.begin", "drain.evict", "scale_in.terminate", "scale_in.confirm", "remove_node",
    ])  # fmt: skip
    assert trace.events("scale_out") == [{"cluster": "prod", "plan_id": "p1", "region": HOME, "steps": [1, 2]}]
    assert trace.events("scale_in.terminate") == [
        {"action": "terminate", "cluster": "prod", "plan_id": "p1", "region": HOME, "step": 5}
    ]


def test_a_plan_with_nothing_in_it_ends_at_once(workflow: Workflow) -> None:
    trace = workflow.run(only())

    assert (trace.status, trace.calls, trace.took_s) == ("SUCCEEDED", [], 0)


@pytest.mark.feature("SO-22")
def test_what_a_region_refuses_is_raised_in_the_next_in_the_same_run(workflow: Workflow) -> None:
    checks = [{**MORE, "spill": SPILL}, DONE]
    trace = workflow.run(only(grow=INPUT["grow"]), {"verify_instances.check": checks})

    assert trace.events("scale_out")[1:] == [
        {"cluster": "prod", "plan_id": "p1", "region": WEST, "requests": ["p1#1#1", "p1#2#1"]}
    ]


def test_spilling_goes_on_while_the_next_region_is_full_too(workflow: Workflow) -> None:
    further = [{"region": "eu-west-1", "requests": ["p1#1#2"]}]
    answers = [{"raised": 1, "spill": SPILL}, {"raised": 0, "spill": further}, {"raised": 1, "spill": []}]
    trace = workflow.run(only(grow=INPUT["grow"]), {"scale_out": answers})

    assert [event["region"] for event in trace.events("scale_out")] == [HOME, WEST, "eu-west-1"]


def test_looks_again_after_a_poll(workflow: Workflow) -> None:
    trace = workflow.run(only(grow=INPUT["grow"]), {"verify_instances.check": [MORE, MORE, DONE]})

    assert trace.took_s == 30
    (first, _) = trace.events("verify_instances.wait")
    assert (first["region"], first["news"]) == (HOME, 3)
    assert first["token"]


@pytest.mark.feature("EV-05")
def test_looks_again_at_once_when_an_event_ends_the_waiting(workflow: Workflow) -> None:
    def woken(event: Mapping[str, Any]) -> dict[str, bool]:
        clients.client("stepfunctions", HOME).send_task_success(taskToken=event["token"], output='{"news": true}')
        return {"waiting": False}

    trace = workflow.run(only(grow=INPUT["grow"]), {"verify_instances.check": [MORE, DONE], "verify_instances.wait": woken})
    assert trace.took_s < 1
    assert len(trace.events("verify_instances.check")) == 2


def test_asks_the_cluster_only_while_instances_are_no_ready_nodes(workflow: Workflow) -> None:
    trace = workflow.run(only(grow=INPUT["grow"]), {"verify_instances.check": [{**MORE, "unready": 2}, MORE, DONE]})

    assert trace.events("verify_nodes") == [{"cluster": "prod", "plan_id": "p1", "region": HOME}]


def test_a_region_that_only_fallbacks_name_has_a_loop_of_its_own(workflow: Workflow) -> None:
    trace = workflow.run(only(grow=[{"region": WEST, "steps": [], "uncordon": False}]))

    assert trace.keys() == ["verify_instances.check"]


@pytest.mark.feature("EX-14")
def test_a_drain_waits_as_long_as_the_task_says(workflow: Workflow) -> None:
    waiting = {"status": "waiting", "wait_s": 30, "left_s": 3000, "evicted": 1, "reason": "2 pods left"}
    answers = {"drain.evict": [*[waiting] * 100, QUIET["drain.evict"]]}
    trace = workflow.run(only(drains=INPUT["drains"]), answers)

    assert trace.status == "SUCCEEDED"
    waits = [max(30, min(5 * n, 120)) for n in range(1, 101)]  # longer after many rounds
    assert trace.took_s == QUIET["drain.begin"]["settle_s"] + sum(waits) + QUIET["scale_in.terminate"]["wait_s"]


@pytest.mark.feature("EX-07")
def test_no_wait_of_a_drain_goes_past_its_deadline(workflow: Workflow) -> None:
    """Long waits after many rounds would else outlast what AWS leaves of an interrupted instance."""
    waiting = {"status": "waiting", "wait_s": 10, "left_s": 12, "evicted": 0, "reason": "a budget holds it"}
    trace = workflow.run(only(drains=INPUT["drains"]), {"drain.evict": [*[waiting] * 20, QUIET["drain.evict"]]})

    assert trace.took_s == 5 + 10 + 10 + 18 * 12 + QUIET["scale_in.terminate"]["wait_s"]


REPLACED_LATER = {"status": "waiting", "settle_s": 15, "volumes": False, "reason": "step 2 is not Ready"}


@pytest.mark.feature("EX-07")
def test_a_drain_begins_when_its_replacements_are_ready(workflow: Workflow) -> None:
    trace = workflow.run(only(drains=INPUT["drains"]), {"drain.begin": [*[REPLACED_LATER] * 5, QUIET["drain.begin"]]})

    assert trace.keys()[:7] == ["drain.begin"] * 6 + ["drain.evict"]
    assert trace.events("drain.begin") == [{"action": "begin", "cluster": "prod", "plan_id": "p1", "step": 5}] * 6
    assert trace.took_s == 15 * 3 + 20 + 25 + 5 + QUIET["scale_in.terminate"]["wait_s"]


@pytest.mark.feature("EX-07")
def test_what_was_left_on_a_node_reaches_its_outcome(workflow: Workflow) -> None:
    forced = {**QUIET["drain.evict"], "told": "after 60 s node n1 still runs 1 pod"}
    trace = workflow.run(
        only(drains=INPUT["drains"]), {"drain.begin": {**QUIET["drain.begin"], "volumes": True}, "drain.evict": forced}
    )

    assert trace.events("drain.evict")[0]["volumes"] is True
    assert trace.events("remove_node")[0]["told"] == "after 60 s node n1 still runs 1 pod"


@pytest.mark.feature("OP-09")
def test_functions_of_the_release_before_answer_less_and_are_understood(workflow: Workflow) -> None:
    before = {
        "drain.begin": {"status": "draining", "settle_s": 5, "reason": ""},
        "drain.evict": [
            {"status": "waiting", "wait_s": 10, "evicted": 1, "reason": ""},
            {"status": "empty", "wait_s": 0, "evicted": 0, "reason": ""},
        ],
    }  # fmt: skip
    trace = workflow.run(only(drains=INPUT["drains"]), before)
    assert trace.keys()[-1] == "remove_node"
    assert not trace.caught


@pytest.mark.parametrize("status", ["deadline", "abandoned"])
def test_a_drain_that_is_given_up_leaves_no_trace_and_ends_no_instance(workflow: Workflow, status: str) -> None:
    given_up = {"status": status, "wait_s": 0, "evicted": 0, "reason": "a budget held it"}
    trace = workflow.run(only(drains=INPUT["drains"]), {"drain.evict": given_up})

    assert trace.keys() == ["drain.begin", "drain.evict", "drain.abandon"]
    assert trace.events("drain.abandon")[0]["reason"] == "a budget held it"


def test_the_node_object_goes_only_after_ec2_confirms(workflow: Workflow) -> None:
    ending = {"status": "ending", "reason": "", "wait_s": 15}
    trace = workflow.run(only(drains=INPUT["drains"]), {"scale_in.confirm": [ending, ending, QUIET["scale_in.confirm"]]})

    assert trace.keys()[-4:] == ["scale_in.confirm"] * 3 + ["remove_node"]


ENDLESS = {"status": "ending", "reason": "i-1 is running", "wait_s": 15}
KEPT = {"status": "refused", "reason": "group us-east-1/a keeps i-1: it is InService", "wait_s": 15}


def test_a_node_whose_instance_may_be_ending_is_not_given_back(workflow: Workflow) -> None:
    trace = workflow.run(only(drains=INPUT["drains"]), {"scale_in.terminate": error("ValueError")})

    assert trace.keys()[-3:] == ["scale_in.terminate", "scale_in.confirm", "remove_node"]


def test_a_node_whose_instance_stays_after_all_is_given_back_and_both_reasons_are_told(workflow: Workflow) -> None:
    answers = {"scale_in.terminate": error("Stopped"), "scale_in.confirm": KEPT}
    trace = workflow.run(only(drains=INPUT["drains"]), answers)

    (given_up,) = trace.events("drain.abandon")
    assert given_up["reason"].startswith("group us-east-1/a keeps i-1: it is InService; Stopped: ")
    assert trace.events("remove_node") == []


def test_an_instance_that_never_ends_is_left_to_the_next_plan_after_more_than_an_hour(workflow: Workflow) -> None:
    """An hour is what a lifecycle hook may hold it, unless told otherwise."""
    trace = workflow.run(only(drains=INPUT["drains"]), {"scale_in.confirm": ENDLESS})

    assert trace.status == "SUCCEEDED"
    assert 3600 < trace.took_s < 2 * 3600
    assert trace.keys()[-1] == "scale_in.confirm"


@pytest.mark.parametrize("failure", ["Lambda.Unknown", "Runtime.ExitError"])
def test_a_runtime_that_died_while_it_ended_an_instance_is_asked_again(workflow: Workflow, failure: str) -> None:
    answers = {"scale_in.terminate": [error(failure), QUIET["scale_in.terminate"]]}
    trace = workflow.run(only(drains=INPUT["drains"]), answers)

    assert len(trace.events("scale_in.terminate")) == 2
    assert not trace.caught


def test_a_failure_in_one_part_stops_no_other(workflow: Workflow) -> None:
    drains = [{"step": 5, "region": HOME}, {"step": 6, "region": HOME}]

    def begin(event: Mapping[str, Any]) -> Any:
        return error("ValueError") if event["step"] == 5 else QUIET["drain.begin"]

    trace = workflow.run({**INPUT, "drains": drains}, {
        "scale_in.give_back": error("AwsForbidden"), "scale_out": error("KeyError"), "drain.begin": begin,
    })  # fmt: skip
    assert trace.status == "SUCCEEDED"
    assert [event["step"] for event in trace.events("remove_node")] == [6]
    assert "ValueError" in trace.events("drain.abandon")[0]["reason"]
    assert len(trace.events("verify_instances.check")) == 1


@pytest.mark.parametrize("failure", [Killed(), error("LeaseHeld"), error("AwsUnavailable")])
def test_what_may_pass_is_tried_again(workflow: Workflow, failure: Exception) -> None:
    trace = workflow.run(only(grow=INPUT["grow"]), {"scale_out": [failure, failure, QUIET["scale_out"]]})

    assert len(trace.events("scale_out")) == 3
    assert not trace.caught


def test_a_drain_waits_its_turn_behind_a_hundred_of_the_same_group(workflow: Workflow) -> None:
    answers = {"scale_in.terminate": [*[error("LeaseHeld")] * 30, QUIET["scale_in.terminate"]]}
    trace = workflow.run(only(drains=INPUT["drains"]), answers)

    assert trace.keys()[-1] == "remove_node"
    assert not trace.caught


def test_a_region_that_stays_silent_is_left_to_the_next_plan(workflow: Workflow) -> None:
    trace = workflow.run(only(grow=INPUT["grow"]), {"verify_instances.check": error("AwsForbidden")})

    assert (trace.status, len(trace.events("verify_instances.check"))) == ("SUCCEEDED", 30)
    assert ("FailedTooOften", "LeftToNextPlan") in trace.steps


# ---- every way through it ----

MANY = [*INPUT["grow"], *({"region": f"xx-region-{n}", "steps": [], "uncordon": False} for n in range(1, 100))]
"""A hundred regions, which share the turns of an execution."""


def open_at_home(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return MORE if event["region"] == HOME else DONE


FORKS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("quiet", dict(INPUT), {}),
    ("fallback region", only(grow=[{"region": WEST, "steps": [], "uncordon": False}]), {}),
    (
        "slow",
        dict(INPUT),
        {
            "verify_instances.check": [{**MORE, "unready": 1, "spill": SPILL}, MORE, DONE],
            "drain.begin": [REPLACED_LATER, QUIET["drain.begin"]],
            "drain.evict": [{**QUIET["drain.evict"], "status": "waiting", "wait_s": 10, "left_s": 60}, QUIET["drain.evict"]],
            "scale_in.confirm": [{"status": "ending", "reason": "", "wait_s": 15}, QUIET["scale_in.confirm"]],
        },
    ),
    ("never done", only(grow=MANY), {"verify_instances.check": open_at_home}),
    ("changed", only(drains=INPUT["drains"]), {"drain.begin": {"status": "abandoned", "settle_s": 0, "reason": "changed"}}),
    ("given up", only(drains=INPUT["drains"]), {"drain.evict": {"status": "deadline", "wait_s": 0, "reason": "late"}}),
    ("gone", only(drains=INPUT["drains"]), {"scale_in.terminate": {"status": "gone", "reason": "", "wait_s": 40}}),
    ("at min", only(drains=INPUT["drains"]), {"scale_in.terminate": {"status": "refused", "reason": "at min", "wait_s": 40}}),
    ("endless", only(drains=INPUT["drains"]), {"scale_in.confirm": ENDLESS}),
    ("kept", only(drains=INPUT["drains"]), {"scale_in.confirm": KEPT}),
    (
        "silent",
        dict(INPUT),
        {"verify_instances.check": error("ValueError"), "scale_in.confirm": [*[error("ValueError")] * 99]},
    ),
]  # fmt: skip


def test_every_choice_is_taken_each_way(workflow: Workflow) -> None:
    taken: set[tuple[str, str]] = set()
    for name, given, answers in FORKS:
        trace = workflow.run(given, answers)
        assert trace.status == "SUCCEEDED", name
        taken |= trace.steps
    wanted = {
        (name, target)
        for name, state in states()
        if state["Type"] == "Choice"
        for target in [*(rule["Next"] for rule in state["Choices"]), state["Default"]]
    }
    assert wanted - taken == set()


BUSY = {  # a run that comes by every task
    "verify_instances.check": [{**MORE, "unready": 1, "spill": SPILL}, DONE],
    "drain.evict": [QUIET["drain.evict"]],
}
KEYS = {
    "GiveBack": "scale_in.give_back", "Uncordon": "drain.uncordon", "ScaleOut": "scale_out", "Check": "verify_instances.check",
    "SpillTo": "scale_out", "VerifyNodes": "verify_nodes", "Await": "verify_instances.wait", "BeginDrain": "drain.begin",
    "Evict": "drain.evict", "Terminate": "scale_in.terminate", "Confirm": "scale_in.confirm", "RemoveNode": "remove_node",
    "Abandon": "drain.abandon",
}  # fmt: skip
CATCHES = [
    (name, failure, catcher["Next"])
    for name, state in states()
    if state["Type"] == "Task"
    for catcher in state["Catch"]
    for failure in catcher["ErrorEquals"]
    if failure != "States.Timeout"  # is what every poll ends with
]


def test_every_task_has_a_key_here() -> None:
    assert {name for name, state in states() if state["Type"] == "Task"} == KEYS.keys()


@pytest.mark.parametrize(("state", "failure", "target"), CATCHES, ids=lambda value: str(value))
def test_every_catch_is_taken(workflow: Workflow, state: str, failure: str, target: str) -> None:
    raised = error("ValueError" if failure == "States.ALL" else failure)
    answers: dict[str, Any] = dict(BUSY)
    if state == "SpillTo":
        answers["scale_out"] = lambda event: raised if "requests" in event else QUIET["scale_out"]
    elif state in ("Check", "Confirm", "Await"):
        answers[KEYS[state]] = [*[raised] * 9, *([DONE] if state == "Check" else [QUIET[KEYS[state]]])]
    else:
        answers[KEYS[state]] = raised
    if state == "Abandon":
        answers["drain.evict"] = {"status": "deadline", "wait_s": 0, "evicted": 0, "reason": "late"}
    trace = workflow.run(INPUT, answers)

    assert trace.status == "SUCCEEDED"
    assert (state, type(raised).__name__, target) in trace.caught


def test_a_poll_that_ends_is_caught(workflow: Workflow) -> None:
    assert ("Await", "States.Timeout", "Check") in workflow.run(INPUT, BUSY).caught


# ---- within the limits of Step Functions ----


def plan_of(groups: int, drains: int) -> dict[str, Any]:
    """The input of a plan that grows and lowers `groups` in four regions."""
    regions, each = [f"xx-region-{n}" for n in range(1, 5)], groups // 4
    return {
        "cluster": "c" * 100,
        "plan_id": "0123456789abcdef",
        "grow": [
            {"region": region, "steps": list(range(n * each, (n + 1) * each)), "uncordon": True}
            for n, region in enumerate(regions)
        ],
        "drains": [{"step": groups + n, "region": regions[n % 4]} for n in range(drains)],
        "give_back": [
            {"region": region, "steps": list(range(9000 + n * each, 9000 + (n + 1) * each))} for n, region in enumerate(regions)
        ],
    }


@pytest.mark.feature("EX-12")
def test_the_input_of_200_groups_and_1000_drains_is_small() -> None:
    assert len(json.dumps(plan_of(groups=200, drains=1000))) < 64 * 1024  # of 256 KiB, even if it were one execution


@pytest.mark.feature("EX-12")
def test_no_payload_on_the_way_is_large(workflow: Workflow) -> None:
    spill = [
        {"region": f"xx-region-{n}", "requests": [f"0123456789abcdef#{step}#1" for step in range(50)]} for n in range(1, 5)
    ]
    trace = workflow.run(plan_of(200, 10), {"verify_instances.check": [*[{**MORE, "spill": spill}] * 4, DONE]})

    assert trace.status == "SUCCEEDED"
    assert max(len(json.dumps(event, default=str)) for event in trace.history) < 64 * 1024


TURNS = 800  # of all loops of an execution together, as the workflow has it


@pytest.mark.feature("EX-12")
def test_loops_that_wait_for_ever_fit_the_history_even_if_each_turn_spills(workflow: Workflow) -> None:
    """A turn in which a fallback is raised and nodes are looked for, measured by one."""
    busy = {**MORE, "unready": 1}
    spilling = {**busy, "spill": SPILL[:1]}
    few, more, spilt = (
        len(workflow.run(only(grow=INPUT["grow"]), {"verify_instances.check": [*turns, DONE]}).history)
        for turns in ([busy], [busy, busy], [busy, spilling])
    )
    per_turn, per_spill = more - few, spilt - more
    assert TURNS * per_turn < 18_000
    assert per_spill * 100 < 2_000
    assert TURNS * per_turn + few + 200 * per_spill < 25_000, "a hundred hops in vain, each told twice"


@pytest.mark.feature("EX-12")
def test_a_loop_leaves_to_the_next_plan_what_is_still_open_after_its_share_of_turns(workflow: Workflow) -> None:
    trace = workflow.run(only(grow=MANY), {"verify_instances.check": open_at_home})

    assert trace.status == "SUCCEEDED"
    of_home = [event for event in trace.events("verify_instances.check") if event["region"] == HOME]
    assert len(of_home) == TURNS // 100
    assert ("IsDone", "LeftToNextPlan") in trace.steps


@pytest.mark.feature("EX-12")
def test_drains_that_all_wait_for_an_hour_fit_the_history(workflow: Workflow) -> None:
    """Twenty drains held by budgets, whose instances are then held by a lifecycle hook for an hour: measured by one."""
    waiting = {"status": "waiting", "wait_s": 10, "left_s": 3600, "evicted": 0, "reason": "a budget holds it"}
    ending = {"status": "ending", "reason": "", "wait_s": 15}
    empty = len(workflow.run(only()).history)
    trace = workflow.run(only(drains=INPUT["drains"]), {
        "drain.evict": [*[waiting] * 41, QUIET["drain.evict"]], "scale_in.confirm": [*[ending] * 41, QUIET["scale_in.confirm"]],
    })  # fmt: skip

    assert trace.took_s > 2 * 3500
    assert (len(trace.history) - empty) * DRAINS_EACH < 20_000  # of 25,000


def test_an_execution_ends_by_itself() -> None:
    assert definition()["TimeoutSeconds"] <= 86_400
