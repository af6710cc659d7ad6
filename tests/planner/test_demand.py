"""Which pods ask for nodes: those that the scheduler cannot place and that the policy means, and no others."""

from typing import Any

import msgspec
import pytest

from spillway import planner
from spillway.errors import PolicyError
from spillway.model.cluster import PodState
from spillway.model.memory import Memory
from spillway.model.policy import Policy
from spillway.model.policy_document import parse
from spillway.model.workloads import CapacityBuffer, ProvisioningRequest, RequestedPods
from spillway.planner.durations import duration_s
from tests.builders import (
    NOW,
    YESTERDAY,
    Pods,
    cluster,
    desired,
    fleet,
    group,
    kept,
    node,
    places,
    plan_for,
    pod,
    policy,
    removed,
)

OTHER = "kube-batch"  # a scheduler that writes no condition
ALL_AT_ONCE = {"budgets": [{"nodes": "100%"}]}


def selecting(**selector: Any) -> Policy:
    return policy(pods={"selector": selector})


@pytest.mark.feature("CS-04")
class TestStates:
    def test_a_pod_that_is_gated_unseen_or_a_daemon_asks_for_nothing(self) -> None:
        plan = plan_for(
            pod("gated", state=PodState.GATED),
            pod("unseen", state=PodState.UNSEEN),
            pod("agent", owner="DaemonSet"),
            pod("filler", priority=-11),
            pod("other", scheduler_name=OTHER),
            group("g"),
        )
        assert not plan.has_steps
        assert plan.summary.pods_pending == 0

    def test_pods_bound_to_a_node_that_does_not_exist_are_neither_load_nor_demand(self) -> None:
        """A dead node's pods stay until somebody deletes them; a controller has made others since."""
        ghosts = pod("ghost", cpu="3", count=5, node="gone")
        plan = plan_for(ghosts, node("n1"), group("g", nodes=[node("n1")]), idle_since=YESTERDAY)
        assert desired(plan) == {}
        assert removed(plan) == ["n1"]

    def test_a_pod_that_is_nominated_has_its_room(self) -> None:
        plan = plan_for(pod(state=PodState.NOMINATED, node="n1"), node("n1"), group("g", nodes=[node("n1")]))
        assert desired(plan) == {}


@pytest.mark.feature("CS-04")
class TestSchedulers:
    RULES = policy(pods={"scheduler_names": ["default-scheduler", OTHER], "bypass_scheduler_names": [OTHER]})

    def test_a_pod_that_a_bypassed_scheduler_has_not_placed_is_demand_at_once(self) -> None:
        plan = plan_for(pod(scheduler_name=OTHER, state=PodState.UNSEEN), group("g"), rules=self.RULES)
        assert desired(plan) == {"g": 1}

    def test_one_of_the_scheduler_that_does_write_conditions_is_not(self) -> None:
        assert desired(plan_for(pod(state=PodState.UNSEEN), group("g"), rules=self.RULES)) == {}

    def test_nor_is_one_that_a_gate_holds(self) -> None:
        plan = plan_for(pod(scheduler_name=OTHER, state=PodState.GATED), group("g"), rules=self.RULES)
        assert desired(plan) == {}

    def test_pods_of_one_shape_are_told_apart_by_name_whatever_was_said_of_them(self) -> None:
        seen = cluster(
            pod("judged", cpu="3", scheduler_name=OTHER),
            pod("unseen", cpu="3", scheduler_name=OTHER, state=PodState.UNSEEN),
            pod("nominated", cpu="3", scheduler_name=OTHER, state=PodState.NOMINATED, node="n1"),
            node("n1"),
        )
        supply = fleet(group("g", nodes=[node("n1")]))
        found = places(planner.plan(seen, supply, Memory(), self.RULES, NOW), seen)
        assert found == {"default/nominated": "n1", "default/judged": "g#0", "default/unseen": "g#1"}

    def test_a_bypassed_scheduler_must_be_one_of_those_whose_pods_count(self) -> None:
        with pytest.raises(PolicyError, match="kube-batch must be among scheduler_names, too"):
            parse({"pods": {"bypass_scheduler_names": [OTHER]}}, "test")


@pytest.mark.feature("CS-04")
class TestNamespaces:
    def test_only_pods_of_the_chosen_ones_are_demand(self) -> None:
        rules = policy(namespaces={"include": ["default", "dev"], "exclude": ["dev"]})
        waiting = [pod(space, namespace=space, cpu="3") for space in ("default", "dev", "x")]
        assert desired(plan_for(*waiting, group("g"), rules=rules)) == {"g": 1}

    def test_running_pods_of_the_others_keep_their_node(self) -> None:
        """An autoscaler that did not look at them would end busy nodes (seed W22)."""
        rules = policy(namespaces={"include": ["default"]}, scale_in=ALL_AT_ONCE)
        hosts = [node("n1"), node("n2")]
        plan = plan_for(pod(namespace="x", node="n1"), *hosts, group("g", nodes=hosts), rules=rules, idle_since=YESTERDAY)
        assert (removed(plan), kept(plan)) == (["n2"], {"n1": "no_place"})


