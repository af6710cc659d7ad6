"""Events through both API groups, which show the same ones; the newer is strict."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from spillway.kube import session as sessions
from spillway.kube.session import Session
from spillway.model.access import Access
from spillway_local.kube_api import Cluster
from tests.local.kube_api_objects import Object

AT = "2026-01-01T00:00:00.000000Z"
ABOUT_NODE = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u"}
ABOUT_POD = {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "default"}
OLD = {
    "involvedObject": ABOUT_NODE, "reason": "ScaleDown", "message": "node n1 goes", "type": "Normal",
    "source": {"component": "spillway"}, "count": 1,
    "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
}  # fmt: skip
NEW = {
    "eventTime": AT, "reportingController": "spillway.io/plan", "reportingInstance": "plan-1", "action": "ScaleUp",
    "reason": "TriggeredScaleUp", "regarding": ABOUT_POD, "note": "1 node for it", "type": "Normal",
}  # fmt: skip


class Both:
    """The two groups, raw: the typed models of the official client write times that the server does not read."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def old(self, name: str, namespace: str = "default", **fields: Any) -> Object:
        return self._create(f"/api/v1/namespaces/{namespace}/events", "v1", name, {**OLD, **fields})

    def new(self, name: str, **fields: Any) -> Object:
        given = {name: value for name, value in {**NEW, **fields}.items() if value is not None}
        return self._create("/apis/events.k8s.io/v1/namespaces/default/events", "events.k8s.io/v1", name, given)

    def get(self, group: str, name: str = "", **query: str) -> Object:
        path = f"/{group}/namespaces/default/events" + (f"/{name}" if name else "")
        return self._answer("GET", path, query=query)

    def names(self, group: str, selector: str) -> list[str]:
        return [one["metadata"]["name"] for one in self.get(group, fieldSelector=selector)["items"]]

    def _create(self, path: str, version: str, name: str, fields: Object) -> Object:
        return self._answer("POST", path, body={"apiVersion": version, "kind": "Event", "metadata": {"name": name}, **fields})

    def _answer(self, method: str, path: str, **more: Any) -> Object:
        found: Object = json.loads(self._session.call(method, path, ("any", "events"), also=(400, 422), **more).body)
        return found


@pytest.fixture
def both(api_server: Cluster) -> Iterator[Both]:
    yield Both(Session(Access("test", api_server.url, token=api_server.token)))
    sessions.close()


def test_an_event_of_the_core_group_is_kept_as_it_is(both: Both) -> None:
    made = both.old("a")
    assert OLD.items() <= made.items()


def test_an_event_of_one_group_is_shown_by_the_other_under_its_own_names(both: Both) -> None:
    both.old("a")
    both.new("b")

    a, b = both.get("apis/events.k8s.io/v1", "a"), both.get("api/v1", "b")

    assert (a["apiVersion"], a["regarding"], a["note"]) == ("events.k8s.io/v1", ABOUT_NODE, "node n1 goes")
    assert (a["deprecatedSource"], a["deprecatedCount"]) == ({"component": "spillway"}, 1)
    assert (b["apiVersion"], b["involvedObject"], b["message"]) == ("v1", ABOUT_POD, "1 node for it")
    assert (b["reportingComponent"], b["action"], b["eventTime"]) == ("spillway.io/plan", "ScaleUp", AT)


def test_both_are_listed_and_selected_by_what_they_are_about(both: Both) -> None:
    both.old("a")
    both.new("b")
    assert both.names("api/v1", "involvedObject.kind=Node,involvedObject.name=n1") == ["a"]
    assert both.names("apis/events.k8s.io/v1", "regarding.kind=Pod,regarding.name=p") == ["b"]
    assert both.names("api/v1", "source=spillway") == ["a"]
    assert both.names("api/v1", "source=spillway.io/plan") == ["b"]


@pytest.mark.parametrize(
    ("namespace", "about"), [("kube-system", ABOUT_NODE), ("default", {**ABOUT_POD, "namespace": "other"})]
)
def test_an_event_is_where_its_object_is_and_in_default_when_that_is_nowhere(both: Both, namespace: str, about: Object) -> None:
    refused = both.old("c", namespace, involvedObject=about)
    assert refused["code"] == 422
    assert "does not match event.namespace" in refused["message"]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"eventTime": None}, "eventTime: Required value"),
        ({"action": None}, "action: Required value"),
        ({"reason": ""}, "reason: Required value"),
        ({"reportingInstance": None}, "reportingInstance: Required value"),
        ({"type": "Odd"}, 'type: Invalid value: "": has invalid value: Odd'),
        ({"note": "x" * 1025}, 'message: Invalid value: "": can have at most 1024 characters'),
        ({"series": {"count": 1, "lastObservedTime": AT}}, 'series.count: Invalid value: "": should be at least 2'),
        ({"deprecatedCount": 2}, 'count: Invalid value: "": needs to be unset'),
        ({"action": None, "reason": None}, "[action: Required value, reason: Required value]"),
    ],
)
def test_the_newer_group_asks_for_all_of_it(both: Both, fields: Object, problem: str) -> None:
    refused = both.new("c", **fields)
    assert refused["code"] == 422
    assert problem in refused["message"]


@pytest.mark.parametrize("at", ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00+00:00", "now"])
def test_a_time_without_its_six_decimals_does_not_read(both: Both, at: str) -> None:
    refused = both.new("c", eventTime=at)
    assert (refused["code"], refused["reason"]) == (400, "BadRequest")
    assert f'Event in version "v1" cannot be handled as a Event: parsing time "{at}" as' in refused["message"]


def test_the_core_group_takes_what_the_newer_refuses(both: Both) -> None:
    assert both.old("c", type="Odd", message="x" * 5000)["type"] == "Odd"


def test_the_newer_group_takes_a_series(both: Both) -> None:
    made = both.new("c", series={"count": 2, "lastObservedTime": AT})
    assert made["series"] == {"count": 2, "lastObservedTime": AT}
