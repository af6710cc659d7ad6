"""`spillway plan`: which pods of a dump are demand, and what is said of those that are not."""

import pytest

from tests.cli.dumps import Dumps, desired, group, node, places, pod

CLAIMS = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]}
IDLE = ("--assume-idle-since", "2025-12-31T00:00:00Z")


@pytest.mark.feature("CS-18")
def test_resource_claims_are_named_in_unserved_and_in_kept(dumps: Dumps) -> None:
    cluster = [
        node("n1", group="a"),
        pod("runs", cpu="1", memory="1Gi", node="n1", spec=CLAIMS),
        pod("waits", cpu="1", memory="1Gi", spec=CLAIMS),
    ]
    plan = dumps.plan(dumps.write(cluster, {"us-east-1": [group("a")]}), *IDLE)
    assert (desired(plan), plan["scale_in"]) == ({}, [])
    assert [reason["text"] for reason in plan["unserved"][0]["reasons"]] == [
        "resource claims (one-gpu) are not judged, so its pods buy no node"
    ]
    assert [one["reason"]["text"] for one in plan["kept"]] == [
        "node n1 stays: default/runs has resource claims (one-gpu), which are not judged"
    ]


@pytest.mark.feature("CS-04")
def test_the_policys_selector_reads_labels_that_nothing_else_reads(dumps: Dumps) -> None:
    cluster = [
        node("n1", group="a"),
        pod("web", cpu="2", memory="1Gi", node="n1", labels={"team": "web"}),
        pod("ml", cpu="3", memory="1Gi", labels={"team": "ml"}),
        pod("other", cpu="3", memory="1Gi", labels={"team": "web"}),
    ]
    rules = {"pods": {"selector": {"matchLabels": {"team": "ml"}}}}
    plan = dumps.plan(dumps.write(cluster, {"us-east-1": [group("a")]}, policy=rules), *IDLE)
    assert desired(plan) == {"us-east-1/a": (1, 2)}
    assert set(places(plan)) == {"default/ml"}
    assert [one["reason"]["code"] for one in plan["kept"]] == ["no_place"]


@pytest.mark.feature("CS-04")
def test_what_a_bypassed_scheduler_left_is_demand(dumps: Dumps) -> None:
    unseen = pod("p", cpu="3", memory="1Gi", spec={"schedulerName": "batch"}, status={"phase": "Pending", "conditions": []})
    rules = {"pods": {"scheduler_names": ["default-scheduler", "batch"], "bypass_scheduler_names": ["batch"]}}
    plan = dumps.plan(dumps.write([unseen], {"us-east-1": [group("a")]}, policy=rules))
    assert set(places(plan)) == {"default/p"}
