"""The dashboard's own widget: the last plan with its reasons, as HTML.

Every name in it comes from the cluster or from AWS and may be anybody's text: all of it is escaped, none of it is
put into an attribute or a link.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from spillway.aws.table import Table, plans
from spillway.env import env
from spillway.errors import NotFound
from spillway.model.plan import Plan

DESCRIPTION = "### Last plan\nWhat Spillway decided last, and why. It takes no parameters."
MOST_ROWS = 100  # of a table; a dashboard is read at a glance, `spillway explain` has them all


def handler(event: Mapping[str, Any], context: object) -> str:
    """Markdown when CloudWatch asks for a description (`{"describe": true}`), else HTML."""
    if event.get("describe"):
        return DESCRIPTION
    try:
        plan = plans.latest(Table(env().table, env().cluster))
    except NotFound:
        return f"<p>There is no plan of {escape(env().cluster)} yet. Is the schedule enabled?</p>"
    return "".join(_page(plan))


def _page(plan: Plan) -> Iterator[str]:
    summary = plan.summary
    yield f"<p><b>{escape(plan.plan_id)}</b> of {escape(plan.cluster)}, {plan.created_at:%Y-%m-%d %H:%M:%S} UTC. "
    yield f"{summary.pods_pending} pods wait: {summary.pods_on_free_room} fit on free room, "
    yield f"{summary.pods_on_coming_nodes} on coming nodes, {summary.pods_on_new_nodes} on {summary.nodes_new} new nodes, "
    yield f"{summary.pods_unserved} nowhere. {summary.nodes_removed} nodes go. "
    yield f"{summary.price_usd_h_before:.2f} to {summary.price_usd_h_after:.2f} USD an hour.</p>"
    yield from _table(
        "Scale out",
        ("region", "group", "desired", "why"),
        ((step.region, step.group, f"{step.from_desired} to {step.to_desired}", step.reason.text) for step in plan.scale_out),
    )
    yield from _table(
        "Scale in",
        ("region", "group", "node", "why"),
        ((step.region, step.group, step.node, step.reason.text) for step in plan.scale_in),
    )
    yield from _table(
        "Give back",
        ("region", "group", "desired", "why"),
        ((step.region, step.group, f"{step.from_desired} to {step.to_desired}", step.reason.text) for step in plan.give_back),
    )
    yield from _table(
        "Unserved",
        ("pods", "as in", "region", "group", "why not"),
        (
            (str(one.pods), ", ".join(one.examples), reason.region, reason.group, reason.text)
            for one in plan.unserved
            for reason in one.reasons
        ),
    )
    yield from _table("Warnings", ("code", "what"), ((one.code, one.text) for one in plan.warnings))
    yield from _table("Kept nodes", ("node", "why"), ((one.node, one.reason.text) for one in plan.kept))


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Nothing for no rows."""
    lines = list(rows)
    if not lines:
        return
    yield f"<h3>{title}</h3><table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>"
    for line in lines[:MOST_ROWS]:
        yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>"
    yield "</table>"
    if len(lines) > MOST_ROWS:
        yield f"<p>and {len(lines) - MOST_ROWS} more</p>"
