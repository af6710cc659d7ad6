"""Which groups are asked, how many nodes, and where the rest of a demand goes."""

from typing import Any

import pytest

from spillway import planner
from spillway.model.cluster import Taint
from spillway.model.fleet import Scope
from spillway.model.memory import Memory, Unavailable
from spillway.model.plan import Plan
from tests.builders import (
    NOW,
    ago,
    cluster,
    desired,
    fleet,
    group,
    node,
    open_request,
    plan_for,
    pod,
    policy,
    refusal,
    refusals,
    warned,
)

WEST = "us-west-2"


def test_the_cheapest_mix_is_bought_not_the_smallest_node() -> None:
    plan = plan_for(
        pod("p", cpu="2", count=8),
        group("small", cpu="2", memory="8Gi", price=0.11),
        group("large", cpu="16", memory="64Gi", price=0.7),
    )
    assert desired(plan) == {"large": 1}


def test_large_and_small_pods_share_nodes() -> None:
    plan = plan_for(pod("large", cpu="3", count=5), pod("small", cpu="1", count=5), group("g", cpu="4"))
    assert desired(plan) == {"g": 5}


def test_an_unknown_price_is_estimated_from_the_size_and_said() -> None:
    plan = plan_for(pod(cpu="3"), group("big", cpu="64", memory="256Gi", price=None), group("small", price=None))
    assert desired(plan) == {"small": 1}
    assert "price_unknown" in warned(plan)


def test_the_home_region_comes_first_and_the_next_takes_the_rest() -> None:
    plan = plan_for(pod(cpu="3500m", count=5), group("east", max_size=2, price=0.4), group("west", region=WEST, price=0.2))
    assert desired(plan) == {"east": 2, "west": 3}


def test_by_policy_the_cheapest_region_is_taken() -> None:
    plan = plan_for(
        pod(cpu="3500m", count=5),
        group("east", price=0.4),
        group("west", region=WEST, price=0.2),
        rules=policy(region_mode="cheapest"),
    )
    assert desired(plan) == {"west": 5}


def test_by_policy_regions_share_the_demand() -> None:
    plan = plan_for(
        pod(cpu="3500m", count=5),
        group("east", price=0.4),
        group("west", region=WEST, price=0.2),
        rules=policy(region_mode="spread"),
    )
    assert desired(plan) == {"east": 3, "west": 2}


def test_a_pod_bound_to_a_region_stays_there() -> None:
    plan = plan_for(
        pod(node_selector={"topology.kubernetes.io/region": WEST}), group("east", price=0.1), group("west", region=WEST)
    )
    assert desired(plan) == {"west": 1}


def test_a_region_that_the_policy_leaves_out_is_not_asked() -> None:
    plan = plan_for(pod(cpu="5"), group("east"), group("west", region=WEST, cpu="8"), rules=policy(regions=["us-east-1"]))
    assert refusals(plan) == {"east": "too_small", "west": "region_excluded"}


def test_a_region_that_did_not_answer_is_passed_over() -> None:
    plan = plan_for(pod(), group("east"), group("west", region=WEST), silent=["us-east-1"])
    assert desired(plan) == {"west": 1}
    assert "region_silent" in warned(plan)


def test_a_limit_truncates_and_never_blocks() -> None:
    demand = pod(cpu="3500m", count=30)
    assert desired(plan_for(demand, group("g", max_size=12))) == {"g": 12}
    assert desired(plan_for(demand, group("g", max_size=50), rules=policy(groups={"g": {"max": 8}}))) == {"g": 8}
    assert desired(plan_for(demand, group("g", max_size=50), rules=policy(scale_out={"limits": {"nodes": 7}}))) == {"g": 7}
    assert desired(plan_for(demand, group("g", max_size=50), rules=policy(scale_out={"limits": {"cpu": 21}}))) == {"g": 5}
    assert desired(plan_for(demand, group("g", max_size=50), rules=policy(scale_out={"limits": {"nodes_per_plan": 3}}))) == {
        "g": 3
    }


def test_what_runs_counts_against_a_limit() -> None:
    n1, foreign = node("n1"), node("rack-7", ec2=False, cpu="1")
    busy = [pod("a", cpu="4", node="n1"), pod("b", cpu="1", node="rack-7")]
    plan = plan_for(
        n1, foreign, *busy, pod(cpu="3", count=5), group("g", nodes=[n1]), rules=policy(scale_out={"limits": {"nodes": 4}})
    )
    assert desired(plan) == {"g": 3}
    assert refusals(plan) == {"g": "limit"}


