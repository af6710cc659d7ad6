"""deploy/rbac.yaml allows what the functions do, and nothing that they never do."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
import urllib3

from spillway.errors import ClusterForbidden
from spillway.kube import session as sessions
from spillway.kube.read import read
from spillway.kube.session import Session
from spillway.model.access import Access
from spillway.model.memory import OpenRequest
from spillway.model.plan import Eviction, Why
from spillway_local.handlers import ROOT
from spillway_local.kube_api import Cluster, FakeCluster
from spillway_local.kube_api.kinds import Kind, Kinds
from tests.kube import apis
from tests.kube.handlers import BINDING, ROLE, World, handlers_on, scale_in
from tests.kube.objects import node, pod

LETS_IN = ("system:discovery", "system:public-info-viewer")  # Kubernetes' own bindings, for everybody
RULES = [rule for rule in ROLE["rules"] if "resources" in rule]


def granted(verb: str = "") -> set[tuple[str, str]]:
    """(verb, resource) as `pods`, `pods/eviction`, `jobs.batch`; without what is granted for one name."""
    rules = [rule for rule in RULES if "resourceNames" not in rule]
    every = itertools.chain.from_iterable(itertools.product(r["verbs"], r["apiGroups"], r["resources"]) for r in rules)
    return {(one, f"{name}.{group}" if group else name) for one, group, name in every if verb in ("", one)}


def opened(api: Cluster, role: dict[str, Any]) -> AbstractContextManager[World]:
    """The functions come as a member of the group `spillway`, to a cluster with one node and one pod on it."""
    api.add(role)
    api.add(BINDING)
    api.add(node("n1"))
    api.add(pod("web", node="n1"))
    return handlers_on(api, user="spillway")


@pytest.fixture
def world(api_server: Cluster) -> Iterator[World]:
    """The role is applied as it is shipped, and the cluster has every API that it speaks of."""
    apis.install(api_server)
    with opened(api_server, ROLE) as world:
        yield world


def paths(kinds: Iterable[Kind]) -> Iterator[tuple[tuple[str, str], str, str]]:
    """Each (verb, resource) there is, as a request's method and path."""
    for kind in kinds:
        inside, group = kind.path("default" if kind.namespaced else ""), f".{kind.group}" if kind.group else ""
        for verb, method in (("list", "GET"), ("create", "POST"), ("deletecollection", "DELETE")):
            yield (verb, kind.qualified), method, inside
        yield ("watch", kind.qualified), "GET", f"{inside}?watch=true&timeoutSeconds=1"
        for sub in ("", *(f"/{name}" for name in kind.subresources)):
            verbs = {"get": "GET", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}
            if sub in ("/eviction", "/binding"):
                verbs = {"create": "POST"}
            elif sub:
                del verbs["delete"]
            for verb, method in verbs.items():
                yield (verb, f"{kind.plural}{sub}{group}"), method, f"{inside}/nobody{sub}"


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


@pytest.mark.feature("RS-02")
def test_it_is_enough_for_all_that_the_functions_do(world: World):
    one_of_everything(world)


@pytest.mark.feature("RS-02")
def test_it_is_not_too_much(world: World):
    one_of_everything(world)

    assert {(verb, name.partition(".")[0]) for verb, name in granted() if verb != "watch"} - set(world.api.requests) == set()
    assert granted("watch") == {("watch", name) for _, name in granted("list")}


@pytest.mark.feature("CS-03")
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: "-".join((*rule["apiGroups"], *rule["resources"])))
def test_without_a_rule_the_error_names_the_verb_and_the_resource(api_server: Cluster, rule: dict[str, Any]):
    custom = {f"{plural}.{group}" for group in rule["apiGroups"] for plural in rule["resources"]}
    apis.install(api_server, *(one.kind for one in apis.NEWEST if one.name in custom))
    without = {**ROLE, "rules": [one for one in ROLE["rules"] if one != rule]}
    with opened(api_server, without) as world, pytest.raises(ClusterForbidden, match=r"Apply deploy/rbac\.yaml") as caught:
        one_of_everything(world)
    lost = {(verb, name.partition("/")[0].partition(".")[0]) for verb in rule["verbs"] for name in rule["resources"]}
    assert (caught.value.verb, caught.value.resource.partition(".")[0].partition("/")[0]) in lost


@pytest.mark.feature("CS-03")
@pytest.mark.parametrize("verb", ["get", "list", "patch", "delete"])
def test_each_right_on_nodes_is_missed_by_name(api_server: Cluster, verb: str):
    nodes = next(rule for rule in RULES if rule["resources"] == ["nodes"])
    fewer = {**nodes, "verbs": [one for one in nodes["verbs"] if one != verb]}
    role = {**ROLE, "rules": [fewer if rule is nodes else rule for rule in ROLE["rules"]]}
    with opened(api_server, role) as world, pytest.raises(ClusterForbidden, match=f"does not allow to {verb} nodes"):
        one_of_everything(world)


