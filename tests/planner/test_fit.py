"""Which pod may go to which node: the scheduler's rules, one by one."""

import pytest

from spillway.model.cluster import HostPort, PodShape, Taint, Toleration
from spillway.model.reason import Code
from spillway.model.selector import NodeSelectorTerm, Requirement
from spillway.planner.fit import Fit
from spillway.planner.rules.base import Host
from tests.builders import desired, group, node, plan_for, pod, refusals, tolerate

pytestmark = pytest.mark.feature("SO-06")

ZONE = "topology.kubernetes.io/zone"


def shape(**rules: object) -> PodShape:
    return pod(**rules).shape  # type: ignore[arg-type]


def refused(one: PodShape, host: Host) -> Code | None:
    fit = Fit([one])
    found = fit.refusal(fit.shape_kind(one), fit.host_kind(host))
    return found.code if found else None


def host(name: str = "", *taints: Taint, zones: tuple[str, ...] = (), **labels: str) -> Host:
    return Host(name, {key.replace("_", "-"): value for key, value in labels.items()}, taints, zones)


def affine(*terms: tuple[Requirement, ...]) -> PodShape:
    return shape(node_affinity=tuple(NodeSelectorTerm(expressions=term) for term in terms))


def need(key: str, operator: str, *values: str) -> Requirement:
    return Requirement(key=key, operator=operator, values=values)


@pytest.mark.parametrize(
    ("requirement", "fits"),
    [
        (need("disk", "In", "ssd", "nvme"), True),
        (need("disk", "In", "hdd"), False),
        (need("absent", "In", "x"), False),
        (need("disk", "NotIn", "ssd"), False),
        (need("absent", "NotIn", "x"), True),
        (need("disk", "Exists"), True),
        (need("absent", "Exists"), False),
        (need("absent", "DoesNotExist"), True),
        (need("disk", "DoesNotExist"), False),
        (need("gen", "Gt", "4"), True),
        (need("gen", "Gt", "5"), False),
        (need("gen", "Lt", "10"), True),
        (need("gen", "Lt", "5"), False),
        (need("disk", "Lt", "10"), False),
        (need("absent", "Gt", "-1"), False),
        (need("gen", "Lt", "9" * 19), False),  # more than 64 bits is no integer
        (need("gen", "Lt", "9" * 5000), False),
        (need("gen", "Like", "9"), False),
    ],
)
def test_each_operator_of_node_affinity(requirement: Requirement, fits: bool) -> None:
    assert (refused(affine((requirement,)), host(disk="ssd", gen="5")) is None) == fits


def test_terms_are_alternatives_and_expressions_hold_together() -> None:
    good, bad = need("disk", "In", "ssd"), need("gen", "In", "9")
    assert refused(affine((bad,), (good,)), host(disk="ssd", gen="5")) is None
    assert refused(affine((bad, good)), host(disk="ssd", gen="5")) == Code.AFFINITY


@pytest.mark.parametrize("terms", [(), ((),)])
def test_an_affinity_without_terms_and_a_term_without_expressions_match_no_node(
    terms: tuple[tuple[Requirement, ...], ...],
) -> None:
    assert refused(affine(*terms), host(disk="ssd")) == Code.AFFINITY


@pytest.mark.parametrize(("operator", "there", "new"), [("In", True, False), ("NotIn", False, True)])
def test_a_field_names_a_node_that_is_there_and_none_that_comes(operator: str, there: bool, new: bool) -> None:
    one = shape(node_affinity=(NodeSelectorTerm(fields=(need("metadata.name", operator, "n1"),)),))
    assert (refused(one, host("n1")) is None) == there
    assert (refused(one, host("")) is None) == new


def test_nodes_that_differ_by_name_alone_are_told_apart_where_a_field_names_one() -> None:
    fit = Fit([one := shape(node_affinity=(NodeSelectorTerm(fields=(need("metadata.name", "In", "n1"),)),))])
    verdicts = [fit.refusal(fit.shape_kind(one), fit.host_kind(host(name))) for name in ("n1", "n2")]
    assert [verdict is None for verdict in verdicts] == [True, False]


def test_a_field_other_than_the_name_matches_no_node() -> None:
    one = shape(node_affinity=(NodeSelectorTerm(fields=(need("metadata.uid", "NotIn", "x"),)),))
    assert refused(one, host("n1")) == Code.AFFINITY


@pytest.mark.parametrize(
    ("operator", "values", "fits"), [("In", ("n1",), False), ("NotIn", ("n1",), True), ("Exists", (), True)]
)
def test_a_node_to_come_will_have_a_hostname_that_nobody_has_yet(operator: str, values: tuple[str, ...], fits: bool) -> None:
    rule = (NodeSelectorTerm(expressions=(need("kubernetes.io/hostname", operator, *values),)),)
    assert (desired(plan_for(pod(node_affinity=rule), group("g"))) == {"g": 1}) == fits


def test_a_node_selector_wants_every_label() -> None:
    one = shape(node_selector={"disk": "ssd", "team": "a"})
    assert refused(one, host(disk="ssd", team="a")) is None
    assert refused(one, host(disk="ssd")) == Code.SELECTOR


