"""Free room, then what is coming, then nodes that we cordoned, and only then new nodes."""

import pytest

from spillway.model.cluster import PodState, Taint
from spillway.model.memory import Drain, Memory, OpenRequest, RequestState
from spillway.model.plan import Placement
from tests.builders import (
    GPU,
    ago,
    cluster,
    desired,
    group,
    instance,
    kept,
    node,
    open_request,
    places,
    plan_for,
    pod,
    policy,
    refusal,
    removed,
    tolerate,
)

BOOTING = Taint(key="node.kubernetes.io/not-ready", effect="NoSchedule")


@pytest.mark.feature("SO-01")
def test_one_plan_serves_the_whole_deficit() -> None:
    plan = plan_for(pod("train", count=1600, cpu="6", gpu=1), group("gpu", cpu="48", memory="192Gi", gpu=8, max_size=500))
    assert desired(plan) == {"gpu": 200}
    assert plan.summary.pods_on_new_nodes == 1600


@pytest.mark.feature("SO-01")
def test_a_pod_that_fits_several_groups_buys_one_node() -> None:
    plan = plan_for(pod(), group("a"), group("b"), group("c"))
    assert desired(plan) == {"a": 1}


@pytest.mark.feature("SO-02")
def test_a_pod_that_fits_a_live_node_buys_none() -> None:
    n1 = node("n1", cpu="4")
    plan = plan_for(n1, pod("busy", cpu="2500m", node="n1"), pod("p", cpu="1500m"), group("g", nodes=[n1]))
    assert not plan.has_steps
    assert plan.summary.pods_on_free_room == 1


@pytest.mark.feature("SO-02")
def test_room_on_a_physical_machine_counts() -> None:
    assert not plan_for(node("rack-7", ec2=False), pod(), group("g")).scale_out


@pytest.mark.feature("SO-02")
@pytest.mark.parametrize("state", [{"ready": False}, {"deleting": True}, {"unschedulable": True}])
def test_a_node_that_takes_no_pods_is_no_room(state: dict[str, bool]) -> None:
    assert desired(plan_for(node("rack-7", ec2=False, **state), pod(), group("g"))) == {"g": 1}


@pytest.mark.feature("SO-02")
def test_a_node_whose_instance_is_being_ended_is_no_room() -> None:
    n1 = node("n1")
    leaving = group("g", nodes=[n1], instances=[instance("n1", lifecycle="Terminating:Wait")])
    assert desired(plan_for(n1, pod(), leaving)) == {"g": 1}


def test_pods_of_a_node_that_leaves_find_new_nodes_before_they_are_gone() -> None:
    n1 = node("n1", deleting=True)
    assert desired(plan_for(n1, pod("web", cpu="3", node="n1"), group("old", nodes=[n1], max_size=1), group("g"))) == {"g": 1}


def test_of_pods_that_leave_only_a_stateful_one_comes_back_for_its_room() -> None:
    """A ReplicaSet has made its successor already, and nobody makes a bare pod anew."""
    n1 = node("n1", deleting=True)
    for one, nodes in (
        (pod("db-0", cpu="3", node="n1", owner="StatefulSet", state=PodState.TERMINATING), {"g": 1}),
        (pod("web", cpu="3", node="n1", state=PodState.TERMINATING), {}),
        (pod("bare", cpu="3", node="n1", owner=""), {}),
    ):
        assert desired(plan_for(n1, one, group("old", nodes=[n1], max_size=1), group("g"))) == nodes


@pytest.mark.feature("SO-02")
def test_busy_nodes_are_filled_before_empty_ones_so_that_these_can_go() -> None:
    empty, busy = node("a-empty"), node("b-busy")
    web, waiting = pod("web", node="b-busy"), pod("p")
    plan = plan_for(empty, busy, web, waiting, group("g", nodes=[empty, busy]), idle_since=ago(3600))
    assert places(plan, cluster(empty, busy, web, waiting)) == {"default/p": "b-busy"}
    assert removed(plan) == ["a-empty"]


@pytest.mark.feature("SO-02")
def test_filler_pods_below_the_cutoff_give_way() -> None:
    n1 = node("n1", cpu="2")
    assert not plan_for(n1, pod("filler", cpu="2", node="n1", priority=-15), pod(cpu="2"), group("g", nodes=[n1])).scale_out


@pytest.mark.feature("SO-02")
def test_a_nominated_pod_holds_the_room_it_waits_for() -> None:
    n1 = node("n1", cpu="4")
    waiting = pod("first", cpu="3", node="n1", state=PodState.NOMINATED)
    plan = plan_for(n1, waiting, pod("p", cpu="2"), group("g", nodes=[n1], cpu="4"))
    assert desired(plan) == {"g": 2}
    assert plan.placements[0] == Placement(target="n1", shape=waiting.shape.id, first=0, pods=1)