def test_when_a_limit_leaves_somebody_out_it_is_the_lower_priority() -> None:
    plan = plan_for(
        pod("low", cpu="2", count=2, priority=1),
        pod("high", cpu="2", count=2, priority=1000),
        pod("none", cpu="2", count=2),
        group("g", max_size=2),
    )
    assert [(one.examples[0], one.pods) for one in plan.unserved] == [("default/none-0", 2)]


@pytest.mark.feature("SO-25")
def test_a_group_below_its_min_is_raised_and_the_nodes_are_used() -> None:
    plan = plan_for(pod(cpu="3"), group("g", desired=0), rules=policy(groups={"g": {"min": 2}}))
    assert desired(plan) == {"g": 2}
    assert plan.summary.pods_on_new_nodes == 1


@pytest.mark.feature("SO-25")
def test_a_group_below_its_min_is_raised_without_demand() -> None:
    [step] = plan_for(group("g", desired=1, min_size=3, instances=[])).scale_out
    assert (step.to_desired, step.reason.code) == (3, "below_min")


@pytest.mark.feature("SO-25")
def test_desired_above_max_is_left_alone() -> None:
    nodes = [node(f"n{i}") for i in range(3)]
    plan = plan_for(
        *nodes, *(pod(f"b{i}", cpu="4", node=f"n{i}") for i in range(3)), pod(), group("g", nodes=nodes, max_size=2)
    )
    assert not plan.has_steps
    assert refusals(plan) == {"g": "at_max"}


@pytest.mark.feature("SO-22")
def test_each_step_names_where_its_demand_goes_next() -> None:
    plan = plan_for(
        pod(cpu="3500m", count=6),
        group("first", price=0.1),
        group("double", cpu="8", memory="32Gi", price=0.4),
        group("same", price=0.3),
        group("west", region=WEST, price=0.2),
        group("tainted", taints=[Taint(key="x", effect="NoSchedule")]),
        group("small", cpu="2"),
        group("full", max_size=0),
    )
    [step] = plan.scale_out
    assert [(other.region, other.group, other.nodes) for other in step.fallbacks] == [
        ("us-east-1", "double", 3), ("us-east-1", "same", 6), (WEST, "west", 6),
    ]  # fmt: skip


@pytest.mark.feature("SO-22")
@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"cpu": 24}, [("double", 3), ("other", 6), ("gpus", 6)]),
        ({"cpu": 12}, [("double", 1), ("other", 3), ("gpus", 3)]),
        ({"nodes": 2}, [("double", 1), ("other", 2), ("gpus", 2)]),
        ({"nodes_per_plan": 2}, [("double", 1), ("other", 2), ("gpus", 2)]),
        ({"resources": {"nvidia.com/gpu": 2}}, [("double", 3), ("other", 6), ("gpus", 2)]),
        ({"memory": "16Gi"}, [("other", 1), ("gpus", 1)]),
    ],
)
def test_a_fallback_keeps_the_limits_as_if_the_step_had_not_been(
    limits: dict[str, object], expected: list[tuple[str, int]]
) -> None:
    plan = plan_for(
        pod(cpu="3500m", count=6),
        group("first", price=0.1),
        group("double", cpu="8", memory="32Gi", price=0.4),
        group("other", price=0.3),
        group("gpus", gpu=1, price=2.0),
        rules=policy(scale_out={"limits": limits}),
    )
    [step] = plan.scale_out
    assert sorted((other.group, other.nodes) for other in step.fallbacks) == sorted(expected)


@pytest.mark.feature("SO-22")
def test_a_fallback_holds_every_pod_of_the_step() -> None:
    plan = plan_for(
        pod("a", cpu="1"), pod("b", cpu="1", node_selector={"disk": "ssd"}),
        group("both", labels={"disk": "ssd"}), group("plain", price=0.9), group("ssd", labels={"disk": "ssd"}, price=0.9),
    )  # fmt: skip
    assert [other.group for other in plan.scale_out[0].fallbacks] == ["ssd"]


def test_equal_groups_share_the_nodes_evenly() -> None:
    plan = plan_for(pod(cpu="3500m", count=9), group("a"), group("b", zones=["us-east-1b"]), group("c", zones=["us-east-1c"]))
    assert desired(plan) == {"a": 3, "b": 3, "c": 3}


def test_gpu_groups_are_kept_for_gpu_pods_while_another_group_can_serve() -> None:
    gpus = group("gpu", cpu="64", memory="256Gi", gpu=8, price=0.5)
    assert desired(plan_for(pod(cpu="3", count=3), gpus, group("cpu", price=2.0))) == {"cpu": 3}
    assert desired(plan_for(pod(cpu="3", count=3), gpus, group("cpu", max_size=1))) == {"cpu": 1, "gpu": 1}
    assert desired(plan_for(pod(cpu="30"), gpus, group("cpu"))) == {"gpu": 1}


