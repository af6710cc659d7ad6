"""The checker knows what a node says by itself, as the scheduler's documentation and code have it."""

import ast
from pathlib import Path
from typing import Any

import pytest

from tests.fit import amounts, checker, node_filters, pod_filters, selectors, state, volume_filters
from tests.fit.checker import refusals
from tests.fit.manifests import HOSTNAME, ZONE, node, on_nodes, pod, ports, where, with_ports
from tests.fit.state import State

MODULES = (amounts, checker, node_filters, pod_filters, selectors, state, volume_filters)


def why(one: dict[str, Any], *objects: dict[str, Any], on: str = "n1") -> list[str]:
    """Plugins that keep the pod off node `on` of a cluster of `objects`."""
    return refusals(State([*objects, one]), one, on)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_the_checker_shares_no_code_with_what_it_checks(module: Any) -> None:
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert not any(name.startswith("spillway") for name in imported)


def test_a_pod_that_nothing_keeps_away_may_come() -> None:
    assert why(pod(cpu="4"), node()) == []


def test_a_pod_that_names_its_node_goes_nowhere_else() -> None:
    pinned = pod(nodeName="n2")
    state = State([node("n1"), node("n2")])
    assert refusals(state, pinned, "n1") == ["NodeName"]
    assert refusals(state, pinned, "n2") == []


@pytest.mark.parametrize(
    ("asked", "running", "fits"),
    [("2", "2", True), ("2001m", "2", False), ("0.5", "3500m", True), ("", "4", True), ("100m", "5", False)],
)
def test_cpu_that_runs_is_taken_and_who_asks_for_none_needs_none(asked: str, running: str, fits: bool) -> None:
    assert why(pod(cpu=asked), node(), pod("r", "n1", cpu=running)) == ([] if fits else ["NodeResourcesFit"])


def test_a_node_has_as_many_slots_as_it_says_and_pods_that_ended_hold_none() -> None:
    ended = pod("done", "n1")
    ended["status"]["phase"] = "Succeeded"
    assert why(pod(), node(pods="1"), ended) == []
    assert why(pod(), node(pods="1"), pod("r", "n1")) == ["NodeResourcesFit"]


def test_init_containers_and_sidecars_and_overhead_count_as_the_kubelet_runs_them() -> None:
    def asking(cpu: str, **fields: str) -> dict[str, Any]:
        return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **fields}

    spec = {
        "containers": [asking("1")], "overhead": {"cpu": "250m"},
        "initContainers": [asking("500m", restartPolicy="Always"), asking("2"), asking("100m", restartPolicy="Always")],
    }  # fmt: skip
    assert amounts.requests({"spec": spec})["cpu"] == 2500 + 250
    assert amounts.requests({"spec": {**spec, "resources": {"requests": {"cpu": "3"}}}})["cpu"] == 3000 + 250
    limited = {"containers": [{"resources": {"limits": {"memory": "1Ki"}}}]}
    assert amounts.requests({"spec": limited})["memory"] == 1024


@pytest.mark.parametrize(
    ("written", "units"), [("1", 1), ("1.5Gi", 3 * 2**29), ("100m", 1), ("12e3", 12000), ("1E", 10**18), (2, 2), ("0.3Ki", 308)]
)
def test_quantities_are_rounded_up_to_whole_units(written: Any, units: int) -> None:
    assert amounts.amount("memory", written) == units


