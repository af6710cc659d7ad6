"""deploy/rbac.yaml allows what the functions do, and nothing that they never do."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from spillway.model.memory import OpenRequest
from spillway.model.plan import Eviction, Why
from spillway_local.handlers import ROOT
from tests.kube.handlers import World, open_handlers, scale_in
from tests.kube.objects import node, pod

ROLE, BINDING = yaml.safe_load_all((ROOT / "deploy" / "rbac.yaml").read_text())


def granted() -> set[tuple[str, str]]:
    return {(verb, resource) for rule in ROLE["rules"] for resource in rule.get("resources", ()) for verb in rule["verbs"]}


@pytest.fixture
def world() -> Iterator[World]:
    with open_handlers() as opened:
        opened.api.add(node("n1"))
        opened.api.add(pod("web", node="n1"))
        opened.api.allow(granted())
        yield opened


def one_of_everything(world: World) -> None:
    """Each function once, over the whole of a drain."""
    from spillway.aws.table import requests

    step: dict[str, Any] = {"plan_id": "p1", "step": 2, "region": "us-east-1", "group": "a", "asked_at": world.time.now()}
    request = OpenRequest(id="p1#2#0", hop=0, from_desired=0, to_desired=1, nodes=1, instances=("i-0b",), **step)
    assert requests.create(world.table, request)
    world.plan(scale_in=(scale_in(why=Why.UNDERUTILISED, evict=(Eviction(pod="default/web", tier=0),)),))
    world.call("snapshot_cluster")
    world.call("verify_nodes", region="us-east-1")
    assert world.call("drain", action="begin", step=1)["status"] == "draining"
    assert world.call("drain", action="evict", step=1)["evicted"] == 1
    assert world.call("remove_node", step=1) == {"status": "removed"}


def test_it_is_enough(world: World):
    one_of_everything(world)


def test_it_is_not_too_much(world: World):
    one_of_everything(world)

    assert granted() - set(world.api.requests) == set()


def test_no_wildcards_and_no_way_round_the_budgets():
    assert not any("*" in str(rule) for rule in ROLE["rules"])
    assert ("delete", "pods") not in granted()


def test_the_role_is_bound_to_the_group_of_the_access_entries():
    assert BINDING["roleRef"]["name"] == ROLE["metadata"]["name"]
    (subject,) = BINDING["subjects"]
    assert (subject["kind"], subject["name"]) == ("Group", "spillway")
    assert f"KubernetesGroups: [{subject['name']}]" in (ROOT / "template.yaml").read_text()
