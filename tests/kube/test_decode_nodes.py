"""Nodes as the snapshot holds them: their machine, their state, and who cordoned them."""

import pytest

from spillway.kube.machines import machine_of, region_of
from spillway.model.cluster import Machine, Taint
from tests.kube.objects import node, snapshot_of

pytestmark = pytest.mark.feature("CS-07")


def read(**given):
    (found,) = snapshot_of(node("n1", **given)).nodes
    return found


@pytest.mark.parametrize(
    ("zone", "region"),
    [
        ("us-east-1a", "us-east-1"),
        ("us-gov-west-1b", "us-gov-west-1"),
        ("us-west-2-lax-1a", "us-west-2"),
        ("us-east-1-wl1-bos-wlz-1", "us-east-1"),
        ("ap-southeast-4c", "ap-southeast-4"),
        ("cn-north-1a", "cn-north-1"),
        ("us-isob-east-1a", "us-isob-east-1"),
        ("us-east-1", ""),
        ("us-east-1a; drop", ""),
        ("eusc-de-east-1a", "eusc-de-east-1"),
        ("", ""),
        ("rack7", ""),
    ],
)
def test_the_region_of_every_kind_of_zone(zone, region):
    assert region_of(zone) == region


def test_the_machine_comes_from_the_provider_id():
    assert read(zone="us-west-2-lax-1a", instance="i-0abc").machine == Machine(
        region="us-west-2", zone="us-west-2-lax-1a", instance_id="i-0abc"
    )


def test_a_node_without_a_provider_id_is_kept_with_the_names_by_which_its_instance_may_be_found():
    nameless = node("rack-7", spec={"providerID": None})
    nameless["status"]["addresses"] = [
        {"type": "InternalIP", "address": "10.0.0.7"},
        {"type": "InternalDNS", "address": "ip-10-0-0-7.ec2.internal"},
        {"type": "Hostname", "address": "rack-7"},
    ]
    (found,) = snapshot_of(nameless).nodes
    assert (found.machine, found.dns_names) == (None, ("ip-10-0-0-7.ec2.internal", "rack-7"))


def test_a_node_that_says_what_it_is_needs_no_names():
    assert read().dns_names == ()


@pytest.mark.parametrize(
    "labels",
    [
        {"aws/id": "i-0b", "aws/az": "us-east-1c"},
        {"alpha.eksctl.io/instance-id": "i-0b", "topology.kubernetes.io/zone": "us-east-1c"},
    ],
)
def test_a_node_may_name_its_instance_by_labels(labels):
    assert read(spec={"providerID": None}, labels=labels).machine == Machine(
        region="us-east-1", zone="us-east-1c", instance_id="i-0b"
    )


@pytest.mark.parametrize("provider_id", ["aws:///us-east-1c/i-0b", "aws://prod/us-east-1c/i-0b"])
def test_the_host_of_a_provider_id_says_nothing(provider_id):
    assert read(spec={"providerID": provider_id}).machine == Machine(region="us-east-1", zone="us-east-1c", instance_id="i-0b")


@pytest.mark.parametrize("provider_id", ["aws:////i-0b", "i-0b"])
def test_one_without_a_zone_has_that_of_the_nodes_label(provider_id):
    found = read(spec={"providerID": provider_id}, labels={"topology.kubernetes.io/zone": "us-east-1c"})
    assert found.machine == Machine(region="us-east-1", zone="us-east-1c", instance_id="i-0b")


@pytest.mark.feature("RS-06")
@pytest.mark.parametrize(
    "provider_id",
    [
        "aws:///moon/i-0b",
        "aws:////i-0b",
        "i-0b",
        "aws:///us-east-1c/",
        "aws:///us-east-1c/i-0b/i-0c",
        "aws:///us-east-1c/x",
        "aws:",
    ],
)
def test_one_that_names_no_instance_in_a_zone_of_aws_is_a_warning_and_the_node_is_not_touched(provider_id):
    seen = snapshot_of(node("n1", spec={"providerID": provider_id}))
    assert [one.machine for one in seen.nodes] == [None]
    (warning,) = seen.warnings
    assert (warning.code, warning.text.startswith(f"node n1 has the provider id {provider_id}, ")) == ("machine_unclear", True)


def test_conditions_are_kept_but_for_readiness():
    pressed = node("n1")
    pressed["status"]["conditions"] += [{"type": "PIDPressure", "status": "False"}, {"type": "DiskPressure", "status": "True"}]
    (found,) = snapshot_of(pressed).nodes
    assert found.conditions == {"DiskPressure": "True", "PIDPressure": "False"}


@pytest.mark.parametrize(
    "provider_id",
    ["gce://project/us-east1-b/n1", "aws:///us-east-1a/4f1c2d/fargate-ip-10-0-0-1.ec2.internal", "eks-hybrid:///x/y/mi-0a"],
)
def test_what_is_no_ec2_instance_has_no_machine_and_needs_no_warning(provider_id):
    assert machine_of(provider_id, {}) is None
    assert snapshot_of(node("n1", spec={"providerID": provider_id})).warnings == ()


