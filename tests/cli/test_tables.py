"""A plan as tables: short, and safe to print."""

import io
from datetime import UTC, datetime

from rich.console import Console

from spillway.model.plan import (
    Eviction,
    Fallback,
    GiveBack,
    GroupReason,
    Kept,
    Plan,
    ScaleIn,
    ScaleOut,
    Served,
    Summary,
    Unserved,
    Why,
)
from spillway.model.reason import Code, Reason
from spillway_local import tables

PLAN = Plan(
    plan_id="3f2a",
    cluster="prod",
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
    policy_version="0",
    snapshots=(),
    summary=Summary(),
)


def printed(plan: Plan, assignments: tuple[dict[str, object], ...] = ()) -> str:
    out = io.StringIO()
    tables.show(plan, assignments, Console(file=out, width=160, highlight=False))
    return out.getvalue()


def changed(**fields: object) -> Plan:
    return Plan(**{name: getattr(PLAN, name) for name in PLAN.__struct_fields__} | fields)  # type: ignore[arg-type]


def reason(text: str, code: Code = Code.BUSY) -> Reason:
    return Reason(code=code, text=text)


def test_a_plan_without_steps_says_so_and_shows_no_empty_table() -> None:
    text = printed(PLAN)
    assert "Plan 3f2a of cluster prod at 2026-01-01 00:00:00 UTC" in text
    assert text.rstrip().endswith("Nothing to do.")
    assert "Scale out" not in text
    assert "Kept" not in text


def test_the_summary_tells_where_pods_go_and_what_it_costs() -> None:
    summary = Summary(
        pods_pending=9, pods_on_free_room=2, pods_on_new_nodes=6, pods_unserved=1, nodes_new=3, price_usd_h_new=1.5,
        price_usd_h_before=0.2, price_usd_h_after=1.7, price_bound_usd_h=1.45,
    )  # fmt: skip
    text = printed(changed(summary=summary))
    assert "2 on free room, 6 on new nodes, 1 unserved" in text
    assert "+3 -0" in text
    assert "before: 0.2 $/h; what is new costs 1.5 $/h, at least 1.45 $/h is proven to be needed" in text


def test_a_scale_out_shows_whom_it_serves_why_and_what_comes_next() -> None:
    step = ScaleOut(
        step=1, region="us-east-1", group="gpu", from_desired=0, to_desired=2, nodes=2, reason=reason("2 pods wait"),
        uncordon=("n1",), serves=(Served(shape="s", pods=5, examples=("ml/a", "ml/b")),),
        fallbacks=(Fallback(region="us-west-2", group="gpu", nodes=2),),
    )  # fmt: skip
    text = printed(changed(scale_out=(step,)))
    for said in ("us-east-1/gpu", "0 -> 2", "uncordon n1", "5 x ml/a", "2 pods wait", "2 x us-west-2/gpu"):
        assert said in text


def test_a_step_for_many_shapes_stays_short() -> None:
    serves = tuple(Served(shape=f"s{i}", pods=1, examples=(f"ml/a-{i}",)) for i in range(36))
    fallbacks = tuple(Fallback(region="r", group=f"g{i}", nodes=1) for i in range(9))
    step = ScaleOut(
        step=1, region="r", group="g", from_desired=0, to_desired=2, nodes=2, reason=reason("36 pods"), serves=serves,
        fallbacks=fallbacks,
    )  # fmt: skip
    text = printed(changed(scale_out=(step,)))
    assert "and 31 more" in text
    assert "and 4 more" in text


def test_a_scale_in_shows_what_it_evicts() -> None:
    pods = tuple(Eviction(pod=f"web/a-{i}", tier=0) for i in range(5))
    step = ScaleIn(
        step=4, region="r", group="g", node="n1", instance_id="i-1", why=Why.UNDERUTILISED, deadline_s=1, evict=pods,
        reason=reason("12 % used"),
    )  # fmt: skip
    text = printed(changed(scale_in=(step,)))
    assert "web/a-0, web/a-1, web/a-2 and 2 more" in text
    assert "underutilised" in text
    assert "12 % used" in text


def test_an_instance_without_node_is_shown_by_its_id() -> None:
    step = ScaleIn(
        step=1, region="r", group="g", node="", instance_id="i-1", why=Why.UNREGISTERED, deadline_s=1, reason=reason("lost")
    )
    assert "i-1" in printed(changed(scale_in=(step,)))


def test_a_give_back_and_a_warning_are_shown() -> None:
    back = GiveBack(step=2, region="r", group="g", from_desired=5, to_desired=3, reason=reason("2 never came"))
    text = printed(changed(give_back=(back,), warnings=(reason("r is silent", Code.REGION_SILENT),)))
    assert "5 -> 3" in text
    assert "region_silent" in text


def test_unserved_pods_have_a_line_for_each_group_which_is_named_once() -> None:
    reasons = (
        GroupReason(region="r", group="small", code=Code.TOO_SMALL, text="needs 16 nvidia.com/gpu, g5.48xlarge has 8"),
        GroupReason(region="r", group="full", code=Code.AT_MAX, text="r/full is at its max of 3"),
        GroupReason(region="", group="", code=Code.NO_GROUPS, text="no group"),
    )
    text = printed(changed(unserved=(Unserved(shape="s", pods=1, examples=("ml/dream",), reasons=reasons),)))
    assert "r/small: needs 16 nvidia.com/gpu, g5.48xlarge has 8" in text
    assert text.count("r/full") == 1
    assert "no group" in text


def test_kept_nodes_are_folded_by_code() -> None:
    kept = tuple(Kept(node=f"n{i}", reason=reason(f"n{i} runs 3 pods")) for i in range(1000))
    lines = [line for line in printed(changed(kept=kept)).splitlines() if "busy" in line]
    assert len(lines) == 1
    assert "1000" in lines[0]
    assert "n0, n1, n2 and 997 more" in lines[0]
    assert "n0 runs 3 pods" in lines[0]


def test_assignments_name_the_pods_of_each_node() -> None:
    assert "ml/a, ml/b" in printed(PLAN, ({"node": "r/g#0", "pods": ["ml/a", "ml/b"]},))


def test_a_hostile_name_is_printed_as_text() -> None:
    kept = Kept(node="[bold]n1[/bold]\x1b[2J\u202e", reason=reason("\x1b]0;owned\x07"))
    text = printed(changed(kept=(kept,)))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert "[bold]n1[/bold]" in text