def test_every_resource_counts_also_one_that_the_node_does_not_have() -> None:
    gpu = pod(cpu="1")
    gpu["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "1"
    assert why(gpu, node()) == ["NodeResourcesFit"]
    assert why(gpu, node(**{"nvidia.com/gpu": "1"})) == []


def test_selector_and_one_term_of_the_affinity_hold_together() -> None:
    either = on_nodes(
        {"matchExpressions": [where("gen", "Gt", "5"), where(ZONE, "NotIn", "b")]},
        {"matchFields": [where("metadata.name", "In", "n9")]},
    )
    wanted = pod(nodeSelector={"disk": "ssd"}, affinity=either)
    assert why(wanted, node(labels={"disk": "ssd", "gen": "6"})) == []
    assert why(wanted, node("n9", labels={"disk": "ssd"}), on="n9") == []
    assert why(wanted, node(labels={"disk": "ssd", "gen": "5"})) == ["NodeAffinity"]
    assert why(wanted, node(labels={"gen": "6"})) == ["NodeAffinity"]
    assert why(wanted, node(zone="b", labels={"disk": "ssd", "gen": "6"})) == ["NodeAffinity"]


@pytest.mark.parametrize("terms", [[], [{}], [{"matchExpressions": []}]])
def test_an_affinity_without_terms_and_a_term_without_requirements_match_no_node(terms: list[Any]) -> None:
    assert why(pod(affinity=on_nodes(*terms)), node()) == ["NodeAffinity"]


@pytest.mark.parametrize(
    ("operator", "values", "have"),
    [
        ("NotIn", ["x"], {}),
        ("DoesNotExist", [], {}),
        ("Exists", [], {"k": ""}),
        ("Gt", ["-3"], {"k": "-2"}),
        ("Lt", ["7"], {"k": "6"}),
    ],
)
def test_a_requirement_that_holds(operator: str, values: list[str], have: dict[str, str]) -> None:
    assert selectors.holds(where("k", operator, *values), have)


@pytest.mark.parametrize(
    ("operator", "values", "have"),
    [
        ("In", ["x"], {}),
        ("Exists", [], {}),
        ("Gt", ["5"], {"k": "x"}),
        ("Gt", ["5"], {}),
        ("Lt", ["x"], {"k": "3"}),
        ("Gt", ["1"], {"k": str(2**63)}),
    ],
)
def test_a_requirement_that_does_not_hold(operator: str, values: list[str], have: dict[str, str]) -> None:
    assert not selectors.holds(where("k", operator, *values), have)


BATCH = {"key": "dedicated", "value": "batch", "effect": "NoExecute"}


@pytest.mark.parametrize(
    "toleration",
    [
        {"operator": "Exists"},
        {"key": "dedicated", "operator": "Exists", "effect": "NoExecute"},
        {"key": "dedicated", "value": "batch"},
    ],
)
def test_a_tolerated_taint_keeps_nobody_away(toleration: dict[str, str]) -> None:
    assert why(pod(tolerations=[toleration]), node(spec={"taints": [BATCH]})) == []


@pytest.mark.parametrize(
    "toleration",
    [
        {"key": "dedicated", "value": "web"},
        {"key": "other", "operator": "Exists"},
        {"operator": "Exists", "effect": "NoSchedule"},
    ],
)
def test_a_taint_that_is_not_tolerated_does_and_one_that_prefers_does_not(toleration: dict[str, str]) -> None:
    assert why(pod(tolerations=[toleration]), node(spec={"taints": [BATCH]})) == ["TaintToleration"]
    assert why(pod(), node(spec={"taints": [{**BATCH, "effect": "PreferNoSchedule"}]})) == []


def test_a_cordoned_node_takes_only_who_tolerates_that() -> None:
    cordoned = node(spec={"unschedulable": True})
    assert why(pod(), cordoned) == ["NodeUnschedulable"]
    assert why(pod(tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]), cordoned) == []


@pytest.mark.parametrize(
    ("mine", "other", "collide"),
    [
        (ports(80), ports(80), True),
        (ports(80), ports(80, protocol="UDP"), False),
        (ports(80, address="10.0.0.7"), ports(80, address="10.0.0.8"), False),
        (ports(80, address="10.0.0.7"), ports(80), True),
        (ports(80, address="0.0.0.0"), ports(80, address="10.0.0.7"), True),
        (ports(80, address="::"), ports(80, address="10.0.0.7"), False),  # no wildcard to the scheduler
    ],
)
def test_host_ports_collide_by_protocol_and_address(mine: Any, other: Any, collide: bool) -> None:
    assert why(with_ports(pod(), mine), node(), with_ports(pod("r", "n1"), other)) == (["NodePorts"] if collide else [])


def test_a_nominated_pod_holds_its_room_against_those_that_are_no_more_important() -> None:
    guest = pod("guest", cpu="4", priority=5)
    guest["status"]["nominatedNodeName"] = "n1"
    assert why(pod(cpu="1", priority=5), node(), guest) == ["NodeResourcesFit"]
    assert why(pod(cpu="1", priority=6), node(), guest) == []
    assert why(guest, node()) == []


def test_a_node_without_its_hostname_label_is_no_domain() -> None:
    bare = node()
    del bare["metadata"]["labels"][HOSTNAME]
    assert why(
        pod(topologySpreadConstraints=[{"topologyKey": HOSTNAME, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]), bare
    ) == ["PodTopologySpread"]