def test_readiness_and_the_time_of_its_last_change():
    assert read().ready
    assert read().ready_changed.isoformat() == "2025-12-31T20:01:00+00:00"


def test_a_node_that_never_reported_is_not_ready():
    silent = node("n1")
    del silent["status"]["conditions"]
    (found,) = snapshot_of(silent).nodes
    assert (found.ready, found.ready_changed) == (False, None)


class TestCordon:
    def managed(self, manager: str, at: str, *path: str) -> dict[str, object]:
        """An entry of metadata.managedFields, as a real API server writes it."""
        entry: dict[str, object] = {}
        for key in reversed(path):
            entry = {f"f:{key}": entry}
        return {
            "manager": manager, "operation": "Update", "apiVersion": "v1", "time": at, "fieldsType": "FieldsV1",
            "fieldsV1": entry,
        }  # fmt: skip

    def test_who_made_it_is_what_the_api_server_noted(self):
        managers = [
            self.managed("kubelet", "2026-01-01T00:00:00Z", "status", "conditions"),
            self.managed("kubectl-cordon", "2025-12-31T23:00:00Z", "spec", "unschedulable"),
        ]
        assert read(spec={"unschedulable": True}, managedFields=managers).cordoned_by == "kubectl-cordon"

    def test_of_several_the_last_made_it(self):
        managers = [
            self.managed("new", "2025-12-31T23:30:00Z", "spec", "unschedulable"),
            self.managed("old", "2025-12-31T23:00:00Z", "spec", "unschedulable"),
        ]
        assert read(spec={"unschedulable": True}, managedFields=managers).cordoned_by == "new"

    def test_nobody_made_one_that_is_not(self):
        assert read(managedFields=[self.managed("k", "2025-12-31T23:00:00Z", "spec", "unschedulable")]).cordoned_by == ""

    @pytest.mark.feature("RS-06")
    @pytest.mark.parametrize("managers", [None, [], [{}], ["x"], {"manager": 7}, [{"fieldsV1": {"f:spec": 3}}]])
    def test_notes_that_do_not_read_say_nothing_and_cost_no_node(self, managers):
        assert read(spec={"unschedulable": True}, managedFields=managers).cordoned_by == ""

    @pytest.mark.parametrize(
        ("key", "autoscaler"),
        [
            ("ToBeDeletedByClusterAutoscaler", "cluster-autoscaler"),
            ("karpenter.sh/disrupted", "karpenter"),
            ("karpenter.sh/disruption", "karpenter"),
            ("dedicated", ""),
        ],
    )
    def test_an_autoscaler_says_it_by_a_taint(self, key: str, autoscaler: str):
        assert read(spec={"taints": [{"key": key, "effect": "NoSchedule"}]}).cordoned_by == autoscaler

    def test_ours_says_which_plan_it_was(self):
        assert read(labels={"spillway.io/cordoned": "plan1"}, spec={"unschedulable": True}).cordon == "plan1"

    def test_a_person_s_is_not_ours(self):
        found = read(spec={"unschedulable": True})
        assert (found.unschedulable, found.cordon) == (True, "")

    def test_the_older_autoscaler_s_counts_as_ours(self):
        found = read(labels={"openai/cordoned-by-autoscaler": "true"}, spec={"unschedulable": True})
        assert found.cordon == "openai/cordoned-by-autoscaler"

    def test_its_marker_left_on_a_node_that_is_in_use_again_means_nothing(self):
        assert read(labels={"openai/cordoned-by-autoscaler": "true"}).cordon == ""


def test_a_taint_without_a_value_reads():
    taints = [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]
    assert read(spec={"taints": taints}).taints == (Taint(key="node.kubernetes.io/unreachable", effect="NoExecute"),)


def test_the_taint_of_a_node_on_its_way_out_stays_a_taint():
    taints = [{"key": "ToBeDeletedByClusterAutoscaler", "value": "1767225600", "effect": "NoSchedule"}]
    assert read(spec={"taints": taints}).taints[0].value == "1767225600"


def test_only_annotations_that_a_rule_reads_are_kept():
    annotations = {
        "cluster-autoscaler.kubernetes.io/scale-down-disabled": "true",
        "spillway.io/anything": "x",
        "node.alpha.kubernetes.io/ttl": "0",
    }
    assert sorted(read(annotations=annotations).annotations) == [
        "cluster-autoscaler.kubernetes.io/scale-down-disabled",
        "spillway.io/anything",
    ]


def test_a_node_with_a_bad_amount_is_set_aside_by_name():
    broken = node("bad")
    broken["status"]["allocatable"]["cpu"] = "four"
    seen = snapshot_of(broken, node("n1"))
    assert [one.name for one in seen.nodes] == ["n1"]
    assert "node bad" in seen.warnings[0].text


def test_a_node_being_deleted_says_so():
    assert read(deletionTimestamp="2026-01-01T00:00:00Z").deleting
