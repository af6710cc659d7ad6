"""Pods as the snapshot holds them: their state, what they ask for, and who is told apart from whom."""

import json

import pytest

from spillway.kube.objects import Objects
from spillway.kube.reduce import reduce
from spillway.model.base import encode
from spillway.model.cluster import PodState
from spillway.model.reason import Code
from tests.kube.objects import NOW, budget, daemon_of, listed, node, pod, set_of, shape_of, snapshot_of

GIB = 1024**3


def containers(*requests: dict[str, str], **more: object) -> dict[str, object]:
    return {"containers": [{"name": f"c{at}", "resources": {"requests": r}} for at, r in enumerate(requests)], **more}


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

    def test_a_pod_being_deleted_holds_its_room(self):
        found = set_of(snapshot_of(pod("a", node="n1", deletionTimestamp="2026-01-01T00:00:00Z")), "a")
        assert (found.state, found.node) == (PodState.TERMINATING, "n1")

    @pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
    def test_a_finished_pod_is_in_no_snapshot(self, phase):
        assert snapshot_of(pod("a", node="n1", phase=phase)).pods == ()

    def test_a_waiting_pod_being_deleted_wants_nothing_any_more(self):
        assert snapshot_of(pod("a", deletionTimestamp="2026-01-01T00:00:00Z")).pods == ()

    def test_names_stand_oldest_first_then_by_name(self):
        late, early = pod("a", creationTimestamp="2025-12-31T23:59:00Z"), pod("c", creationTimestamp="2025-12-31T23:00:00Z")
        twin = pod("b", creationTimestamp="2025-12-31T23:00:00Z")
        assert set_of(snapshot_of(late, early, twin), "a").names == ("b", "c", "a")