def test_an_older_role_serves_a_cluster_that_has_none_of_the_newer_apis(api_server: Cluster):
    """What the server does not have is not asked for, so that no right to it is missed."""
    newer = {one.group_version.partition("/")[0] for one in apis.NEWEST}
    older = [rule for rule in ROLE["rules"] if newer.isdisjoint(rule.get("apiGroups", ()))]
    with opened(api_server, {**ROLE, "rules": older}) as world:
        one_of_everything(world)


def is_open(api: Cluster) -> bool:
    """Whether the functions' user, who is bound to no role of ours yet, may ask what there is."""
    session = Session(Access("prod", api.url, token=api.tokens["spillway"]))
    try:
        return all(session.call("GET", path, ("get", path)).status == 200 for path in ("/version", "/apis"))
    except ClusterForbidden:
        return False


def wait_until(is_so: Callable[[], bool]) -> None:
    """A real authorizer follows its roles some milliseconds behind."""
    assert any(is_so() for _ in range(1000))


@contextmanager
def nobody_let_in(api: Cluster) -> Iterator[None]:
    """Kubernetes lets everybody in by these bindings, unless an administrator empties them."""
    if isinstance(api, FakeCluster):
        api.access.discovery = False
        yield
        return
    bindings = [found for name in LETS_IN if (found := api.get("ClusterRoleBinding", name))]
    assert len(bindings) == len(LETS_IN)
    try:
        for one in bindings:
            api.edit("ClusterRoleBinding", one["metadata"]["name"], lambda body: body.update(subjects=[]))
        wait_until(lambda: not is_open(api))
        yield
    finally:
        for one in bindings:
            subjects = one["subjects"]
            api.edit(
                "ClusterRoleBinding", one["metadata"]["name"], lambda body, subjects=subjects: body.update(subjects=subjects)
            )
        wait_until(lambda: is_open(api))


@pytest.mark.feature("CS-03")
@pytest.mark.parametrize(
    ("paths", "missing"), [((), "/version"), (("/version",), "/apis"), (("/version", "/apis"), "/apis/resource")]
)
def test_where_discovery_is_not_open_to_all_each_path_is_missed_by_its_name(
    api_server: Cluster, paths: tuple[str, ...], missing: str
):
    role = {**ROLE, "rules": [*RULES, *([{"nonResourceURLs": list(paths), "verbs": ["get"]}] if paths else [])]}
    with (
        nobody_let_in(api_server), opened(api_server, role) as world,
        pytest.raises(ClusterForbidden, match=f"does not allow to get {missing}"),
    ):  # fmt: skip
        world.call("snapshot_cluster")


def test_where_discovery_is_not_open_to_all_the_role_opens_it(api_server: Cluster):
    with nobody_let_in(api_server), opened(api_server, ROLE) as world:
        assert world.call("snapshot_cluster")["nodes"] == 1


@pytest.mark.feature("RS-02")
def test_the_server_refuses_all_else(world: World):
    """Nothing is left out: secrets, deletes of pods, their status, bindings, writes to the roles themselves."""
    custom = [Kind(*one.group_version.split("/"), one.kind.partition(".")[0], one.plural) for one in apis.NEWEST]
    asked = list(paths([*Kinds(), *custom]))
    assert {("delete", "pods"), ("get", "secrets"), ("patch", "pods/status"), ("list", "configmaps")} <= {
        pair for pair, _, _ in asked
    }
    headers = {"Authorization": f"Bearer {world.api.tokens['spillway']}", "Content-Type": "application/merge-patch+json"}
    with urllib3.PoolManager(retries=False) as http:
        answers = {}
        for pair, method, path in asked:
            body = None if method == "GET" else b"{}"
            answer = http.request(method, world.api.url + path, headers=headers, body=body, preload_content=False)
            answers[pair] = answer.status
            answer.close()  # its head has told: nobody waits for a watch to end
    let_in = {pair for pair, status in answers.items() if status != 403}
    assert let_in == granted()


def test_without_the_role_nothing_is_allowed(api_server: Cluster):
    session = Session(Access("prod", api_server.url, token=api_server.tokens["spillway"]))
    with pytest.raises(ClusterForbidden, match="list nodes"):
        read(session)
    sessions.close()


@pytest.mark.feature("RS-02")
def test_no_wildcards_and_no_way_round_the_budgets():
    assert not any("*" in str(rule) for rule in ROLE["rules"] if "resources" in rule)
    assert ("delete", "pods") not in granted()


def test_the_role_is_bound_to_the_group_of_the_access_entries():
    assert BINDING["roleRef"]["name"] == ROLE["metadata"]["name"]
    (subject,) = BINDING["subjects"]
    assert (subject["kind"], subject["name"]) == ("Group", "spillway")
    assert f"KubernetesGroups: [{subject['name']}]" in (ROOT / "template.yaml").read_text()
