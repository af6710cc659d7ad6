"""A plan as tables for people. Text out of a cluster is printed as text: no markup, no control characters."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from spillway.model.plan import GroupReason, Kept, Plan, ScaleIn, ScaleOut, Served, Unserved
from spillway.model.reason import Code

WIDTH = 120  # where no terminal tells its own
NAMES_SHOWN = 3
LINES_SHOWN = 5
UNBROKEN = 28  # columns: names up to here stay on one line, and the sentences beside them wrap instead


def show(plan: Plan, assignments: Iterable[Mapping[str, Any]] = (), console: Console | None = None) -> None:
    """Prints the summary and each part of the plan that is not empty."""
    out = console or Console(highlight=False)
    if console is None and not out.is_terminal:
        out.width = WIDTH
    out.print(_text(f"Plan {plan.plan_id} of cluster {plan.cluster} at {plan.created_at:%Y-%m-%d %H:%M:%S} UTC"))
    out.print(_summary(plan))
    parts = (
        _scale_out(plan.scale_out), _scale_in(plan.scale_in), _give_back(plan), _unserved(plan.unserved),
        _kept(plan.kept), _warnings(plan), _assignments(assignments),
    )  # fmt: skip
    for table in parts:
        if table.row_count:
            out.print(table)
    if not plan.has_steps:
        out.print("Nothing to do.")


def _summary(plan: Plan) -> Table:
    s = plan.summary
    served = {"free room": s.pods_on_free_room, "coming nodes": s.pods_on_coming_nodes, "new nodes": s.pods_on_new_nodes}
    where = [f"{count} on {place}" for place, count in served.items() if count]
    where += [f"{s.pods_unserved} unserved"] if s.pods_unserved else []
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_row("pods waiting", str(s.pods_pending), ", ".join(where))
    table.add_row("nodes", f"+{s.nodes_new} -{s.nodes_removed}", "")
    bound = f"; what is new costs {_usd(s.price_usd_h_new)}"
    if s.price_bound_usd_h is not None:
        bound += f", at least {_usd(s.price_bound_usd_h)} is proven to be needed"
    table.add_row(
        "price", f"{_usd(s.price_usd_h_after)}", f"before: {_usd(s.price_usd_h_before)}" + (bound if s.nodes_new else "")
    )
    return table


def _scale_out(steps: Sequence[ScaleOut]) -> Table:
    table = _table("Scale out", "#", "group", "desired", "serves", "why", "if refused")
    for step in steps:
        back = f" uncordon {_some(step.uncordon)}" if step.uncordon else ""
        table.add_row(
            str(step.step),
            _text(f"{step.region}/{step.group}"),
            _text(f"{step.from_desired} -> {step.to_desired}{back}"),
            _lines([_served(served) for served in step.serves]),
            _text(step.reason.text),
            _lines([f"{other.nodes} x {other.region}/{other.group}" for other in step.fallbacks]),
        )
    for column in table.columns:
        column.no_wrap = all(len(line) <= UNBROKEN for cell in column.cells for line in str(cell).split("\n"))
    return table


def _served(served: Served) -> str:
    return f"{served.pods} x {served.examples[0] if served.examples else served.shape}"


def _lines(lines: Sequence[str]) -> Text:
    """The first few, and how many more there are."""
    more = [f"and {len(lines) - LINES_SHOWN} more"] if len(lines) > LINES_SHOWN else []
    return _text("\n".join([*lines[:LINES_SHOWN], *more]))


def _scale_in(steps: Sequence[ScaleIn]) -> Table:
    table = _table("Scale in", "#", "node", "group", "why", "evicts", "reason")
    for step in steps:
        table.add_row(
            str(step.step),
            _text(step.node or step.instance_id),
            _text(f"{step.region}/{step.group}"),
            step.why.value,
            _text(_some([eviction.pod for eviction in step.evict])),
            _text(step.reason.text),
        )
    return table


def _give_back(plan: Plan) -> Table:
    table = _table("Give back", "#", "group", "desired", "reason")
    for step in plan.give_back:
        desired = f"{step.from_desired} -> {step.to_desired}"
        table.add_row(str(step.step), _text(f"{step.region}/{step.group}"), desired, _text(step.reason.text))
    return table


def _unserved(shapes: Sequence[Unserved]) -> Table:
    table = _table("Unserved", "pods", "for example", "why not")
    for shape in shapes:
        table.add_row(str(shape.pods), _lines(shape.examples), _lines(list(map(_refusal, shape.reasons))))
    return table


def _refusal(reason: GroupReason) -> str:
    """The sentence, led by its group where it does not name it itself."""
    key = f"{reason.region}/{reason.group}"
    return reason.text if not reason.group or key in reason.text else f"{key}: {reason.text}"


def _kept(kept: Sequence[Kept]) -> Table:
    """One row for each code: a thousand busy nodes are one line."""
    table = _table("Kept", "nodes", "code", "which", "for example")
    by_code: dict[Code, list[Kept]] = {}
    for entry in kept:
        by_code.setdefault(entry.reason.code, []).append(entry)
    for code, entries in by_code.items():
        names = _text(_some([entry.node for entry in entries]))
        table.add_row(str(len(entries)), code.value, names, _text(entries[0].reason.text))
    return table


def _warnings(plan: Plan) -> Table:
    table = _table("Warnings", "code", "")
    for warning in plan.warnings:
        table.add_row(warning.code.value, _text(warning.text))
    return table


def _assignments(assignments: Iterable[Mapping[str, Any]]) -> Table:
    table = _table("Assignments", "node", "pods")
    for entry in assignments:
        table.add_row(_text(entry["node"]), _text(", ".join(entry["pods"])))
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(
            column, justify="right" if column in ("#", "nodes", "pods") and column != columns[-1] else "left", overflow="fold"
        )
    return table


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more


def _usd(price: float) -> str:
    return f"{price:,.2f} $/h" if price >= 10 else f"{price:.4g} $/h"


def _text(text: str) -> Text:
    """Names come from the cluster: a terminal must not take them for commands, nor rich for markup."""
    return Text("".join(char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in text))
