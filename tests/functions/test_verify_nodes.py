"""Instances that a plan asked for become Ready nodes, and the plan's requests are told."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from spillway.aws.table import memory, outcomes, requests, settings, snapshots
from spillway.errors import ClusterUnavailable, EventError, Stopped
from spillway.kube.session import Answer, Session
from spillway.model.memory import OpenRequest, RequestState
from spillway.model.plan import OutcomeStatus
from tests.builders import fleet, group
from tests.builders import instance as ec2_instance
from tests.kube.handlers import World, open_handlers, samples
from tests.kube.objects import node


@pytest.fixture
def world() -> Iterator[World]:
    with open_handlers() as opened:
        opened.plan()
        yield opened


def ask(world: World, hop: int = 0, **fields: Any) -> OpenRequest:
    given = {"id": f"p1#1#{hop}", "plan_id": "p1", "step": 1, "hop": hop, "region": "us-east-1", "group": "a"}
    sizes = {"from_desired": 0, "to_desired": 2, "nodes": 2, "asked_at": world.time.now(), "instances": ("i-01", "i-02")}
    request = OpenRequest(**{**given, **sizes, **fields})
    assert requests.create(world.table, request)
    return request


def verify(world: World, region: str = "us-east-1") -> dict[str, Any]:
    return world.call("verify_nodes", region=region)


def unready(name: str, instance: str) -> dict[str, Any]:
    one = node(name, instance=instance)
    one["status"]["conditions"][0]["status"] = "False"
    return one


def test_a_request_whose_nodes_are_all_ready_is_done(world: World):
    ask(world)
    for name, instance in (("n1", "i-01"), ("n2", "i-02")):
        world.api.add(node(name, instance=instance))

    assert verify(world) == {"ready": 2, "waiting": 0}

    told = outcomes.get(world.table, "p1", 1)
    assert told is not None
    assert (told.status, told.nodes, told.group) == (OutcomeStatus.DONE, 2, "a")
    (request,) = requests.of_plan(world.table, "p1")
    assert (request.state, request.ready) == (RequestState.READY, 2)


BROKEN = {
    "no JSON": b'"status":NaN',
    "nested too deep": b'"status":' + b"[" * 3000 + b"]" * 3000,
    "a field of another type": b'"status":{"conditions":"none"}',
}


@pytest.mark.feature("RS-06")
@pytest.mark.parametrize("wrong", BROKEN.values(), ids=BROKEN)
def test_one_node_that_does_not_read_stops_no_others_and_is_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch, wrong: bytes
):
    ask(world)
    world.api.add(node("n1", instance="i-01"))
    nameless = b'{"metadata":{"name":7}}'
    broken = b'{"metadata":{"name":"n2"},"spec":{"providerID":"aws:///us-east-1a/i-02"},%b}' % wrong
    call = Session.call

    def with_two_more(*asked: Any, **named: Any) -> Answer:
        answer = call(*asked, **named)
        head, items, rest = answer.body.partition(b'"items":[')
        return replace(answer, body=b"".join((head, items, broken, b",", nameless, b",", rest))) if items else answer

    monkeypatch.setattr(Session, "call", with_two_more)

    assert verify(world) == {"ready": 1, "waiting": 1}


def test_a_node_that_is_not_ready_is_waited_for(world: World):
    ask(world)
    world.api.add(node("n1", instance="i-01"))
    world.api.add(unready("n2", "i-02"))

    assert verify(world) == {"ready": 1, "waiting": 1}

    (request,) = requests.of_plan(world.table, "p1")
    assert (request.state, request.ready) == (RequestState.OPEN, 1)
    assert outcomes.get(world.table, "p1", 1) is None


@pytest.mark.feature("EX-04")
@pytest.mark.parametrize(("advertised", "ready"), [(None, 0), ("7", 0), ("8", 1), ("16", 1)])
def test_a_gpu_node_is_ready_once_it_advertises_its_gpus(world: World, advertised: str | None, ready: int):
    snapshots.store_fleet(world.table, fleet(group("a", gpu=8)))
    ask(world, nodes=1, to_desired=1, instances=("i-01",))
    one = node("n1", instance="i-01")
    if advertised is not None:
        one["status"]["allocatable"]["nvidia.com/gpu"] = advertised
    world.api.add(one)

    assert verify(world) == {"ready": ready, "waiting": 1 - ready}


@pytest.mark.feature("EX-04")
def test_what_a_device_plugin_adds_to_a_node_later_is_waited_for(world: World):
    snapshots.store_fleet(world.table, fleet(group("a", gpu=1)))
    ask(world, nodes=1, to_desired=1, instances=("i-01",))
    world.api.add(node("n1", instance="i-01"))
    assert verify(world) == {"ready": 0, "waiting": 1}

    world.api.edit("Node", "n1", lambda one: one["status"]["allocatable"].update({"nvidia.com/gpu": "1"}))

    assert verify(world) == {"ready": 1, "waiting": 0}
    told = outcomes.get(world.table, "p1", 1)
    assert told is not None
    assert (told.status, told.nodes) == (OutcomeStatus.DONE, 1)


@pytest.mark.feature("OP-08")
def test_a_node_is_remembered_before_any_snapshot_shows_it(world: World):
    """A cloud controller that does not know the region may delete it before the next one."""
    ask(world)
    world.api.add(unready("n2", "i-02"))
    verify(world)
    verify(world)

    (seen,) = memory.load(world.table, lambda plan_id: True).nodes
    assert (seen.node, seen.instance_id) == ("n2", "i-02")
    assert seen.first_seen == seen.last_seen <= world.time.now()


def test_what_was_refused_and_given_back_is_not_waited_for(world: World):
    ask(world, missing=1, instances=("i-01",))
    world.api.add(node("n1", instance="i-01"))

    assert verify(world) == {"ready": 1, "waiting": 0}


def test_nodes_of_other_instances_count_for_nothing(world: World):
    ask(world)
    world.api.add(node("n9", instance="i-99"))

    assert verify(world) == {"ready": 0, "waiting": 2}


class TestANodeWithoutAProviderId:
    pytestmark = pytest.mark.feature("CS-07")

    @pytest.fixture(autouse=True)
    def _fleet_knows(self, world: World) -> None:
        """Instance i-01 by its private DNS name."""
        known = ec2_instance("01", private_dns="ip-10-0-0-1.ec2.internal")
        snapshots.store_fleet(world.table, fleet(group("a", instances=[known])))

    def nameless(self, name: str, *dns: str, labels: dict[str, str] | None = None) -> dict[str, Any]:
        one = node(name, spec={"providerID": None}, labels=labels or {})
        one["status"]["addresses"] = [{"type": "InternalDNS", "address": address} for address in dns]
        return one

    @pytest.mark.parametrize(
        ("name", "dns"),
        [("ip-10-0-0-1.ec2.internal", ()), ("ip-10-0-0-1", ()), ("rack-7", ("ip-10-0-0-1.ec2.internal",)), ("i-01", ())],
    )
    def test_has_joined_as_the_instance_that_bears_its_name(self, world: World, name: str, dns: tuple[str, ...]):
        ask(world, nodes=1, to_desired=1, instances=("i-01",))
        world.api.add(self.nameless(name, *dns))

        assert verify(world) == {"ready": 1, "waiting": 0}

    def test_has_joined_as_the_instance_that_its_label_names(self, world: World):
        ask(world, nodes=1, to_desired=1, instances=("i-02",))
        labels = {"aws/id": "i-02", "topology.kubernetes.io/zone": "us-east-1a"}
        world.api.add(self.nameless("worker", labels=labels))

        assert verify(world) == {"ready": 1, "waiting": 0}

    def test_is_remembered_by_its_instance_too(self, world: World):
        ask(world)
        world.api.add(self.nameless("ip-10-0-0-1"))
        verify(world)

        (seen,) = memory.load(world.table, lambda plan_id: True).nodes
        assert (seen.node, seen.instance_id) == ("ip-10-0-0-1", "i-01")

    def test_is_waited_for_while_its_instance_is_not_known(self, world: World):
        ask(world, nodes=1, to_desired=1, instances=("i-02",))
        world.api.add(self.nameless("ip-10-0-0-2"))

        assert verify(world) == {"ready": 0, "waiting": 1}

    def test_counts_for_nothing_when_another_says_that_it_is_the_same_instance(self, world: World):
        """As in a plan: what is not clear is nobody's."""
        ask(world)
        world.api.add(self.nameless("ip-10-0-0-1"))
        world.api.add(node("n1", instance="i-01"))

        assert verify(world) == {"ready": 0, "waiting": 2}


