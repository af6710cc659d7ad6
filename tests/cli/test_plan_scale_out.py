"""`spillway plan` on dumps of clusters that need more."""

import pytest

from tests.cli.dumps import GPU, Dumps, desired, group, node, places, pod, types

GPU_TAINT = "nvidia.com/gpu=present:NoSchedule"
TOLERATES = {"tolerations": [{"key": GPU, "operator": "Exists"}]}


@pytest.mark.feature("SO-01")
@pytest.mark.parametrize(("pods", "nodes"), [(1, 1), (2000, 250)])
def test_the_whole_deficit_is_in_one_plan(dumps: Dumps, pods: int, nodes: int) -> None:
    waiting = pod("train", count=pods, cpu="4", memory="16Gi", gpu=1, spec=TOLERATES)
    plan = dumps.plan(dumps.write([waiting], {"us-east-1": [group("gpu", "p3.16xlarge", taints=[GPU_TAINT])]}))
    assert desired(plan) == {"us-east-1/gpu": (0, nodes)}
    assert plan["summary"]["pods_on_new_nodes"] == len(places(plan)) == pods
    assert plan["unserved"] == []


@pytest.mark.feature("SO-02")
def test_free_room_is_used_before_anything_is_bought_on_physical_nodes_too(dumps: Dumps) -> None:
    cluster = [
        node("a0", group="a"),
        node("physical", type="m5.xlarge", instance=None, ec2=None, spec={"providerID": "metal://rack-1/n1"}),
        pod("p", count=3, cpu="3", memory="1Gi"),
    ]
    plan = dumps.plan(dumps.write(cluster, {"us-east-1": [group("a")]}))
    assert set(places(plan).values()) == {"a0", "physical", "a#0"}
    assert desired(plan) == {"us-east-1/a": (1, 2)}
    assert (plan["summary"]["pods_on_free_room"], plan["summary"]["pods_on_new_nodes"]) == (2, 1)


@pytest.mark.feature("SO-04")
@pytest.mark.parametrize("marker", ["spillway.io/cordoned", "openai/cordoned-by-autoscaler"])
@pytest.mark.parametrize(("pods", "back", "launched"), [(1, 1, 0), (2, 2, 0), (5, 2, 3)])
def test_nodes_that_we_cordoned_come_back_before_new_ones_are_launched(
    dumps: Dumps, marker: str, pods: int, back: int, launched: int
) -> None:
    cordoned = {"unschedulable": True, "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]}
    cluster = [
        node("c0", group="a", labels={marker: "true"}, spec=cordoned),
        node("c1", group="a", labels={marker: "true"}, spec=cordoned),
        node("d0", group="a", spec=cordoned),
        pod("p", count=pods, cpu="3", memory="1Gi"),
    ]
    plan = dumps.plan(dumps.write(cluster, {"us-east-1": [group("a")]}))
    uncordoned = [name for step in plan["scale_out"] for name in step["uncordon"]]
    assert len(uncordoned) == back
    assert "d0" not in uncordoned, "somebody else cordoned it"
    assert sum(step["nodes"] for step in plan["scale_out"]) == launched
    assert len(places(plan)) == pods


@pytest.mark.feature("SO-22")
def test_each_step_carries_its_fallbacks_in_order_with_counts(dumps: Dumps) -> None:
    regions = {
        "us-east-1": [group("small", "small"), group("big", "big", max=3)],
        "us-west-2": [group("small", "small"), group("tiny", "tiny")],
    }
    cluster = [pod("p", count=8, cpu="4", memory="1Gi")]
    kinds = types(tiny=2, small=4, big=8)
    plan = dumps.plan(dumps.write(cluster, regions, types=kinds, meta={"home_region": "us-east-1"}))
    steps = {(step["region"], step["group"]): step["fallbacks"] for step in plan["scale_out"]}
    assert steps
    for (region, name), fallbacks in steps.items():
        order = [(other["region"], other["group"]) for other in fallbacks]
        assert (region, name) not in order
        assert ("us-west-2", "tiny") not in order, "it holds no pod"
        assert order == sorted(order, key=lambda other: other[0] != "us-east-1"), "the home region comes first"
        assert order[-1] == ("us-west-2", "small")
        pods = sum(served["pods"] for step in plan["scale_out"] if step["group"] == name for served in step["serves"])
        for other in fallbacks:
            assert other["nodes"] == -(-pods // {"small": 1, "big": 2}[other["group"]])


def test_a_pod_that_no_group_can_hold_has_a_reason_for_each_and_holds_up_nobody(dumps: Dumps) -> None:
    cluster = [
        pod("dream", cpu="1", memory="1Gi", gpu=16, spec=TOLERATES),
        pod("train", cpu="8", memory="8Gi", gpu=8, spec=TOLERATES),
        pod("web", count=3, cpu="1", memory="1Gi"),
    ]
    groups = [group("g5", "g5.48xlarge", taints=[GPU_TAINT]), group("g4", "g4dn.xlarge", taints=[GPU_TAINT]), group("cpu")]
    plan = dumps.plan(dumps.write(cluster, {"us-east-1": groups}))
    [unserved] = plan["unserved"]
    assert unserved["examples"] == ["default/dream"]
    assert [(reason["group"], reason["text"]) for reason in unserved["reasons"]] == [
        ("g5", "needs 16 nvidia.com/gpu, g5.48xlarge has 8"),  # the largest it could ask for comes first
        ("g4", "needs 16 nvidia.com/gpu, g4dn.xlarge has 1"),
        ("cpu", "needs 16 nvidia.com/gpu, m5.xlarge has 0"),
    ]
    without = dumps.plan(dumps.write(cluster[1:], {"us-east-1": groups}))
    assert places(plan) == places(without)
    assert desired(plan) == desired(without)


@pytest.mark.feature("SO-25")
def test_a_group_below_its_min_is_raised_and_one_above_its_max_is_left_alone(dumps: Dumps) -> None:
    cluster = [
        *(node(name, group="over") for name in ("a0", "a1", "a2")),
        pod("p", count=3, cpu="3", memory="1Gi", node=["a0", "a1", "a2"]),
    ]
    plan = dumps.plan(dumps.write(cluster, {"us-east-1": [group("under", min=2), group("over", max=1)]}))
    assert desired(plan) == {"us-east-1/under": (0, 2)}
    [step] = plan["scale_out"]
    assert step["reason"]["code"] == "below_min"
    assert plan["scale_in"] == plan["give_back"] == []


def test_the_policy_in_the_dump_holds(dumps: Dumps) -> None:
    cluster = [pod("p", count=4, cpu="3", memory="1Gi")]
    plan = dumps.plan(dumps.write(cluster, {"us-east-1": [group("a")]}, policy={"groups": {"a": {"max": 1}}}))
    assert desired(plan) == {"us-east-1/a": (0, 1)}
    assert plan["summary"]["pods_unserved"] == 3
