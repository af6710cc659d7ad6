"""The instance is gone: so goes its Node object, and no other."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from spillway.aws.table import leases, outcomes, settings
from spillway.errors import ClusterForbidden, ClusterUnavailable, EventError, Stopped
from spillway.model.plan import OutcomeStatus, Why
from tests.kube.handlers import World, open_handlers, samples, scale_in
from tests.kube.objects import node


@pytest.fixture
def world() -> Iterator[World]:
    with open_handlers() as opened:
        opened.api.add(node("n1"))
        opened.plan(scale_in=(scale_in(),))
        leases.node(opened.table, "n1", "p1", 1, opened.time.now() + timedelta(seconds=60))
        yield opened


def remove(world: World) -> dict[str, str]:
    return world.call("remove_node", step=1)


@pytest.mark.feature("EX-08")
@pytest.mark.feature("SI-15")
def test_the_node_object_goes_and_the_step_is_done(world: World):
    assert remove(world) == {"status": "removed"}

    assert world.api.get("Node", "n1") is None
    told = outcomes.get(world.table, "p1", 1)
    assert told is not None
    assert (told.status, told.node, told.nodes) == (OutcomeStatus.DONE, "n1", 1)
    assert list(leases.drains(world.table)) == []


@pytest.mark.feature("EX-07")
def test_what_was_left_on_the_node_is_told_with_it(world: World):
    world.call("remove_node", step=1, told="default/web stayed though its grace was over")

    told = outcomes.get(world.table, "p1", 1)
    assert told is not None
    assert told.reason == (
        "node n1: instance i-0a has ended, its Node object is deleted; default/web stayed though its grace was over"
    )


def test_once_more_is_no_error(world: World):
    remove(world)

    assert remove(world) == {"status": "removed"}


@pytest.mark.feature("EX-08")
@pytest.mark.feature("SI-15")
def test_a_node_of_that_name_on_another_instance_stays(world: World):
    world.api.edit("Node", "n1", lambda one: one["spec"].update(providerID="aws:///us-east-1a/i-0b"))

    assert remove(world) == {"status": "kept"}

    assert world.api.get("Node", "n1") is not None
    told = outcomes.get(world.table, "p1", 1)
    assert told is not None
    assert "i-0a has ended, the name is another instance's" in told.reason


@pytest.mark.feature("CS-07")
@pytest.mark.parametrize(("age_s", "status"), [(60, "removed"), (-60, "kept")])
def test_a_node_that_does_not_say_what_it_is_goes_when_it_is_older_than_the_plan(world: World, age_s: int, status: str):
    created = (world.time.now() - timedelta(seconds=age_s)).strftime("%Y-%m-%dT%H:%M:%SZ")
    world.api.remove("Node", "n1")
    world.api.add(node("n1", spec={"providerID": None}, creationTimestamp=created))

    assert remove(world) == {"status": status}


def test_a_namesake_that_joins_in_between_stays(world: World, monkeypatch: pytest.MonkeyPatch):
    from spillway.kube import node as nodes

    really_delete = nodes.delete

    def delete_after_another_joined(session, name, uid):
        world.api.remove("Node", "n1")
        world.api.add(node("n1", instance="i-0b"))
        return really_delete(session, name, uid)

    monkeypatch.setattr(nodes, "delete", delete_after_another_joined)

    assert remove(world) == {"status": "kept"}
    assert world.api.get("Node", "n1") is not None


def test_an_instance_that_never_joined_leaves_nothing_to_remove(world: World):
    world.table.delete("PLAN#p1")
    world.plan(scale_in=(scale_in(node="", why=Why.UNREGISTERED),))

    assert remove(world) == {"status": "removed"}
    assert world.api.get("Node", "n1") is not None


@pytest.mark.parametrize("error", [ClusterForbidden, ClusterUnavailable])
def test_a_refusal_leaves_the_step_open(world: World, error: type[Exception]):
    if error is ClusterForbidden:
        world.api.allow([("get", "nodes")])
    else:
        world.api.fail("delete", "nodes", 500, times=99)

    with pytest.raises(error, match="delete nodes"):
        remove(world)
    assert outcomes.get(world.table, "p1", 1) is None
    assert [drain.node for drain in leases.drains(world.table)] == ["n1"]


def test_a_thrown_switch_stops_it(world: World):
    settings.stop(world.table, by="ann", reason="night")

    with pytest.raises(Stopped):
        remove(world)
    assert world.api.get("Node", "n1") is not None


def test_a_wrong_event_names_its_fields(world: World):
    with pytest.raises(EventError, match="step"):
        world.call("remove_node", step=-1)


@pytest.mark.feature("OP-03")
@pytest.mark.parametrize("case", samples("remove_node"))
def test_sample_events_are_accepted(world: World, case: str):
    assert world.call("remove_node", **samples("remove_node")[case]) == {"status": "removed"}