def test_each_hop_of_a_step_has_its_own_outcome(world: World):
    ask(world, instances=("i-01",), nodes=1, to_desired=1)
    ask(world, hop=1, group="b", instances=("i-02",), nodes=1, to_desired=1)
    for name, instance in (("n1", "i-01"), ("n2", "i-02")):
        world.api.add(node(name, instance=instance))

    verify(world)

    assert [(told.hop, told.group) for told in outcomes.of_plan(world.table, "p1")] == [(0, "a"), (1, "b")]


def test_requests_of_other_regions_are_somebody_elses(world: World):
    ask(world, region="us-west-2")

    assert verify(world) == {"ready": 0, "waiting": 0}
    assert not world.api.requests


def test_an_outcome_that_a_crash_left_out_is_written_at_the_next_look(world: World):
    ask(world, state=RequestState.READY, ready=2)

    verify(world)

    assert outcomes.get(world.table, "p1", 1) is not None


def test_a_server_that_is_down_changes_nothing(world: World):
    request = ask(world)
    world.api.fail("list", "nodes", 503, times=99)

    with pytest.raises(ClusterUnavailable):
        verify(world)
    assert requests.of_plan(world.table, "p1") == (request,)


def test_a_thrown_switch_stops_it(world: World):
    settings.stop(world.table, by="ann", reason="night")

    with pytest.raises(Stopped):
        verify(world)


def test_a_wrong_event_names_its_fields(world: World):
    with pytest.raises(EventError, match=r"verify_nodes: region.*events/verify_nodes"):
        world.call("verify_nodes")


@pytest.mark.feature("OP-03")
@pytest.mark.parametrize("case", samples("verify_nodes"))
def test_sample_events_are_accepted(world: World, case: str):
    assert world.call("verify_nodes", **samples("verify_nodes")[case]) == {"ready": 0, "waiting": 0}
