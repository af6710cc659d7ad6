"""The demo's tables, and what must be so in the end."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from spillway.aws.table import requests
from spillway.model.memory import OpenRequest
from spillway.model.plan import Plan
from spillway_local.demo.story import Story
from spillway_local.demo.watch import STAGES, Watch


def show(console: Console, story: Story, watch: Watch, unrefused_usd_h: float, real_s: float) -> None:
    plans = watch.world.plans()
    asked = [request for plan in plans for request in requests.of_plan(watch.world.table, plan.plan_id)]
    for table in (
        _pods(watch),
        _nodes(watch.peak, story),
        _refusals(asked),
        _price(watch, story, unrefused_usd_h),
        _stages(watch.moments, real_s),
        _left_alone(plans),
    ):
        console.print(table)


RETRIED = ("LeaseHeld", "AwsUnavailable", "ClusterUnavailable")  # the workflow tries these again, and says so when in vain


def shortcomings(watch: Watch, tolerated: Sequence[str] = ()) -> list[str]:
    """Everything that is not as it must be in the end, but failures of these names; an empty list is success."""
    world, left = watch.world, watch.pods - len(watch.ended)
    found = [f"{left} of {watch.pods} pods did not run to their end"] if left else []
    found += [f"group {name} is left at desired {desired}" for name, desired in world.desired().items()]
    found += [f"instance {machine.instance_id} of {machine.region}/{machine.group} is left" for machine in world.machines()]
    found += [f"node {node['metadata']['name']} is left" for node in world.cluster.objects("Node")]
    found += [
        f"execution {item['name']} ended as {item['status']}" for item in world.executions() if item["status"] != "SUCCEEDED"
    ]
    found += [f"request {request.id} is still {request.state}" for request in requests.live(world.table)]
    found += [f"{failure}" for failure in world.aws.functions.failures if failure.error_type not in (*RETRIED, *tolerated)]
    found += [f"an event went to the dead letters: {body[:200]}" for body in world.aws.queue.dead]
    return found


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False, min_width=len(title))
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    return table


def _pods(watch: Watch) -> Table:
    waits = sorted(watch.started.values())
    table = _table("Pods", "", "pods", "median wait", "longest wait")
    median, longest = (f"{waits[len(waits) // 2]:.0f} s", f"{waits[-1]:.0f} s") if waits else ("", "")
    table.add_row("arrived at once", str(watch.pods), "", "")
    table.add_row("ran to their end", str(len(watch.ended)), median, longest)
    return table


def _nodes(peak: Mapping[tuple[str, str], int], story: Story) -> Table:
    regions = sorted({region for region, _ in peak}, key=lambda region: (region != story.raw.home, region))
    table = _table("Nodes at the dearest moment", "type", *regions)
    for instance_type in sorted({instance_type for _, instance_type in peak}):
        table.add_row(instance_type, *(str(peak.get((region, instance_type), 0) or "") for region in regions))
    table.add_section()
    table.add_row("all", *(str(sum(count for (where, _), count in peak.items() if where == region)) for region in regions))
    return table


def _refusals(asked: Sequence[OpenRequest]) -> Table:
    """Each refused request with the requests of its next hops, as the table remembers them."""
    following = {(request.plan_id, request.step, request.hop): request for request in asked}
    table = _table("Refused, and where it went", "group", "asked", "refused", "next")
    table.columns[3].justify = "left"
    for request in asked:
        if not request.missing:
            continue
        after = following.get((request.plan_id, request.step, request.hop + 1))
        where = f"{after.nodes} x {after.region}/{after.group}" if after else "left to the next plan"
        table.add_row(f"{request.region}/{request.group}", str(request.nodes), str(request.missing), where)
    return table


def _price(watch: Watch, story: Story, unrefused_usd_h: float) -> Table:
    table = _table("Price an hour, at its dearest", "", "$/h")
    table.add_row("this run", f"{watch.peak_usd_h:,.2f}")
    table.add_row("the same burst with no refusals", f"{unrefused_usd_h:,.2f}")
    table.add_row("the first plan, had every pod landed as meant", f"{story.asked.summary.price_usd_h_new:,.2f}")
    return table


def _stages(moments: Mapping[str, datetime], real_s: float) -> Table:
    table = _table(f"Time by stage (virtual; the run took {real_s:.0f} s)", "", "after", "since the one before")
    reached = sorted(((moments[stage], number, stage) for number, stage in enumerate(STAGES) if stage in moments))
    start = before = reached[0][0]
    for moment, _, stage in reached:
        table.add_row(stage, f"{(moment - start).total_seconds():,.0f} s", f"{(moment - before).total_seconds():,.0f} s")
        before = moment
    return table


def _left_alone(plans: Sequence[Plan]) -> Table:
    """What the plans kept or left waiting: one line a reason, with its last sentence."""
    table = _table("Left alone, and why", "reason", "times", "for example")
    table.columns[2].justify = "left"
    times, example = Counter[str](), dict[str, str]()
    for plan in plans:
        for kept in plan.kept:
            times[kept.reason.code] += 1
            example[kept.reason.code] = kept.reason.text
        for unserved in plan.unserved:
            for reason in unserved.reasons:
                times[reason.code] += 1
                example[reason.code] = reason.text
    for code, count in sorted(times.items(), key=lambda item: (-item[1], item[0])):
        table.add_row(code, str(count), example[code])
    return table
