"""deploy/rbac.yaml allows what the functions do, and nothing that they never do."""

from collections.abc import Iterator
from typing import Any

import pytest
import urllib3
import yaml

from spillway.errors import ClusterForbidden
from spillway.kube import session as sessions
from spillway.kube.read import read
from spillway.kube.session import Session
from spillway.model.access import Access
from spillway.model.memory import OpenRequest
from spillway.model.plan import Eviction, Why
from spillway_local.handlers import ROOT
from spillway_local.kube_api import Cluster
from spillway_local.kube_api.kinds import Kinds
from tests.kube.handlers import World, handlers_on, scale_in
from tests.kube.objects import node, pod

ROLE, BINDING = yaml.safe_load_all((ROOT / "deploy" / "rbac.yaml").read_text())


def granted() -> set[tuple[str, str]]:
    """Without what is granted by name, and what only some clusters have."""
    rules = [rule for rule in ROLE["rules"] if "resources" in rule and "resourceNames" not in rule]
    here = {(kind.group, kind.plural) for kind in Kinds()}
    return {
        (verb, resource)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if (group, resource.partition("/")[0]) in here
    }


@pytest.fixture
def world(api_server: Cluster) -> Iterator[World]:
    """The functions come as a member of the group `spillway`, and the role is applied as it is shipped."""
    api_server.add(ROLE)
    api_server.add(BINDING)
    api_server.add(node("n1"))
    api_server.add(pod("web", node="n1"))
    with handlers_on(api_server, user="spillway") as opened:
        yield opened


def paths() -> Iterator[tuple[tuple[str, str], str, str]]:
    """Each (verb, resource) there is, as a request's method and path."""
    for kind in Kinds():
        inside = kind.path("default" if kind.namespaced else "")
        for verb, method in (("list", "GET"), ("create", "POST"), ("deletecollection", "DELETE")):
            yield (verb, kind.plural), method, inside
        yield ("watch", kind.plural), "GET", f"{inside}?watch=true&timeoutSeconds=1"
        for sub in ("", *(f"/{name}" for name in kind.subresources)):
            verbs = {"get": "GET", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}
            if sub in ("/eviction", "/binding"):
                verbs = {"create": "POST"}
            elif sub:
                del verbs["delete"]
            for verb, method in verbs.items():
                yield (verb, kind.plural + sub), method, f"{inside}/nobody{sub}"


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

    assert {pair for pair in granted() if pair[0] != "watch"} - set(world.api.requests) == set()


def test_the_server_refuses_all_else(world: World):
    """Nothing is left out: secrets, deletes of pods, their status, bindings, writes to the roles themselves."""
    asked = list(paths())
    assert {("delete", "pods"), ("get", "secrets"), ("patch", "pods/status"), ("update", "clusterroles")} <= {
        pair for pair, _, _ in asked
    }
    headers = {"Authorization": f"Bearer {world.api.tokens['spillway']}", "Content-Type": "application/merge-patch+json"}
    with urllib3.PoolManager(retries=False) as http:
        answers = {
            pair: http.request(method, world.api.url + path, headers=headers, body=None if method == "GET" else b"{}").status
            for pair, method, path in asked
        }
    let_in = {pair for pair, status in answers.items() if status != 403}
    assert let_in == granted()


def test_without_the_role_nothing_is_allowed(api_server: Cluster):
    session = Session(Access("prod", api_server.url, token=api_server.tokens["spillway"]))
    with pytest.raises(ClusterForbidden, match="list nodes"):
        read(session)
    sessions.close()


def test_no_wildcards_and_no_way_round_the_budgets():
    assert not any("*" in str(rule) for rule in ROLE["rules"] if "resources" in rule)
    assert ("delete", "pods") not in granted()


def test_the_role_is_bound_to_the_group_of_the_access_entries():
    assert BINDING["roleRef"]["name"] == ROLE["metadata"]["name"]
    (subject,) = BINDING["subjects"]
    assert (subject["kind"], subject["name"]) == ("Group", "spillway")
    assert f"KubernetesGroups: [{subject['name']}]" in (ROOT / "template.yaml").read_text()