@pytest.mark.feature("SO-24")
def test_a_pod_that_no_group_can_hold_says_what_it_lacks_in_each_and_harms_nobody() -> None:
    plan = plan_for(
        pod("huge", gpu=16, cpu="8"), pod("fine"), group("g5", types=["g5.48xlarge"], gpu=8, cpu="192"), group("m5")
    )
    assert desired(plan) == {"m5": 1}
    [one] = plan.unserved
    assert [(reason.group, reason.text) for reason in one.reasons] == [
        ("g5", "needs 16 nvidia.com/gpu, g5.48xlarge has 8"),
        ("m5", "needs 8 cpu and 16 nvidia.com/gpu, m5.xlarge has 4 and 0"),
    ]


@pytest.mark.feature("SO-24")
def test_the_group_that_comes_nearest_is_named_first_so_that_its_node_is_the_largest_to_ask_for() -> None:
    plan = plan_for(pod("huge", gpu=16), *(group(name, gpu=gpus, cpu="96") for name, gpus in (("a", 4), ("b", 8), ("c", 1))))
    assert [reason.text.rpartition("has ")[2] for reason in plan.unserved[0].reasons] == ["8", "4", "1"]


@pytest.mark.feature("SO-24")
def test_each_group_gives_its_most_telling_reason() -> None:
    plan = plan_for(
        pod(cpu="3", node_selector={"disk": "ssd"}, count=2),
        group("taken", labels={"disk": "ssd"}, max_size=0),
        group("hdd", labels={"disk": "hdd"}),
        group("shut", labels={"disk": "ssd"}, suspended=("Launch",)),
        group("odd", readable=False),
        group("left-alone", labels={"disk": "ssd"}),
        group("tainted", labels={"disk": "ssd"}, taints=[Taint(key="x", effect="NoSchedule")]),
        rules=policy(groups={"left-alone": {"ignore": True}}),
    )
    assert refusals(plan) == {
        "taken": "at_max",
        "hdd": "selector",
        "shut": "suspended",
        "odd": "no_template",
        "left-alone": "ignored",
        "tainted": "taint",
    }


@pytest.mark.feature("SO-24")
def test_a_cluster_without_groups_says_so() -> None:
    assert refusals(plan_for(pod())) == {"": "no_groups"}


@pytest.mark.feature("SO-24")
def test_many_groups_are_folded_into_few_reasons() -> None:
    plan = plan_for(pod(cpu="99"), *(group(f"g{i:03}") for i in range(300)))
    assert len(plan.unserved[0].reasons) == 41
    assert plan.unserved[0].reasons[-1].text == "and 260 groups more for the like reason"


@pytest.mark.parametrize(
    ("scope", "key"),
    [
        ("group", "us-east-1/a"),
        ("region", "us-east-1"),
        ("quota", "us-east-1/on-demand/standard"),
        ("offering", "us-east-1/on-demand/m5.xlarge"),
        ("zone", "us-east-1/a/us-east-1a"),
    ],
)
def test_what_is_unavailable_is_passed_over_by_its_scope(scope: str, key: str) -> None:
    record = Unavailable(scope=scope, key=key, since=ago(60), until=ago(-240), reason="capacity: none")
    plan = plan_for(pod(), group("a", price=0.1), group("b", region=WEST), memory=Memory(unavailable=(record,)))
    assert desired(plan) == {"b": 1}


def test_a_group_with_a_zone_left_is_still_asked() -> None:
    record = Unavailable(scope="zone", key="us-east-1/wide/us-east-1a", since=ago(60), until=ago(-240))
    wide = group("wide", zones=["us-east-1a", "us-east-1b"])
    assert desired(plan_for(pod(), wide, memory=Memory(unavailable=(record,)))) == {"wide": 1}


def test_unavailable_groups_say_until_when() -> None:
    plan = plan_for(pod(), group("a", failures=(refusal(60, Scope.GROUP),)))
    assert f"until {ago(-240):%Y-%m-%d %H:%M:%S}" in plan.unserved[0].reasons[0].text
    assert plan.created_at == NOW


@pytest.mark.feature("OP-08")
@pytest.mark.parametrize("on_eks", ["version", "label"])
def test_on_eks_other_regions_are_refused_and_said_once(on_eks: str) -> None:
    labels = {"eks.amazonaws.com/nodegroup": "x"} if on_eks == "label" else {}
    plan = plan_for(
        node("n1", labels=labels, cpu="0"),
        pod(cpu="5"), pod("q", cpu="6"),
        group("east"), group("w1", region=WEST, cpu="8"), group("w2", region=WEST, cpu="8"),
        server_version="v1.34.1-eks-113cf36" if on_eks == "version" else "v1.34.1",
    )  # fmt: skip
    assert not plan.scale_out
    assert refusals(plan) == {"east": "too_small", "w1": "single_region", "w2": "single_region"}
    assert [warning.code for warning in plan.warnings].count("single_region") == 1


