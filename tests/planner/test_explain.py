"""The plan for programs: the contract's JSON, and who goes where."""

import json

from spillway.planner import explain
from tests.builders import cluster, fleet, group, instance, node, plan_for, pod


def test_the_document_has_the_contracts_keys_and_no_placements() -> None:
    found = explain.document(plan_for(pod("a", cpu="3"), pod("b", cpu="99"), node("rack-7", ec2=False, cpu="1"), group("g")))
    assert set(found) == {
        "schema_version", "plan_id", "cluster", "created_at", "policy_version", "snapshots", "summary",
        "scale_out", "scale_in", "give_back", "unserved", "kept", "warnings",
    }  # fmt: skip
    assert set(found["scale_out"][0]) == {
        "step", "region", "group", "from_desired", "to_desired", "nodes", "uncordon", "serves", "fallbacks", "gang", "reason",
    }  # fmt: skip
    assert set(found["unserved"][0]) == {"shape", "pods", "examples", "reasons"}
    assert found["summary"]["price_bound_usd_h"] is None
    assert json.loads(json.dumps(found)) == found


def test_assignments_name_nodes_instances_and_numbered_nodes_to_come() -> None:
    n1 = node("n1")
    objects = [n1, pod("a", cpu="4", count=4)]
    groups = [group("g", nodes=[n1], instances=[instance("new", lifecycle="Pending", age_s=30)], desired=3)]
    found = explain.assignments(plan_for(*objects, *groups), cluster(*objects), fleet(*groups))
    assert found == [
        {"node": "n1", "pods": ["default/a-0"]},
        {"node": "i-new", "pods": ["default/a-1"]},
        {"node": "g#0", "pods": ["default/a-2"]},
        {"node": "g#1", "pods": ["default/a-3"]},
    ]


def test_a_name_in_two_regions_is_told_with_its_region() -> None:
    one = pod("a", cpu="4")
    groups = [group("g"), group("g", region="us-west-2")]
    assert explain.assignments(plan_for(one, *groups), cluster(one), fleet(*groups))[0]["node"] == "us-east-1/g#0"
    assert explain.assignments(plan_for(one, *groups), cluster(one))[0]["node"] == "us-east-1/g#0"


def test_a_reason_carries_the_figures() -> None:
    plan = plan_for(pod("a", cpu="1500m", memory="6Gi", count=4), group("g"))
    assert plan.scale_out[0].reason.text == (
        "group g: 2 new nodes at 0.2 USD an hour for 4 pods of 1 shape that fit nowhere else and ask for 6 cpu, 24 GiB memory"
    )


def test_the_summary_adds_up() -> None:
    n1 = node("n1")
    plan = plan_for(n1, pod("a", cpu="4", count=3), pod("b", cpu="99"), group("g", nodes=[n1]))
    s = plan.summary
    assert (s.pods_pending, s.pods_on_free_room, s.pods_on_new_nodes, s.pods_unserved) == (4, 1, 2, 1)
    assert (s.nodes_new, s.price_usd_h_new, s.price_usd_h_before, s.price_usd_h_after) == (2, 0.4, 0.2, 0.6)