@pytest.mark.feature("SO-02")
def test_a_nominated_pod_and_a_waiting_one_of_its_shape_are_told_apart() -> None:
    n1 = node("n1", cpu="4")
    objects = [n1, pod("meant", cpu="2", node="n1", state=PodState.NOMINATED), pod("waits", cpu="2")]
    plan = plan_for(*objects, group("g", nodes=[n1]))
    assert not plan.scale_out
    assert places(plan, cluster(*objects)) == {"default/meant": "n1", "default/waits": "n1"}


@pytest.mark.feature("SO-03")
def test_an_instance_that_has_not_joined_yet_is_room() -> None:
    plan = plan_for(pod(cpu="3"), group("g", instances=[instance("new", lifecycle="Pending", age_s=60)]))
    assert not plan.has_steps
    assert [placement.target for placement in plan.placements] == ["i-new"]


@pytest.mark.feature("SO-03")
def test_an_instance_that_has_not_joined_in_the_provision_time_is_not() -> None:
    assert desired(plan_for(pod(cpu="3"), group("g", instances=[instance("lost", age_s=3600)]))) == {"g": 2}


@pytest.mark.feature("SO-03")
def test_a_gap_that_the_group_is_closing_is_room() -> None:
    plan = plan_for(pod(cpu="3", count=2), group("spot", desired=2, launching=2, launching_since=ago(45)), group("other"))
    assert not plan.has_steps
    assert plan.summary.pods_on_coming_nodes == 2


@pytest.mark.feature("SO-03")
def test_a_gap_that_aws_refused_is_none_and_the_pods_go_elsewhere() -> None:
    plan = plan_for(pod(cpu="3", count=2), group("spot", desired=2, price=0.1, failures=(refusal(60),)), group("other"))
    assert desired(plan) == {"other": 2}


@pytest.mark.feature("SO-03")
def test_a_launch_that_hangs_longer_than_the_provision_time_is_no_room() -> None:
    plan = plan_for(pod(cpu="3", count=2), group("hangs", desired=2, launching=2, launching_since=ago(3000)), group("other"))
    assert desired(plan) == {"other": 2}


@pytest.mark.feature("SO-03")
def test_an_open_request_of_ours_counts_as_coming_also_when_aws_has_refused_it() -> None:
    """Its owner takes it to the next group; a second plan that did the same would buy twice."""
    plan = plan_for(
        pod(cpu="3", count=2),
        group("g", desired=2, failures=(refusal(30),)),
        group("other"),
        memory=Memory(requests=(open_request(),)),
    )
    assert not plan.scale_out
    assert not plan.give_back


@pytest.mark.feature("SO-03")
@pytest.mark.parametrize("to_desired", [0, 2])  # not begun, and about to be raised
def test_a_request_that_is_written_down_but_not_yet_asked_for_counts_as_coming(to_desired: int) -> None:
    planned = Memory(requests=(open_request(state=RequestState.PLANNED, to_desired=to_desired),))
    assert not plan_for(pod(cpu="3", count=2), group("g", desired=0), memory=planned).scale_out


@pytest.mark.feature("SO-03")
@pytest.mark.parametrize(("hop", "orphan"), [(0, False), (1, False), (0, True)])
def test_a_request_that_was_raised_after_the_fleet_was_seen_counts_though_desired_does_not_show_it(
    hop: int, orphan: bool
) -> None:
    """An event starts a plan on heads of up to a minute ago; without this it would buy the whole burst a second time."""
    raised = Memory(requests=(open_request(asked_at=ago(-5), hop=hop, orphan=orphan),))
    assert not plan_for(pod(cpu="3", count=2), group("g", desired=0), memory=raised).scale_out
    more = plan_for(pod(cpu="3", count=3), group("g", desired=0), memory=raised).scale_out
    assert [(step.from_desired, step.to_desired) for step in more] == [(2, 3)]


@pytest.mark.feature("SO-03")
def test_what_was_asked_for_together_fits_together_also_when_first_come_first_served_would_not_see_it() -> None:
    """By age, 1 and 2 cores share a node and the 3 find no room; as they were packed, 3 and 1 do, and 2 and 2."""
    pods = [pod("old", cpu="1", age_s=900), pod("two", cpu="2", count=2, age_s=800), pod("young", cpu="3", age_s=700)]
    plan = plan_for(*pods, group("g", cpu="4", desired=2), memory=Memory(requests=(open_request(),)))
    assert not plan.scale_out
    assert plan.summary.pods_on_coming_nodes == 4