@pytest.mark.feature("CS-04")
class TestSelector:
    @pytest.mark.parametrize(
        ("selector", "nodes"),
        [
            ({}, 1),
            ({"matchLabels": {"team": "ml"}}, 1),
            ({"matchLabels": {"team": "web"}}, 0),
            ({"matchExpressions": [{"key": "team", "operator": "In", "values": ["ml", "web"]}]}, 1),
            ({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["ml"]}]}, 0),
            ({"matchExpressions": [{"key": "legacy", "operator": "DoesNotExist"}]}, 1),
            ({"matchLabels": {"team": "ml"}, "matchExpressions": [{"key": "legacy", "operator": "Exists"}]}, 0),
        ],
    )
    def test_only_pods_that_it_matches_are_demand(self, selector: dict[str, Any], nodes: int) -> None:
        plan = plan_for(pod(labels={"team": "ml"}), group("g"), rules=selecting(**selector))
        assert sum(desired(plan).values()) == nodes

    def test_running_pods_keep_their_node_whatever_it_says(self) -> None:
        rules = Policy.model_validate({"pods": {"selector": {"matchLabels": {"team": "ml"}}}, "scale_in": ALL_AT_ONCE})
        hosts = [node("n1"), node("n2")]
        plan = plan_for(
            pod(node="n1", labels={"team": "web"}), *hosts, group("g", nodes=hosts), rules=rules, idle_since=YESTERDAY
        )
        assert removed(plan) == ["n2"]
        assert kept(plan)["n1"] == "no_place"

    @pytest.mark.parametrize(
        ("expression", "problem"),
        [
            ({"key": "a", "operator": "In"}, "values are missing beside In"),
            ({"key": "a", "operator": "Exists", "values": ["x"]}, "values must not stand beside Exists"),
            ({"key": "", "operator": "Exists"}, "pods.selector.matchExpressions"),
            ({"key": "a", "operator": "Gt", "values": ["1"]}, "pods.selector.matchExpressions"),
        ],
    )
    def test_one_that_kubernetes_would_refuse_is_refused(self, expression: dict[str, Any], problem: str) -> None:
        with pytest.raises(PolicyError, match=problem):
            parse({"pods": {"selector": {"matchExpressions": [expression]}}}, "test")

    def test_the_labels_that_it_reads_are_known_to_the_snapshot(self) -> None:
        rules = selecting(matchLabels={"team": "ml"}, matchExpressions=[{"key": "legacy", "operator": "Exists"}])
        assert rules.pod_label_keys == {"team", "legacy"}


@pytest.mark.feature("CS-11")
@pytest.mark.parametrize(
    ("owner", "comes_back"), [("StatefulSet", True), ("StatefulSet.apps.kruise.io", True), ("ReplicaSet", False), ("", False)]
)
def test_a_pod_that_leaves_its_node_comes_back_where_a_stateful_set_owns_it(owner: str, comes_back: bool) -> None:
    """Under its own name, so nothing waits for it yet; a ReplicaSet has made another long since."""
    leaving = [node("n1", deleting=True)]
    plan = plan_for(pod(node="n1", state=PodState.TERMINATING, owner=owner), *leaving, group("g", nodes=leaving))
    assert bool(desired(plan)) is comes_back


class TestWhatIsNotPlannedYet:
    """Said in a warning, never passed over in silence."""

    def warnings(self, *objects: Pods, **asked: Any) -> list[str]:
        plan = planner.plan(cluster(*objects, **asked), fleet(group("g")), Memory(), Policy(), NOW)
        return [warning.text for warning in plan.warnings if warning.code == "rules_not_judged"]

    def test_gangs_whose_pods_wait(self) -> None:
        seen = cluster(pod("a"), pod("b", node="n1"), node("n1"))
        pods = tuple(msgspec.structs.replace(one, gang=f"volcano/default/{one.names[0]}") for one in seen.pods)
        assert self.warnings(pods=pods, shapes=seen.shapes, nodes=seen.nodes) == [
            "the cluster asks for what is not planned yet: 1 gang to start together (their pods are planned one by one)"
        ]

    def test_room_that_is_asked_for_before_its_pods(self) -> None:
        asked = {
            "buffers": tuple(CapacityBuffer(namespace="default", name=name, pods=pods) for name, pods in (("a", 2), ("b", 0))),
            "provisioning_requests": (
                ProvisioningRequest(
                    namespace="default", name="r", class_name="x", pod_sets=(RequestedPods(shape="s", pods=1),)
                ),
            ),
        }
        assert self.warnings(**asked) == [
            "the cluster asks for what is not planned yet: 1 CapacityBuffer, 1 ProvisioningRequest"
        ]

    def test_nothing_where_nothing_is_asked_for(self) -> None:
        assert self.warnings(pod("a")) == []


