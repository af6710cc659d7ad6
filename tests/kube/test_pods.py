"""Pods as the snapshot holds them: their state and place, in whatever form they are read."""

import json

import pytest

from spillway.kube import pods
from spillway.kube.objects import Objects
from spillway.kube.reduce import reduce
from spillway.model.base import encode
from spillway.model.cluster import PodState
from spillway.model.reason import Code
from tests.kube.objects import NOW, budget, listed, node, pod, set_of, snapshot_of


@pytest.mark.feature("CS-04")
class TestStates:
    def test_a_pod_with_a_node_is_bound_running_or_not(self):
        assert set_of(snapshot_of(pod("a", node="n1", phase="Pending")), "a").state == PodState.BOUND

    def test_a_pod_that_the_scheduler_refused_is_unschedulable(self):
        assert set_of(snapshot_of(pod("a")), "a").state == PodState.UNSCHEDULABLE

    def test_a_pod_that_the_scheduler_has_not_looked_at_is_unseen(self):
        assert set_of(snapshot_of(pod("a") | {"status": {"phase": "Pending"}}), "a").state == PodState.UNSEEN

    def test_a_pod_held_by_a_scheduling_gate_is_gated(self):
        gated = pod("a", spec={"schedulingGates": [{"name": "example.com/quota"}]})
        assert set_of(snapshot_of(gated), "a").state == PodState.GATED

    def test_a_pod_that_waits_for_preempted_room_is_nominated(self):
        waiting = pod("a")
        waiting["status"]["nominatedNodeName"] = "n1"
        found = set_of(snapshot_of(waiting, node("n1")), "a")
        assert (found.state, found.node) == (PodState.NOMINATED, "n1")

    def test_a_nomination_to_a_node_that_is_gone_counts_for_nothing(self):
        waiting = pod("a")
        waiting["status"]["nominatedNodeName"] = "gone"
        found = set_of(snapshot_of(waiting), "a")
        assert (found.state, found.node) == (PodState.UNSCHEDULABLE, "")

    def test_nor_does_it_say_that_the_scheduler_judged_the_pod(self):
        """Others than the scheduler may nominate (KEP-5278), also pods that it has not looked at."""
        waiting = pod("a") | {"status": {"phase": "Pending", "nominatedNodeName": "gone"}}
        assert set_of(snapshot_of(waiting), "a").state == PodState.UNSEEN

    @pytest.mark.parametrize("reason", ["SchedulerError", "SchedulingGated", ""])
    def test_a_condition_for_another_reason_is_no_judgement(self, reason):
        waiting = pod("a")
        waiting["status"]["conditions"][0]["reason"] = reason
        assert set_of(snapshot_of(waiting), "a").state == PodState.UNSEEN

    def test_a_gated_pod_is_gated_whatever_else_it_says(self):
        gated = pod("a", spec={"schedulingGates": [{"name": "example.com/quota"}]})
        gated["status"]["nominatedNodeName"] = "n1"
        assert set_of(snapshot_of(gated, node("n1")), "a").state == PodState.GATED

    def test_a_pod_being_deleted_holds_its_room(self):
        found = set_of(snapshot_of(pod("a", node="n1", deletionTimestamp="2026-01-01T00:00:00Z")), "a")
        assert (found.state, found.node) == (PodState.TERMINATING, "n1")

    def test_when_it_is_to_be_gone_stands_beside_its_name(self):
        soon, late = ("2026-01-01T00:00:10Z", "2026-01-01T00:00:50Z")
        leaving = [pod(name, node="n1", deletionTimestamp=at) for name, at in (("a", late), ("b", soon))]
        found = set_of(snapshot_of(*leaving), "a")
        assert [at.second for at in found.deletes] == [50, 10]
        assert set_of(snapshot_of(pod("c", node="n1")), "c").deletes == ()

    def test_a_pod_of_a_node_that_does_not_exist_keeps_its_place_there(self):
        """It is neither load nor demand: no node is kept for it, none bought."""
        found = set_of(snapshot_of(pod("a", node="gone"), node("n1")), "a")
        assert (found.state, found.node) == (PodState.BOUND, "gone")

    @pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
    def test_a_finished_pod_is_in_no_snapshot(self, phase):
        assert snapshot_of(pod("a", node="n1", phase=phase)).pods == ()

    def test_a_waiting_pod_being_deleted_wants_nothing_any_more(self):
        assert snapshot_of(pod("a", deletionTimestamp="2026-01-01T00:00:00Z")).pods == ()

    def test_names_stand_oldest_first_then_by_name(self):
        late, early = pod("a", creationTimestamp="2025-12-31T23:59:00Z"), pod("c", creationTimestamp="2025-12-31T23:00:00Z")
        twin = pod("b", creationTimestamp="2025-12-31T23:00:00Z")
        assert set_of(snapshot_of(late, early, twin), "a").names == ("b", "c", "a")