@pytest.mark.feature("SO-03")
@pytest.mark.parametrize("orphan", [open_request(orphan=True, state=RequestState.PLANNED), open_request(asked_at=ago(3000))])
def test_a_request_that_nobody_pursues_is_nothing(orphan: OpenRequest) -> None:
    plan = plan_for(pod(cpu="3", count=2), group("g", desired=0), memory=Memory(requests=(orphan,)))
    assert desired(plan) == {"g": 2}


@pytest.mark.feature("SO-10")
@pytest.mark.feature("SO-03")
def test_a_young_node_without_its_gpus_will_have_them() -> None:
    new = node("new", cpu="8", memory="32Gi", age_s=120)
    gpus = group("gpu", nodes=[new], cpu="8", memory="32Gi", gpu=2)
    assert not plan_for(new, pod("train", gpu=2), gpus).scale_out
    old = node("old", cpu="8", memory="32Gi", age_s=3600)
    gpus = group("gpu", nodes=[old], cpu="8", memory="32Gi", gpu=2)
    assert desired(plan_for(old, pod("train", gpu=2), gpus)) == {"gpu": 2}


@pytest.mark.feature("SO-10")
@pytest.mark.feature("SO-03")
@pytest.mark.parametrize(
    "key", ["node.cilium.io/agent-not-ready", "startup-taint.cluster-autoscaler.kubernetes.io/x", "mine/agent"]
)
def test_a_startup_taint_is_shed_in_time(key: str) -> None:
    taint = Taint(key=key, effect="NoSchedule", value="true")
    new = node("new", age_s=90, taints=[taint])
    own = policy(nodes={"startup_taints": ["mine/"]})
    assert not plan_for(new, pod(), group("g", nodes=[new], taints=[taint]), rules=own).scale_out
    assert desired(plan_for(pod(), group("g", taints=[taint]), rules=own)) == {"g": 1}


@pytest.mark.feature("SO-03")
@pytest.mark.parametrize("taints", [[BOOTING], []], ids=["tainted", "before its first taint"])
def test_a_node_that_is_not_ready_yet_is_coming(taints: list[Taint]) -> None:
    new = node("new", age_s=60, ready=False, taints=taints)
    plan = plan_for(new, pod(), group("g", nodes=[new]))
    assert not plan.has_steps
    assert plan.summary.pods_on_coming_nodes == 1


@pytest.mark.feature("SO-04")
def test_nodes_that_we_cordoned_come_back_and_count_against_what_is_launched() -> None:
    cordoned = [node(f"n{i}", unschedulable=True, cordon="an-old-plan") for i in range(2)]
    plan = plan_for(*cordoned, pod("p", cpu="3500m", count=3), group("g", nodes=cordoned))
    [step] = plan.scale_out
    assert (step.nodes, step.to_desired, step.uncordon) == (1, 3, ("n0", "n1"))
    assert sum(served.pods for served in step.serves) == 3


@pytest.mark.feature("SO-04")
def test_no_more_nodes_are_uncordoned_than_are_needed() -> None:
    cordoned = [node(f"n{i}", unschedulable=True, cordon="an-old-plan") for i in range(3)]
    [step] = plan_for(*cordoned, pod("p", cpu="3"), group("g", nodes=cordoned)).scale_out
    assert (step.nodes, step.uncordon) == (0, ("n0",))


@pytest.mark.feature("SO-04")
def test_a_node_that_a_live_run_drains_is_left_to_it() -> None:
    draining = node("n1", unschedulable=True, cordon="a-live-plan")
    memory = Memory(drains=(Drain(node="n1", plan_id="a-live-plan", step=1, since=ago(20)),))
    plan = plan_for(draining, pod(), group("g", nodes=[draining]), memory=memory)
    assert desired(plan) == {"g": 2}
    assert kept(plan) == {"n1": "draining"}


@pytest.mark.feature("SO-04")
def test_a_node_that_a_human_cordoned_never_comes_back_through_us() -> None:
    n1 = node("n1", unschedulable=True)
    [step] = plan_for(n1, pod(), group("g", nodes=[n1])).scale_out
    assert (step.nodes, step.uncordon) == (1, ())


@pytest.mark.feature("SO-02")
@pytest.mark.feature("SO-06")
def test_a_pod_that_tolerates_the_cordon_may_go_to_a_cordoned_node() -> None:
    """The scheduler's NodeUnschedulable plugin."""
    agent = pod("agent", tolerations=(tolerate("node.kubernetes.io/unschedulable", operator="Exists"),))
    assert not plan_for(node("rack-7", ec2=False, unschedulable=True), agent, group("g")).scale_out


@pytest.mark.feature("SO-02")
def test_devices_of_a_physical_machine_are_room_like_any_other() -> None:
    assert not plan_for(node("rack-7", gpu=8, ec2=False), pod(gpu=8), group("g")).scale_out
    assert GPU in pod(gpu=8).shape.requests
