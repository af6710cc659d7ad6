"""The last plan on the dashboard, for a person who did not make it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from moto import mock_aws

from functions.widget import app
from spillway.aws import clients
from spillway.aws.table import Table, plans
from spillway.model.plan import GroupReason, Kept, Plan, ScaleOut, Served, Summary, Unserved
from spillway.model.reason import Code, Reason
from spillway_local.cloudformation import ROOT, resources

HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)><cwdb-action endpoint='arn:aws:lambda:x'></cwdb-action>"


class Tags(HTMLParser):
    """All tags of a page, with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.text += data


def plan(name: str = "workers", kept: int = 1) -> Plan:
    reason = Reason(Code.UNSCHEDULABLE_PODS, f"12 pods need {name}")
    return Plan(
        plan_id=f"p-{name}",
        cluster="prod",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        policy_version="1",
        snapshots=(),
        summary=Summary(pods_pending=12, pods_on_new_nodes=10, pods_unserved=2, nodes_new=3, price_usd_h_after=1.5),
        scale_out=(ScaleOut(1, "us-east-1", name, 0, 3, 3, reason, serves=(Served("s", 10, (f"default/{name}",)),)),),
        unserved=(Unserved("s", 2, (GroupReason("us-east-1", name, Code.TOO_SMALL, f"{name} is too small"),), (f"a/{name}",)),),
        kept=tuple(Kept(f"{name}-{number}", Reason(Code.BUSY, "it runs 3 pods")) for number in range(kept)),
        warnings=(Reason(Code.PRICE_UNKNOWN, f"no price of {name}"),),
    )


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch, aws_credentials: None) -> Iterator[Table]:
    """The table as template.yaml makes it."""
    monkeypatch.setenv("SPILLWAY_CLUSTER", "prod")
    monkeypatch.setenv("SPILLWAY_HOME_REGION", "us-east-1")
    monkeypatch.setenv("SPILLWAY_TABLE", "spillway")
    properties = resources("AWS::DynamoDB::Table")["Table"]
    wanted = {key: properties[key] for key in ("BillingMode", "AttributeDefinitions", "KeySchema")}
    clients.clear()
    with mock_aws():
        clients.client("dynamodb", "us-east-1").create_table(TableName="spillway", **wanted)
        yield Table("spillway", "prod")
    clients.clear()


def show() -> str:
    return app.handler(json.loads((ROOT / "events/widget.show.json").read_text(encoding="utf-8")), None)


def test_tells_cloudwatch_what_it_is() -> None:
    event = json.loads((ROOT / "events/widget.describe.json").read_text(encoding="utf-8"))
    assert app.handler(event, None).startswith("### Last plan")


def test_shows_the_last_plan_with_its_reasons(table: Table) -> None:
    plans.put(table, plan())

    text = Tags(show()).text

    for sentence in (
        "p-workers",
        "12 pods wait",
        "0 to 3",
        "12 pods need workers",
        "workers is too small",
        "no price of workers",
    ):
        assert sentence in text


def test_a_hostile_name_is_text_and_nothing_else(table: Table) -> None:
    plans.put(table, plan(HOSTILE))

    page = Tags(show())

    assert {tag for tag, _ in page.found} <= {"p", "b", "h3", "table", "tr", "th", "td"}
    assert not [attributes for _, attributes in page.found if attributes]
    assert f"12 pods need {HOSTILE}" in page.text


def test_a_long_table_says_how_much_more_there_is(table: Table) -> None:
    plans.put(table, plan(kept=app.MOST_ROWS + 50))

    page = show()

    assert page.count("it runs 3 pods") == app.MOST_ROWS
    assert "and 50 more" in page


def test_says_so_when_there_is_no_plan_yet(table: Table) -> None:
    assert "no plan of prod yet" in show()
