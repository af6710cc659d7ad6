"""Which instance of the fleet a node is, and what becomes of a node of which that is not clear."""

import msgspec
import pytest

from spillway.model.cluster import Machine, Node
from spillway.model.fleet import NodeGroup
from spillway.planner.machines import matched
from tests.builders import YESTERDAY, group, instance, node, plan_for

pytestmark = pytest.mark.feature("CS-07")


def nameless(name: str, *dns: str) -> Node:
    """A node that says nothing of its instance."""
    return node(name, ec2=False, dns_names=(name, *dns))


def fleet(*dns: str, region: str = "us-east-1", name: str = "g") -> NodeGroup:
    """Instances `i-0`, `i-1` and so on, of these private DNS names."""
    members = [instance(str(number), zone=f"{region}a", private_dns=one) for number, one in enumerate(dns)]
    return group(name, instances=members, region=region)


def found(*nodes: Node, groups: list[NodeGroup]) -> dict[str, str]:
    """Instances by node; "" for none."""
    machines = matched(nodes, groups).machines
    return {one.name: machines[one.name].instance_id if one.name in machines else "" for one in nodes}


def texts(*nodes: Node, groups: list[NodeGroup]) -> list[str]:
    return [f"{warning.code}: {warning.text}" for warning in matched(nodes, groups).warnings]


@pytest.mark.parametrize(
    "dns",
    ["ip-10-0-0-1.ec2.internal", "ip-10-0-0-1.eu-west-1.compute.internal", "i-0abc.eu-west-1.compute.internal"],
)
def test_a_node_of_the_private_dns_name_of_an_instance_is_that_instance(dns: str):
    machines = matched([nameless(dns)], [fleet("ip-10-9-9-9.ec2.internal", dns)]).machines
    assert machines[dns] == Machine(region="us-east-1", zone="us-east-1a", instance_id="i-1")


def test_or_one_of_its_addresses_says_so():
    assert found(nameless("worker-7", "ip-10-0-0-1.ec2.internal"), groups=[fleet("ip-10-0-0-1.ec2.internal")]) == {
        "worker-7": "i-0"
    }


def test_or_its_name_is_the_first_part_of_that():
    assert found(nameless("ip-10-0-0-1"), groups=[fleet("ip-10-0-0-1.ec2.internal")]) == {"ip-10-0-0-1": "i-0"}


@pytest.mark.parametrize("name", ["i-0", "i-0.us-east-1.compute.internal"])
def test_or_its_name_is_the_id(name: str):
    assert found(nameless(name), groups=[fleet("")]) == {name: "i-0"}


def test_one_that_bears_no_such_name_is_nobodys_and_one_warning_names_all_of_them():
    rack = [nameless(f"rack-{number}") for number in range(7)]
    assert set(found(*rack, groups=[fleet("ip-10-0-0-1.ec2.internal")]).values()) == {""}
    (text,) = texts(*rack, groups=[fleet()])
    assert text.startswith("no_provider_id: no spec.providerID on node rack-0, rack-1, rack-2, rack-3, rack-4 and 2 more: ")


def test_a_physical_node_that_is_known_for_one_needs_no_warning():
    assert texts(node("rack-1", ec2=False), groups=[fleet()]) == []


def test_a_name_of_two_instances_tells_nothing():
    """Private addresses of two networks may be the same."""
    groups = [
        fleet("ip-10-0-0-1.ec2.internal"),
        group("far", instances=[instance("9", private_dns="ip-10-0-0-1.ec2.internal")]),
    ]
    one = nameless("ip-10-0-0-1.ec2.internal")
    assert found(one, groups=groups) == {one.name: ""}
    assert "bears the name of i-0 and i-9" in texts(one, groups=groups)[0]


def test_two_nodes_that_are_one_instance_are_both_nobodys():
    one, other = node("0"), nameless("worker-7", "ip-10-0-0-1.ec2.internal")
    groups = [fleet("ip-10-0-0-1.ec2.internal")]
    assert found(one, other, groups=groups) == {"0": "", "worker-7": ""}
    assert [text.split(":")[0] for text in texts(one, other, groups=groups)] == ["machine_unclear"] * 2
    assert matched([one, other], groups).joined == {"i-0"}  # it is not still to come, either


@pytest.mark.feature("RS-06")
@pytest.mark.parametrize(("region", "zone"), [("us-east-1", "us-east-1b"), ("eu-west-1", "eu-west-1a")])
def test_a_node_that_says_it_is_somebody_elses_instance_is_not_believed(region: str, zone: str):
    liar = msgspec.structs.replace(node("0"), machine=Machine(region=region, zone=zone, instance_id="i-0"))
    assert found(liar, groups=[fleet("")]) == {"0": ""}
    (text,) = texts(liar, groups=[fleet("")])
    assert f"instance i-0 in zone {zone}, which runs in us-east-1a" in text


def test_an_instance_that_the_fleet_does_not_know_is_no_cause_for_alarm():
    other = node("other")
    assert (found(other, groups=[fleet("")]), texts(other, groups=[fleet("")])) == ({"other": "i-other"}, [])


class TestInAPlan:
    def test_a_node_found_by_its_name_is_its_groups_and_goes_when_it_is_empty(self):
        idle = nameless("ip-10-0-0-1", "ip-10-0-0-1.ec2.internal")
        plan = plan_for(idle, fleet("ip-10-0-0-1.ec2.internal"), idle_since=YESTERDAY)
        assert [(step.node, step.instance_id) for step in plan.scale_in] == [("ip-10-0-0-1", "i-0")]
        assert plan.warnings == ()

    def test_one_that_is_not_clear_is_kept_with_a_warning(self):
        twins = [node("0"), nameless("worker-7", "ip-10-0-0-1.ec2.internal")]
        plan = plan_for(*twins, fleet("ip-10-0-0-1.ec2.internal"), idle_since=YESTERDAY)
        assert plan.scale_in == ()
        assert {kept.node: kept.reason.code for kept in plan.kept} == {"0": "not_ours", "worker-7": "not_ours"}
        assert {warning.code for warning in plan.warnings} == {"machine_unclear"}