@pytest.mark.feature("SO-20")
class TestDelays:
    KEY = "cluster-autoscaler.kubernetes.io/pod-scale-up-delay"

    def one(self, age_s: float, own: str) -> Pods:
        return pod(age_s=age_s, annotations={self.KEY: own} if own else {})

    @pytest.mark.parametrize(
        ("own", "age_s", "nodes"),
        [("", 299, 0), ("", 300, 1), ("10m", 599, 0), ("10m", 600, 1), ("1m", 299, 0), ("soon", 300, 1)],
    )
    def test_a_pod_waits_out_the_policys_delay_or_a_longer_one_of_its_own(self, own: str, age_s: float, nodes: int) -> None:
        plan = plan_for(self.one(age_s, own), group("g"), rules=policy(pods={"new_pod_delay_s": 300}))
        assert sum(desired(plan).values()) == nodes

    @pytest.mark.parametrize(
        ("text", "seconds"),
        [("15m", 900), ("1h30m", 5400), ("1.5h", 5400), ("90s", 90), ("500ms", 0.5), ("0", 0), (".5s", 0.5), ("+1s", 1)],
    )
    def test_durations_are_read_as_go_writes_them(self, text: str, seconds: float) -> None:
        assert duration_s(text) == pytest.approx(seconds)

    @pytest.mark.parametrize("text", ["", "5", "-5m", "m", "1d", "1h 30m", "9" * 4000 + "s", "9" * 18 + "h", "1h" * 3_000_000])
    def test_what_is_none_is_none(self, text: str) -> None:
        assert duration_s(text) is None

    @pytest.mark.feature("RS-06")
    def test_a_delay_of_any_length_stops_no_plan(self) -> None:
        plan = plan_for(self.one(300, "9" * 18 + "h"), group("g"), rules=policy(pods={"new_pod_delay_s": 300}))
        assert sum(desired(plan).values()) == 1


@pytest.mark.feature("CS-18")
class TestResourceClaims:
    CLAIMING = {"resource_claims": ("one-gpu",)}

    def test_their_pods_buy_no_node_and_the_claim_is_named(self) -> None:
        plan = plan_for(pod(**self.CLAIMING), group("g"))
        assert desired(plan) == {}
        (reason,) = plan.unserved[0].reasons
        assert reason.text == "resource claims (one-gpu) are not judged, so its pods buy no node"

    def test_nor_do_they_take_the_free_room_of_a_node(self) -> None:
        """Whether the devices are there nobody knows: the room is for those of which it is known."""
        hosts = [node("n1", cpu="2")]
        plan = plan_for(pod("claims", cpu="2", **self.CLAIMING), pod("plain", cpu="2"), *hosts, group("g", nodes=hosts))
        assert desired(plan) == {}
        assert plan.summary.pods_on_free_room == 1
        assert plan.unserved[0].examples == ("default/claims",)

    def test_a_node_that_runs_one_stays_and_says_why(self) -> None:
        hosts = [node("n1")]
        running = pod("trainer", node="n1", **self.CLAIMING)
        plan = plan_for(running, *hosts, group("g", nodes=hosts), idle_since=YESTERDAY)
        assert removed(plan) == []
        (one,) = plan.kept
        assert (one.reason.code, one.reason.text) == (
            "not_judged",
            "node n1 stays: default/trainer has resource claims (one-gpu), which are not judged",
        )

    def test_its_pods_are_never_taken_for_movable(self) -> None:
        """No room is bought for their successors when their node leaves: nobody knows what room that would be. Nor is room
        that is there kept for them."""
        leaving = [node("n1", deleting=True)]
        assert desired(plan_for(pod(node="n1", **self.CLAIMING), *leaving, group("g", nodes=leaving))) == {}
        assert desired(plan_for(pod(node="n1"), *leaving, group("g", nodes=leaving))) == {"g": 2}

        hosts = [*leaving, node("n2", cpu="2")]
        plan = plan_for(pod(node="n1", cpu="2", **self.CLAIMING), pod("plain", cpu="2"), *hosts, group("g", nodes=hosts))
        assert (desired(plan), plan.summary.pods_on_free_room) == ({}, 1)
