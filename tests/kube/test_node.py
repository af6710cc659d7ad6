"""One node, changed: what others wrote meanwhile stays, and giving it back leaves no trace."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from spillway.errors import ClusterForbidden, ClusterUnavailable
from spillway.kube import node as nodes
from spillway.model.fleet import NodeGroup
from spillway_local.kube_api import Cluster
from tests.kube.cluster import World, open_cluster
from tests.kube.objects import node

AT = datetime(2026, 1, 1, tzinfo=UTC)
THEIRS = {"key": "gpu", "value": "a100", "effect": "NoSchedule", "timeAdded": "2025-12-31T00:00:00Z"}
OURS = {"key": "ToBeDeletedByClusterAutoscaler", "value": "1767225600", "effect": "NoSchedule"}


@pytest.fixture
def world(api_server: Cluster) -> Iterator[World]:
    with open_cluster(api_server) as opened:
        yield opened


def seen(world: World, name: str = "n1") -> Any:
    found = world.api.get("Node", name)
    assert found is not None
    return found


@pytest.mark.feature("EX-07")
def test_cordon_taint_and_marks_come_in_one_write(world: World):
    world.api.add(node("n1", labels={"team": "a"}, spec={"taints": [THEIRS]}))

    nodes.cordon(world.session, "n1", "plan1", AT)

    found = seen(world)
    assert found["metadata"]["labels"] == {
        "team": "a",
        "spillway.io/cordoned": "plan1",
        "node.kubernetes.io/exclude-from-external-load-balancers": "spillway",
    }
    assert found["spec"]["unschedulable"] is True
    assert found["spec"]["taints"] == [THEIRS, OURS]
    assert world.api.requests["patch", "nodes"] == 1


def test_a_second_cordon_by_the_same_plan_writes_nothing(world: World):
    world.api.add(node("n1"))
    nodes.cordon(world.session, "n1", "plan1", AT)
    before = seen(world)

    nodes.cordon(world.session, "n1", "plan1", datetime(2026, 1, 1, 1, tzinfo=UTC))

    assert seen(world) == before


@pytest.mark.feature("EX-07")
def test_a_taint_that_somebody_adds_meanwhile_is_kept(world: World):
    world.api.add(node("n1"))
    world.api.fail("patch", "nodes", 409, times=2)

    nodes.cordon(world.session, "n1", "plan1", AT)

    assert seen(world)["spec"]["taints"] == [OURS]
    assert world.api.requests["get", "nodes"] == 3


def test_a_stale_view_of_the_node_is_never_written_back(world: World, monkeypatch: pytest.MonkeyPatch):
    world.api.add(node("n1"))
    read = nodes.get

    def read_before_another_writes(session: Any, name: str) -> Any:
        found = read(session, name)
        if "spot" not in str(seen(world)["spec"]):
            world.api.edit("Node", "n1", lambda one: one["spec"].update(taints=[{"key": "spot", "effect": "NoSchedule"}]))
        return found

    monkeypatch.setattr(nodes, "get", read_before_another_writes)
    nodes.cordon(world.session, "n1", "plan1", AT)

    assert [taint["key"] for taint in seen(world)["spec"]["taints"]] == ["spot", OURS["key"]]


def test_endless_conflicts_are_an_error_and_change_nothing(world: World):
    world.api.add(node("n1"))
    before = seen(world)
    world.api.fail("patch", "nodes", 409, times=99)

    with pytest.raises(ClusterUnavailable, match="node n1 was written by others 5 times"):
        nodes.cordon(world.session, "n1", "plan1", AT)
    assert seen(world) == before


def test_a_node_that_is_gone_is_no_error(world: World):
    assert nodes.cordon(world.session, "n1", "plan1", AT) is None
    assert not nodes.uncordon(world.session, "n1")
    assert nodes.get(world.session, "n1") is None


def test_without_permission_nothing_is_changed(world: World):
    world.api.add(node("n1"))
    before = seen(world)
    world.api.allow([("get", "nodes")])

    with pytest.raises(ClusterForbidden, match="patch nodes"):
        nodes.cordon(world.session, "n1", "plan1", AT)
    assert seen(world) == before


class TestUncordon:
    @pytest.mark.feature("EX-09")
    def test_it_takes_off_exactly_what_the_cordon_put_on(self, world: World):
        world.api.add(node("n1", labels={"team": "a"}, spec={"taints": [THEIRS]}))
        before = seen(world)
        nodes.cordon(world.session, "n1", "plan1", AT)

        assert nodes.uncordon(world.session, "n1")

        after = seen(world)
        for one in (before, after):
            one["metadata"] = {key: one["metadata"][key] for key in ("name", "uid", "labels")}
        assert after == before

    @pytest.mark.feature("EX-09")
    @pytest.mark.feature("SI-16")
    def test_a_persons_cordon_is_never_undone(self, world: World):
        world.api.add(node("n1", spec={"unschedulable": True, "taints": [OURS]}))

        assert not nodes.uncordon(world.session, "n1")
        assert seen(world)["spec"]["unschedulable"] is True

    @pytest.mark.feature("EX-09")
    @pytest.mark.feature("SI-16")
    def test_a_persons_exclusion_from_load_balancers_stays(self, world: World):
        world.api.add(node("n1", labels={"node.kubernetes.io/exclude-from-external-load-balancers": ""}))
        nodes.cordon(world.session, "n1", "plan1", AT)

        nodes.uncordon(world.session, "n1")

        assert seen(world)["metadata"]["labels"] == {"node.kubernetes.io/exclude-from-external-load-balancers": ""}

    @pytest.mark.feature("EX-09")
    def test_the_older_autoscalers_marker_goes_too_so_that_a_later_cordon_is_a_persons(self, world: World):
        world.api.add(node("n1", labels={"openai/cordoned-by-autoscaler": "true"}, spec={"unschedulable": True}))

        assert nodes.uncordon(world.session, "n1")
        world.api.edit("Node", "n1", lambda one: one["spec"].update(unschedulable=True))

        assert not nodes.uncordon(world.session, "n1")

    @pytest.mark.feature("EX-09")
    def test_the_marker_of_another_plan_stays_when_only_one_plans_is_meant(self, world: World):
        world.api.add(node("n1"))
        nodes.cordon(world.session, "n1", "plan2", AT)

        assert not nodes.uncordon(world.session, "n1", "plan1")
        assert seen(world)["metadata"]["labels"]["spillway.io/cordoned"] == "plan2"


class TestDelete:
    def test_the_node_that_was_seen_is_deleted(self, world: World):
        uid = world.api.add(node("n1"))["metadata"]["uid"]

        assert nodes.delete(world.session, "n1", uid) == nodes.Deletion.DELETED
        assert world.api.get("Node", "n1") is None

    def test_a_namesake_that_joined_since_is_not(self, world: World):
        world.api.add(node("n1"))

        assert nodes.delete(world.session, "n1", "another") == nodes.Deletion.ANOTHER
        assert world.api.get("Node", "n1") is not None

    def test_one_that_is_gone_is_no_error(self, world: World):
        assert nodes.delete(world.session, "n1", "any") == nodes.Deletion.GONE


def test_nodes_are_found_by_their_instance(world: World):
    for at in range(3):
        world.api.add(node(f"n{at}", instance=f"i-0{at}"))

    found = nodes.by_instance(world.session, ["i-00", "i-02", "i-09"], _unasked)

    assert {instance: one.name for instance, one in found.items()} == {"i-00": "n0", "i-02": "n2"}
    assert found["i-00"].ready


def test_nothing_is_asked_for_no_instances(world: World):
    assert nodes.by_instance(world.session, [], _unasked) == {}
    assert not world.api.requests


def _unasked() -> list[NodeGroup]:
    raise AssertionError("every node says which instance it is")


@pytest.mark.parametrize(("written", "lacking"), [("8", []), ("7", ["nvidia.com/gpu"]), ("many", ["nvidia.com/gpu"])])
def test_a_device_that_does_not_read_is_none(written: str, lacking: list[str]):
    one = nodes.LiveNode("n1", "uid", "1", {}, (), False, True, None, allocatable={"nvidia.com/gpu": written})
    assert one.lacks({"nvidia.com/gpu": 8}) == lacking