def test_elsewhere_other_regions_are_as_good() -> None:
    assert desired(plan_for(pod(cpu="5"), group("w1", region=WEST, cpu="8"), server_version="v1.34.1")) == {"w1": 1}


def test_the_seeds_order_is_region_single_zone_spot_name() -> None:
    rules = policy(scale_out={"objective": "seed_order"})
    many, single = group("a-many", zones=["us-east-1a", "us-east-1b"]), group("b-single", price=9.0)
    assert desired(plan_for(pod(), many, single, rules=rules)) == {"b-single": 1}
    assert desired(plan_for(pod(), group("a"), group("z", spot=True, price=9.0), rules=rules)) == {"z": 1}
    assert desired(plan_for(pod(), many, group("w", region=WEST), rules=rules)) == {"a-many": 1}


@pytest.mark.parametrize("mode", ["scale_in_only", "off"])
def test_modes_that_forbid_growth_grow_nothing(mode: str) -> None:
    cordoned = node("n1", unschedulable=True, cordon="old")
    plan = plan_for(cordoned, pod(), group("g", nodes=[cordoned], min_size=1), rules=policy(mode=mode))
    assert not plan.scale_out
    assert refusals(plan) == {"g": "disabled"}


def test_policy_fields_that_change_nothing_yet_are_named() -> None:
    rules = policy(
        scale_out={"objective": ["least-waste"], "headroom": {"fixed": {"cpu": "2"}}}, scale_in={"drift": True, "max_age_s": 9}
    )
    assert "rules_not_judged" in warned(plan_for(group("g"), rules=rules))


def test_scarce_groups_are_left_to_the_pods_that_have_no_other_choice() -> None:
    plan = plan_for(
        pod("large", cpu="30", memory="30Gi"),
        pod("small", cpu="2", count=16),
        group("scarce", cpu="32", memory="128Gi", price=0.8, max_size=1),
        group("plenty", cpu="4", price=0.3),
    )
    assert not plan.unserved
    assert desired(plan)["scarce"] == 1


def test_a_view_of_the_cluster_that_is_too_old_buys_nothing() -> None:
    supply = fleet(group("g"), group("low", min_size=2, desired=0))

    def seen(age_s: float) -> Plan:
        return planner.plan(cluster(pod(), taken_at=ago(age_s)), supply, Memory(), policy(), NOW)

    old = seen(181)
    assert not old.scale_out
    assert refusals(old) == {"g": "stale_view", "low": "stale_view"}
    assert "181 s old" in old.unserved[0].reasons[0].text
    assert seen(180).scale_out


def asked_before_it_fell_silent(seconds: float = 100, **fields: Any) -> Memory:
    return Memory(requests=(open_request(group="east", asked_at=ago(seconds), **fields),))


@pytest.mark.feature("EX-11")
def test_what_a_region_was_asked_for_before_it_fell_silent_is_coming_and_not_bought_again() -> None:
    """Nobody has seen yet that its desired capacity is higher now: the region last answered before that."""
    supply = [group("east"), group("west", region=WEST)]
    plan = plan_for(pod(cpu="3", count=2), *supply, memory=asked_before_it_fell_silent(), silent=["us-east-1"])
    assert (desired(plan), plan.summary.pods_on_coming_nodes) == ({}, 2)

    given_up = asked_before_it_fell_silent(missing=1)
    assert desired(plan_for(pod(cpu="3", count=2), *supply, memory=given_up, silent=["us-east-1"])) == {"west": 1}
    late = asked_before_it_fell_silent(seconds=1000)
    assert desired(plan_for(pod(cpu="3", count=2), *supply, memory=late, silent=["us-east-1"])) == {"west": 2}


@pytest.mark.feature("EX-11")
def test_nodes_of_a_silent_region_that_have_come_are_no_longer_coming() -> None:
    supply = [group("east"), group("west", region=WEST)]
    new = node("new", age_s=30, labels={"node.kubernetes.io/instance-type": "m5.xlarge"})
    busy = pod("busy", cpu="4", node="new")
    plan = plan_for(pod(cpu="3", count=2), new, busy, *supply, memory=asked_before_it_fell_silent(), silent=["us-east-1"])
    assert (desired(plan), plan.summary.pods_on_coming_nodes) == ({"west": 1}, 1)