@pytest.mark.feature("RS-06")
class TestWhatDoesNotRead:
    def test_a_pod_with_a_bad_quantity_is_set_aside_by_name_and_the_others_stay(self):
        seen = snapshot_of(pod("good"), pod("bad", cpu="lots"))
        assert [one.names for one in seen.pods] == [("good",)]
        (warning,) = seen.warnings
        assert warning.code == Code.OBJECT_UNREADABLE
        assert "pod default/bad" in warning.text
        assert "'lots'" in warning.text

    @pytest.mark.parametrize("wrong", [{"cpu": "lots"}, {"spec": {"containers": "none"}}, {"creationTimestamp": "today"}])
    def test_a_node_never_looks_idle_because_its_pod_does_not_read(self, wrong):
        broken = pod("bad", node="n1", **wrong)
        found = set_of(snapshot_of(broken, node("n1")), "bad")
        assert (found.node, found.state) == ("n1", PodState.BOUND)

    def test_an_object_without_a_name_is_a_warning_too(self):
        seen = snapshot_of({"kind": "Pod", "metadata": {}, "spec": {"containers": []}})
        assert [warning.text for warning in seen.warnings] == [
            "pod without a readable name is set aside: Object missing required field `name` - at `$.metadata`"
        ]

    def test_an_object_that_is_no_text_stops_no_other(self):
        found = Objects()
        found.add(listed(pod("a"), pod("b")).replace(b'"b"', b'"\xff"'))
        seen = reduce(found, cluster="c", taken_at=NOW)
        assert [one.names for one in seen.pods] == [("a",)]
        assert len(seen.warnings) == 1

    @pytest.mark.parametrize("item", [{"kind": 5}, 3, None])
    def test_an_item_of_no_kind_stops_no_other(self, item):
        assert set_of(snapshot_of(item, pod("a")), "a").names == ("a",)

    def test_kinds_that_nobody_reads_are_passed_over(self):
        assert snapshot_of({"kind": "ConfigMap", "metadata": {"name": "a"}}, {"kind": "Secret"}).warnings == ()


class TestReading:
    def test_items_of_a_pod_list_need_not_say_what_they_are(self):
        items = [{key: value for key, value in pod("a").items() if key != "kind"}]
        found = Objects()
        found.add(json.dumps({"items": items, "kind": "PodList"}).encode())
        assert set_of(reduce(found, cluster="c", taken_at=NOW), "a").names == ("a",)

    def test_a_list_without_items_is_empty(self):
        found = Objects()
        assert found.add(b'{"kind": "PodList", "items": null}').next_page == ""

    def test_a_single_object_reads_as_well_as_a_list(self):
        found = Objects()
        found.add(json.dumps(node("n1")).encode())
        assert [one.name for one in reduce(found, cluster="c", taken_at=NOW).nodes] == ["n1"]

    def test_order_and_paging_change_nothing(self):
        objects = [pod("a", cpu="1"), pod("b"), node("n1"), node("n2"), pod("c", node="n1"), budget(app="x")]
        forth, back = Objects(), Objects()
        forth.add(listed(*objects))
        for one in reversed(objects):
            back.add(json.dumps(one).encode())
        first, second = (reduce(found, cluster="c", taken_at=NOW) for found in (forth, back))
        assert encode(first) == encode(second)

    def test_what_was_read_may_be_reduced_again_and_again(self):
        found = Objects()
        found.add(listed(pod("a", cpu="1", labels={"app": "x"}), pod("b"), node("n1"), budget(app="x")))
        first, second = (encode(reduce(found, cluster="c", taken_at=NOW)) for _ in range(2))
        assert first == second

    def test_what_is_shared_is_not_kept_for_ever(self, monkeypatch):
        """A function stays warm for days, and every job has a name of its own."""
        monkeypatch.setattr(pods, "_MOST_SHARED", 2)
        reader = pods.SeenPods()
        kept = [reader.read(json.dumps(pod(f"p{n}", cpu="1", labels={"job": f"j{n}"})))[1] for n in range(50)]
        assert len(reader._shared) <= 3
        assert len({one.recipe for one in kept}) == 1

    def test_an_object_read_twice_counts_once(self):
        found = Objects()
        found.add(listed(pod("a")))
        found.add(listed(pod("a", node="n1")))
        assert [(one.names, one.node) for one in reduce(found, cluster="c", taken_at=NOW).pods] == [(("a",), "n1")]