def test_a_pod_with_a_node_name_goes_nowhere_else() -> None:
    assert refused(shape(node_name="n1"), host("n1")) is None
    assert refused(shape(node_name="n1"), host("n2")) == Code.SELECTOR


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        (tolerate("dedicated", "gpu", "NoSchedule"), True),
        (tolerate("dedicated", "gpu"), True),
        (tolerate("dedicated", "gpu", operator=""), True),
        (tolerate("dedicated", "cpu"), False),
        (tolerate("dedicated", operator="Exists"), True),
        (tolerate("", operator="Exists"), True),
        (tolerate("", "gpu"), False),
        (tolerate("other", operator="Exists"), False),
        (tolerate("dedicated", "gpu", "NoExecute"), False),
    ],
)
def test_each_form_of_a_toleration(toleration: Toleration, fits: bool) -> None:
    tainted = host("n1", Taint(key="dedicated", value="gpu", effect="NoSchedule"))
    assert (refused(shape(tolerations=(toleration,)), tainted) is None) == fits


@pytest.mark.parametrize(
    ("operator", "bound", "fits"),
    [("Gt", "900", True), ("Gt", "950", False), ("Lt", "951", True), ("Lt", "950", False), ("Lt", "x", False)],
)
def test_numeric_tolerations_compare_numbers(operator: str, bound: str, fits: bool) -> None:
    risky = host("n1", Taint(key="risk", value="950", effect="NoSchedule"))
    assert (refused(shape(tolerations=(tolerate("risk", bound, operator=operator),)), risky) is None) == fits


def test_a_soft_taint_keeps_nobody_away() -> None:
    assert refused(shape(), host("n1", Taint(key="old", effect="PreferNoSchedule"))) is None
    assert refused(shape(), host("n1", Taint(key="old", effect="NoExecute"))) == Code.TAINT


def test_the_zone_of_a_wide_group_is_not_ours_to_choose() -> None:
    one = shape(node_selector={ZONE: "us-east-1a"})
    assert refused(one, host(zones=("us-east-1a", "us-east-1b"))) == Code.ZONE
    both = affine((need(ZONE, "In", "us-east-1a", "us-east-1b", "us-east-1c"),))
    assert refused(both, host(zones=("us-east-1a", "us-east-1b"))) is None
    assert refused(affine((need(ZONE, "NotIn", "us-east-1b"),)), host(zones=("us-east-1a", "us-east-1b"))) == Code.ZONE


def test_a_pod_bound_to_a_zone_buys_in_the_group_of_that_zone() -> None:
    plan = plan_for(pod(node_selector={ZONE: "us-east-1b"}), group("a"), group("b", zones=["us-east-1b"], price=9.0))
    assert desired(plan) == {"b": 1}


def test_a_host_port_can_be_had_once_a_node() -> None:
    web = pod("web", cpu="100m", count=2, host_ports=(HostPort(port=8080),))
    assert desired(plan_for(web, group("g"))) == {"g": 2}


def test_the_same_port_of_another_protocol_or_address_is_another_port() -> None:
    tcp = pod("a", cpu="100m", host_ports=(HostPort(port=53),))
    udp = pod("b", cpu="100m", host_ports=(HostPort(port=53, protocol="UDP"),))
    one = pod("c", cpu="100m", host_ports=(HostPort(port=80, ip="10.0.0.1"),))
    two = pod("d", cpu="100m", host_ports=(HostPort(port=80, ip="10.0.0.2"),))
    assert desired(plan_for(tcp, udp, one, two, group("g"))) == {"g": 1}


@pytest.mark.parametrize(("taken", "fits"), [("10.0.0.1", False), ("10.0.0.9", False), ("0.0.0.0", False)])
def test_a_port_on_all_addresses_meets_every_address(taken: str, fits: bool) -> None:
    n1 = node("n1")
    there = pod("there", cpu="1m", node="n1", host_ports=(HostPort(port=80, ip=taken),))
    plan = plan_for(n1, there, pod("p", host_ports=(HostPort(port=80),)), group("g", nodes=[n1]))
    assert (not plan.scale_out) == fits


def test_an_address_that_is_taken_by_another_pod_leaves_the_others_free() -> None:
    n1 = node("n1")
    there = pod("there", cpu="1m", node="n1", host_ports=(HostPort(port=80, ip="10.0.0.9"),))
    assert not plan_for(n1, there, pod("p", host_ports=(HostPort(port=80, ip="10.0.0.1"),)), group("g", nodes=[n1])).scale_out


@pytest.mark.parametrize(("taken", "bought"), [("10.0.0.9", 0), ("127.0.0.1", 0), ("::", 1), ("0.0.0.0", 1)])
def test_all_addresses_of_ipv6_are_one_address_to_the_scheduler(taken: str, bought: int) -> None:
    n1 = node("n1")
    there = pod("there", cpu="1m", node="n1", host_ports=(HostPort(port=80, ip=taken),))
    plan = plan_for(n1, there, pod("p", host_ports=(HostPort(port=80, ip="::"),)), group("g", nodes=[n1]))
    assert plan.summary.nodes_new == bought


def test_every_resource_and_pod_slots_count() -> None:
    fpga = pod("f", requests={"example.com/fpga": 1})
    plan = plan_for(fpga, group("plain"), group("fpga", resources={"example.com/fpga": "1"}, price=5.0))
    assert desired(plan) == {"fpga": 1}
    assert desired(plan_for(pod("s", cpu="1m", memory="1Mi", count=10), group("g", slots=4))) == {"g": 3}


def test_pods_with_resource_claims_buy_no_node_and_say_why() -> None:
    plan = plan_for(pod(resource_claims=("gpu-claim",)), group("g"))
    assert not plan.has_steps
    assert refusals(plan) == {"": "not_judged"}