class TestRequests:
    def test_an_init_container_counts_where_it_asks_for_more_than_the_rest_together(self):
        init = [{"name": "init", "resources": {"requests": {"cpu": "3", "memory": "1Gi"}}}]
        asked = shape_of(pod(spec=containers({"cpu": "1", "memory": "2Gi"}, {"cpu": "1"}, initContainers=init))).requests
        assert asked == {"cpu": 3000, "memory": 2 * GIB, "pods": 1}

    def test_a_sidecar_runs_beside_all_that_start_after_it(self):
        init = [
            {"name": "first", "resources": {"requests": {"cpu": "2"}}},
            {"name": "proxy", "restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}},
            {"name": "last", "resources": {"requests": {"cpu": "2"}}},
        ]
        assert shape_of(pod(spec=containers({"cpu": "1"}, initContainers=init))).requests["cpu"] == 2500

    def test_overhead_of_the_runtime_comes_on_top(self):
        assert shape_of(pod(spec=containers({"cpu": "1"}, overhead={"cpu": "250m"}))).requests["cpu"] == 1250

    def test_what_the_pod_asks_for_as_a_whole_stands_for_its_containers(self):
        spec = containers({"cpu": "1", "memory": "1Gi"}, resources={"requests": {"cpu": "3"}})
        assert shape_of(pod(spec=spec)).requests == {"cpu": 3000, "memory": GIB, "pods": 1}

    def test_a_limit_without_a_request_is_the_request(self):
        spec = {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "2"}}}]}
        assert shape_of(pod(spec=spec)).requests == {"nvidia.com/gpu": 2, "pods": 1}

    def test_a_pod_that_asks_for_nothing_takes_a_slot(self):
        assert shape_of(pod()).requests == {"pods": 1}

    @pytest.mark.parametrize(
        ("text", "millicores"), [("1e3", 1_000_000), ("1.5", 1500), ("0.5", 500), ("100m", 100), ("1n", 1), (2, 2000)]
    )
    def test_every_form_of_a_quantity_reads(self, text, millicores):
        assert shape_of(pod(cpu=text)).requests["cpu"] == millicores

    def test_fractions_are_summed_before_they_are_rounded_up(self):
        assert shape_of(pod(spec=containers({"cpu": "100u"}, {"cpu": "900u"}))).requests["cpu"] == 1

    def test_a_resize_under_way_counts_with_the_larger_of_wanted_and_held(self):
        shrinking = pod(node="n1", cpu="1")
        shrinking["status"] |= {
            "conditions": [{"type": "PodResizeInProgress", "status": "True"}],
            "containerStatuses": [
                {"name": "main", "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "3"}}}
            ],
        }
        assert shape_of(shrinking).requests["cpu"] == 3000

    def test_a_resize_that_the_node_cannot_do_counts_with_what_is_held(self):
        growing = pod(node="n1", cpu="64")
        growing["status"] |= {
            "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
            "containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "1"}}],
        }
        assert shape_of(growing).requests["cpu"] == 1000


class TestShapes:
    def test_pods_that_the_scheduler_cannot_tell_apart_are_one_shape(self):
        assert len(snapshot_of(pod("a", cpu="1"), pod("b", cpu="1000m")).shapes) == 1

    def test_labels_tell_pods_apart_only_where_a_selector_reads_them(self):
        web, db = pod("a", labels={"app": "web", "build": "7"}), pod("b", labels={"app": "db", "build": "8"})
        assert len(snapshot_of(web, db).shapes) == 1
        assert {shape.labels["app"] for shape in snapshot_of(web, db, budget(app="web")).shapes} == {"web", "db"}

    @pytest.mark.parametrize(
        "rule",
        [
            {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}]}}},
            {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm":
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}, "matchLabelKeys": ["app"]}}]}}},
            {"topologySpreadConstraints": [{"topologyKey": "topology.kubernetes.io/zone", "maxSkew": 1,
                "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchExpressions": [
                    {"key": "app", "operator": "In", "values": ["web"]}]}}]},
        ],
    )  # fmt: skip
    def test_every_kind_of_rule_makes_its_label_count(self, rule):
        assert shape_of(pod("a", labels={"app": "web"}), pod("b", spec=rule)).labels == {"app": "web"}

    def test_daemons_of_all_nodes_are_one_shape_though_each_is_pinned_to_its_node(self):
        def agent(on):
            pin = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}
            wanted = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [pin]}}
            return pod(f"agent-{on}", node=on, spec={"affinity": {"nodeAffinity": wanted}}, ownerReferences=daemon_of())

        seen = snapshot_of(agent("n1"), agent("n2"))
        assert len(seen.shapes) == 1
        assert seen.shapes[0].is_daemon

    def test_the_node_of_a_bound_pod_is_no_part_of_its_shape(self):
        assert len(snapshot_of(pod("a", node="n1"), pod("b", node="n2")).shapes) == 1

    def test_a_static_pod_comes_with_its_node(self):
        static = pod("a", node="n1", annotations={"kubernetes.io/config.mirror": "c0ffee"})
        assert shape_of(static).is_daemon

    def test_a_term_without_namespaces_means_the_pods_own(self):
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
        rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        (found,) = shape_of(pod(spec={"affinity": rule}, namespace="prod")).pod_anti_affinity
        assert (found.namespaces, found.namespace_selector) == (("prod",), None)

    def test_no_selector_matches_nothing_and_an_empty_one_everything(self):
        def selector(**given):
            spread = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **given}
            return shape_of(pod(spec={"topologySpreadConstraints": [spread]})).spread[0].selector

        assert selector() is None
        assert selector(labelSelector={}) == ()

    def test_host_ports_and_resource_claims_are_known(self):
        spec = {
            "containers": [{"name": "main", "ports": [{"containerPort": 80}, {"hostPort": 443, "protocol": "UDP"}]}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "disk"}}, {"name": "tmp", "ephemeral": {}}],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
        }
        shape = shape_of(pod("a", spec=spec))
        assert [(port.port, port.protocol, port.ip) for port in shape.host_ports] == [(443, "UDP", "0.0.0.0")]
        assert shape.resource_claims == ("one-gpu",)

    def test_tolerations_keep_their_operators(self):
        spec = {"tolerations": [{"operator": "Exists"}, {"key": "gpu", "value": "a", "effect": "NoSchedule"}]}
        found = [(t.key, t.operator, t.value, t.effect) for t in shape_of(pod(spec=spec)).tolerations]
        assert found == [("", "Exists", "", ""), ("gpu", "Equal", "a", "NoSchedule")]


class TestWhatDoesNotRead:
    def test_a_pod_with_a_bad_quantity_is_set_aside_by_name_and_the_others_stay(self):
        seen = snapshot_of(pod("good"), pod("bad", cpu="lots"))
        assert [pods.names for pods in seen.pods] == [("good",)]
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
        assert [pods.names for pods in seen.pods] == [("a",)]
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
        assert found.add(b'{"kind": "PodList", "items": null}') == ("", "")

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

    def test_an_object_read_twice_counts_once(self):
        found = Objects()
        found.add(listed(pod("a")))
        found.add(listed(pod("a", node="n1")))
        assert [(pods.names, pods.node) for pods in reduce(found, cluster="c", taken_at=NOW).pods] == [(("a",), "n1")]
