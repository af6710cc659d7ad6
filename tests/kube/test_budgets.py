"""PodDisruptionBudgets: how many of whose pods may go."""

from typing import Any

import pytest

from spillway.model.workloads import Budget
from tests.kube.objects import Object, pod, set_of, snapshot_of

pytestmark = pytest.mark.feature("CS-10")


def budget(name: str = "web", *, selector: Object | None = None, generation: int = 1, **spec: Any) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default", "generation": generation},
        "spec": {"minAvailable": 1} | ({} if selector is None else {"selector": selector}) | spec,
        "status": {
            "observedGeneration": 1, "disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1, "expectedPods": 4,
        },
    }  # fmt: skip


WEB = {"matchLabels": {"app": "web"}}


def selected(*budgets: Object) -> dict[str, list[str]]:
    """Pods by name of budget, of three that run: `web`, `db`, and `far` in another namespace."""
    pods = [
        pod("web", node="n1", labels={"app": "web", "tier": "front"}),
        pod("db", node="n1", labels={"app": "db"}),
        pod("far", node="n1", labels={"app": "web"}, namespace="other"),
    ]
    seen = snapshot_of(*pods, *budgets)
    shapes = {name: set_of(seen, name).shape for name in ("web", "db", "far")}
    return {one.name: [name for name, shape in shapes.items() if shape in one.shapes] for one in seen.budgets}


def read(one: Object) -> Budget:
    (found,) = snapshot_of(one).budgets
    return found


def test_its_status_says_how_many_may_go():
    assert read(budget(selector=WEB)) == Budget(namespace="default", name="web", allowed=2, healthy=3, desired=1, expected=4)


def test_it_selects_pods_of_its_namespace_by_their_labels():
    assert selected(budget(selector=WEB)) == {"web": ["web"]}


def test_a_pod_under_two_is_in_both():
    by_tier = {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}
    assert selected(budget("one", selector=WEB), budget("two", selector=by_tier)) == {"one": ["web"], "two": ["web"]}


def test_an_empty_selector_takes_all_pods_of_the_namespace_and_none_takes_none():
    assert selected(budget("all", selector={}), budget("none")) == {"all": ["web", "db"], "none": []}


@pytest.mark.parametrize(
    ("operator", "values", "found"),
    [
        ("In", ["web", "db"], ["web", "db"]),
        ("NotIn", ["web"], ["db"]),
        ("Exists", [], ["web", "db"]),
        ("DoesNotExist", [], []),
    ],
)
def test_each_operator(operator: str, values: list[str], found: list[str]):
    selector = {"matchExpressions": [{"key": "app", "operator": operator, "values": values}]}
    assert selected(budget(selector=selector)) == {"web": found}


def test_one_whose_newest_version_is_not_processed_says_so():
    assert (read(budget(generation=2)).processed, read(budget(generation=1)).processed) == (False, True)


def test_one_that_nobody_has_looked_at_yet_allows_nothing():
    fresh = budget()
    del fresh["status"]
    assert (read(fresh).allowed, read(fresh).processed) == (0, False)


@pytest.mark.parametrize(("policy", "may"), [("AlwaysAllow", True), ("IfHealthyBudget", False), (None, False)])
def test_whether_pods_that_are_not_ready_may_always_go(policy: str | None, may: bool):
    assert read(budget(unhealthyPodEvictionPolicy=policy)).evicts_unready is may


def test_they_are_in_order_whatever_the_order_of_the_list():
    assert [one.name for one in snapshot_of(budget("b"), budget("a")).budgets] == ["a", "b"]
