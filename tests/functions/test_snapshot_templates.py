"""What each group promises of its next node, from AWS's answers to the stored snapshot, and to the plan that is made of it."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from functions.snapshot_fleet import app
from spillway import planner
from spillway.aws import clients, definitions, market, memo
from spillway.aws.table import settings, snapshots
from spillway.model.cluster import Taint
from spillway.model.fleet import FleetSnapshot, NodeGroup, NodeTemplate
from spillway.model.memory import Memory
from spillway.model.plan import Plan
from spillway.model.policy import Policy
from spillway.model.reason import Code
from spillway.model.selector import NodeSelectorTerm, Requirement
from spillway_local.emulator.patching import added
from spillway_local.emulator.requirements import instance_requirements
from tests.aws.account import HOME, Account, open_account
from tests.aws.answers import NODE_TEMPLATE, NOW, OURS, checked
from tests.builders import cluster, desired, pod, refusals
from tests.functions.test_snapshot_fleet import create, fail

GIB, MIB = 1024**3, 1024**2
IMAGE = "ami-12c6146b"
GPU, EFA = "nvidia.com/gpu", "vpc.amazonaws.com/efa"


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    monkeypatch.setattr(market, "on_demand_prices", lambda region, types, *rest: dict.fromkeys(types, 0.096))
    with open_account() as opened, added([instance_requirements()]):
        yield opened


def launch_template(name: str = "nodes", **data: Any) -> dict[str, str]:
    """A template of m5.large, or its next version, as a group names it."""
    ec2 = clients.client("ec2", HOME)
    content = {"InstanceType": "m5.large", "ImageId": IMAGE} | data
    content = {key: value for key, value in content.items() if value is not None}
    if any(one["LaunchTemplateName"] == name for one in ec2.describe_launch_templates()["LaunchTemplates"]):
        made = ec2.create_launch_template_version(LaunchTemplateName=name, LaunchTemplateData=content)["LaunchTemplateVersion"]
        return {"LaunchTemplateId": made["LaunchTemplateId"], "Version": "$Latest"}
    made = ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=content)["LaunchTemplate"]
    return {"LaunchTemplateId": made["LaunchTemplateId"], "Version": "$Latest"}


def mixed(*overrides: dict[str, Any], **data: Any) -> dict[str, Any]:
    policy = {"LaunchTemplateSpecification": launch_template(**data), "Overrides": list(overrides)}
    return {"MixedInstancesPolicy": {"LaunchTemplate": policy}}


def make(name: str = "nodes", tags: dict[str, str] | None = None, **fields: Any) -> None:
    """A group of the cluster; what it launches is among `fields`, or template `name` as it is."""
    every = [{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in (OURS | (tags or {})).items()]
    if "MixedInstancesPolicy" in fields or "LaunchConfigurationName" in fields:
        fields["LaunchTemplate"] = None
    wanted = {"LaunchTemplate": {"LaunchTemplateName": name, "Version": "$Latest"}, "Tags": every, **fields}
    clients.client("autoscaling", HOME).create_auto_scaling_group(
        AutoScalingGroupName=name,
        **{
            key: value
            for key, value in ({"MinSize": 0, "MaxSize": 5, "AvailabilityZones": [HOME + "a"]} | wanted).items()
            if value is not None
        },
    )


def seen(account: Account) -> FleetSnapshot:
    app.handler({}, None)
    return snapshots.latest_fleet(account.table)


def only(account: Account) -> NodeGroup:
    (found,) = (group for group in seen(account).groups if group.region == HOME)
    return found


def template(account: Account) -> NodeTemplate:
    found = only(account)
    assert found.template is not None, found.problem
    return found.template


def planned(found: FleetSnapshot, **rules: Any) -> Plan:
    """The plan for one pod that waits, with this fleet and no node."""
    return planner.plan(cluster(pod("new", **rules), taken_at=NOW), found, Memory(), Policy(), NOW)


def user_data(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.feature("FS-02")
class TestWhatItLaunches:
    @pytest.mark.parametrize(
        ("version", "expected"), [("$Latest", "c5.large"), ("$Default", "m5.large"), ("2", "r5.large"), (None, "m5.large")]
    )
    @pytest.mark.parametrize("by", ["LaunchTemplateId", "LaunchTemplateName"])
    def test_the_version_of_the_template_that_it_names_by_id_or_name(
        self, account: Account, version: str | None, expected: str, by: str
    ) -> None:
        template_id = launch_template()["LaunchTemplateId"]
        for kind in ("r5.large", "c5.large"):
            launch_template(InstanceType=kind)
        named = {by: template_id if by == "LaunchTemplateId" else "nodes"} | ({"Version": version} if version else {})
        make(LaunchTemplate=named)

        found = template(account)

        number = {"c5.large": 3, "r5.large": 2, "m5.large": 1}[expected]
        assert [choice.instance_type for choice in found.choices] == [expected]
        assert [choice.definition for choice in found.choices] == [f"{template_id}:{number}"]
        assert found.fingerprint == f"{template_id}:{number} {IMAGE}"

    def test_a_launch_configuration(self, account: Account) -> None:
        clients.client("autoscaling", HOME).create_launch_configuration(
            LaunchConfigurationName="old", ImageId=IMAGE, InstanceType="c5.large"
        )
        make(LaunchConfigurationName="old")

        found = template(account)

        assert (found.instance_types, found.fingerprint) == (("c5.large",), f"old {IMAGE}")

    def test_the_least_of_its_overrides_each_by_the_template_that_it_names(self, account: Account) -> None:
        other = launch_template("other", InstanceType="c5.xlarge")
        make(**mixed({"InstanceType": "m5.xlarge"}, {"LaunchTemplateSpecification": other}))

        found = template(account)

        large, compute = found.choices
        assert (large.instance_type, compute.instance_type) == ("m5.xlarge", "c5.xlarge")
        assert compute.definition.startswith(other["LaunchTemplateId"])
        assert found.allocatable["memory"] == compute.allocatable["memory"] < large.allocatable["memory"]
        assert "node.kubernetes.io/instance-type" not in found.labels
        assert found.labels["kubernetes.io/arch"] == "amd64"

    def test_what_one_template_says_and_not_all_is_its_types_own(self, account: Account) -> None:
        said = "[settings.kubernetes.node-labels]\nteam = 'a'\n[settings.kubernetes.node-taints]\nbatch = 'x:NoSchedule'\n"
        other = launch_template("other", InstanceType="c5.xlarge", UserData=user_data(said))
        make(**mixed({"InstanceType": "m5.xlarge"}, {"LaunchTemplateSpecification": other}))

        found = template(account)

        plain, batch = found.choices
        assert ("team" in plain.own.labels, batch.own.labels["team"]) == (False, "a")
        assert (plain.own.taints, batch.own.taints) == ((), (Taint(key="batch", value="x", effect="NoSchedule"),))
        assert (found.taints, "team" in found.labels) == ((), False)

    def test_a_group_that_counts_by_weight_gets_its_nodes_in_units(self, account: Account) -> None:
        weighted = [
            {"InstanceType": "m5.large", "WeightedCapacity": "1"},
            {"InstanceType": "m5.xlarge", "WeightedCapacity": "2"},
        ]
        make(**mixed(*weighted))

        found = seen(account)

        (group,) = found.groups
        assert group.template is not None
        assert [choice.weight for choice in group.template.choices] == [1, 2]
        (step,) = planned(found).scale_out
        assert (step.from_desired, step.to_desired, step.nodes) == (0, 2, 1)


ATTRIBUTES = {"VCpuCount": {"Min": 2, "Max": 4}, "MemoryMiB": {"Min": 8192, "Max": 16384}, "AllowedInstanceTypes": ["m5.*"]}


@pytest.mark.feature("FS-02")
class TestAttributes:
    def test_stand_for_the_types_that_have_them(self, account: Account) -> None:
        make(**mixed({"InstanceRequirements": ATTRIBUTES}, InstanceType=None))

        found = template(account)

        assert found.instance_types == ("m5.large", "m5.xlarge")
        assert found.allocatable["pods"] == 29, "of m5.large"
        assert found.labels["kubernetes.io/arch"] == "amd64"

    def test_are_asked_for_types_that_run_the_image_and_machines_as_kubernetes_images_want_them(
        self, account: Account, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        image = checked("ec2", "Image", {"ImageId": IMAGE, "Architecture": "arm64"})
        monkeypatch.setattr(definitions, "images", lambda *rest: [image])
        pages, asked = clients.pages, list[tuple[list[str], list[str]]]()

        def told(service: str, region: str, name: str, **request: Any) -> Any:
            if name == "get_instance_types_from_instance_requirements":
                asked.append((request["ArchitectureTypes"], request["VirtualizationTypes"]))
            return pages(service, region, name, **request)

        monkeypatch.setattr(clients, "pages", told)
        either = ATTRIBUTES | {"AllowedInstanceTypes": ["m5.*", "m6g.*"]}
        make(**mixed({"InstanceRequirements": either}, InstanceType=None))

        assert template(account).instance_types == ("m6g.large", "m6g.xlarge")
        assert asked == [(["arm64"], ["hvm"])]

    def test_may_stand_in_the_template_itself(self, account: Account) -> None:
        launch_template(InstanceType=None, InstanceRequirements=ATTRIBUTES)
        make()

        assert template(account).instance_types == ("m5.large", "m5.xlarge")

    def test_are_asked_once_in_six_hours(self, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
        make(**mixed({"InstanceRequirements": ATTRIBUTES}, InstanceType=None))
        seen(account)
        fail(monkeypatch, "UnauthorizedOperation", "get_instance_types_from_instance_requirements")
        account.pass_s(6 * 3600 - 1)

        assert template(account).instance_types == ("m5.large", "m5.xlarge")

    def test_without_permission_promise_their_minimums_and_that_is_named(
        self, account: Account, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fail(monkeypatch, "UnauthorizedOperation", "get_instance_types_from_instance_requirements")
        make(**mixed({"InstanceRequirements": ATTRIBUTES}, InstanceType=None))

        found = seen(account)

        (group,) = found.groups
        assert group.template is not None
        assert (group.template.choices, group.template.allocatable["cpu"], group.template.allocatable["pods"]) == ((), 1930, 8)
        (warning,) = [one for one in found.warnings if one.code is Code.PERMISSION]
        assert "IAM does not allow ec2:GetInstanceTypesFromInstanceRequirements" in warning.text

    def test_that_no_type_has_are_told(self, account: Account) -> None:
        make(**mixed({"InstanceRequirements": ATTRIBUTES | {"AllowedInstanceTypes": ["x99.*"]}}, InstanceType=None))

        assert only(account).problem == "no instance type has the attributes that the group asks for"


NODEADM = """MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="BOUNDARY"

--BOUNDARY
Content-Type: text/x-shellscript

#!/bin/sh
echo hello
--BOUNDARY
Content-Type: application/node.eks.aws

---
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    config:
      maxPods: 20
      systemReserved: {memory: 300Mi}
      registerWithTaints: [{key: dedicated, value: batch, effect: NoSchedule}]
    flags:
    - --node-labels=team=a,shell=$(hostname)
    - --kube-reserved=cpu=200m,memory=1Gi
--BOUNDARY--
"""
BOOTSTRAP = """#!/bin/bash
/etc/eks/bootstrap.sh prod --use-max-pods false \\
  --kubelet-extra-args '--max-pods=40 --node-labels=team=a --register-with-taints=dedicated=batch:NoSchedule'
sysctl -w vm.nr_hugepages=512
"""
BOTTLEROCKET = """
[settings.kubernetes]
cluster-name = "prod"
max-pods = 30
[settings.kubernetes.eviction-hard]
"memory.available" = "10%"
[settings.kubernetes.node-labels]
team = "a"
[settings.kubernetes.node-taints]
dedicated = ["batch:NoSchedule"]
[settings.kernel.sysctl]
"vm.nr_hugepages" = "512"
"""
MEMORY = 8 * GIB - 644245095  # of m5.large, without what is guessed to be the hypervisor's


@pytest.mark.feature("FS-03")
class TestKubelet:
    @pytest.mark.parametrize(
        ("text", "pods", "cpu", "memory"),
        [
            (NODEADM, 20, 1800, MEMORY - (1024 + 300 + 100) * MIB),
            (BOOTSTRAP, 40, 1930, MEMORY - (255 + 11 * 29 + 100 + 1024) * MIB),
            (BOTTLEROCKET, 30, 1930, MEMORY - (255 + 11 * 30 + 1024) * MIB - 858993460),
        ],
        ids=["nodeadm", "bootstrap.sh", "Bottlerocket"],
    )
    def test_is_told_by_user_data_what_it_keeps_and_how_it_marks_its_node(
        self, account: Account, text: str, pods: int, cpu: int, memory: int
    ) -> None:
        launch_template(UserData=user_data(text))
        make()

        found = template(account)

        assert (found.allocatable["pods"], found.allocatable["cpu"], found.allocatable["memory"]) == (pods, cpu, memory)
        assert found.labels["team"] == "a"
        assert "shell" not in found.labels, "nobody knows what the shell would say"
        assert found.taints == (Taint(key="dedicated", value="batch", effect="NoSchedule"),)
        if text is not NODEADM:
            assert found.allocatable["hugepages-2Mi"] == GIB

    def test_user_data_that_does_not_read_is_named_and_passed_over(self, account: Account) -> None:
        launch_template(UserData=user_data("[settings.kubernetes]\nmax-pods = many\n"))
        make()

        found = seen(account)

        (group,) = found.groups
        assert group.template is not None
        assert group.template.allocatable["pods"] == 29
        (warning,) = found.warnings
        assert "is passed over: its settings are no TOML" in warning.text

    @pytest.mark.parametrize(
        ("image", "pods", "memory_mib"),
        [
            ("resolve:ssm:/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/standard/recommended/image_id", 58, 893),
            ("resolve:ssm:/aws/service/bottlerocket/aws-k8s-1.33/x86_64/latest/image_id", 58, 255 + 11 * 58),
        ],
        ids=["AL2023", "Bottlerocket"],
    )
    def test_the_family_of_an_alias_is_in_its_name(self, account: Account, image: str, pods: int, memory_mib: int) -> None:
        launch_template(ImageId=image, InstanceType="m5.xlarge")
        make()

        found = template(account).allocatable

        assert (found["pods"], 16 * GIB - 1288490189 - found["memory"]) == (pods, (memory_mib + 100) * MIB)

    def test_the_family_of_an_image_is_in_its_name_and_its_disk_is_known(
        self, account: Account, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        devices = [{"DeviceName": name, "Ebs": {"VolumeSize": size}} for name, size in (("/dev/xvda", 4), ("/dev/xvdb", 50))]
        found = {
            "ImageId": IMAGE, "Name": "bottlerocket-aws-k8s-1.33-x86_64-v1.40.0", "Architecture": "x86_64",
            "RootDeviceName": "/dev/xvda", "BlockDeviceMappings": devices,
        }  # fmt: skip
        monkeypatch.setattr(definitions, "images", lambda *rest: [checked("ec2", "Image", found)])
        launch_template(BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 9}}])
        make()

        assert template(account).allocatable["ephemeral-storage"] == 44 * GIB, "of its data disk, less a tenth and 1 GiB"

    def test_the_policy_says_it_for_images_of_ones_own_by_group(self, account: Account) -> None:
        gpu_nodes = {"max_pods": 50, "system_reserved": {"cpu": "500m"}, "eviction_hard": {"memory.available": "1Gi"}}
        rules = {"kubelet": {"image": "custom"}, "groups": {"gpu-*": {"kubelet": gpu_nodes}}}
        settings.put_policy(account.table, rules, "me")
        for name in ("gpu-a", "web"):
            launch_template(name)
            make(name)

        gpu, web = [group.template.allocatable for group in seen(account).groups if group.template]

        assert (web["pods"], web["cpu"], web["memory"]) == (110, 2000, MEMORY - 100 * MIB), "Kubernetes' own defaults"
        assert (gpu["pods"], gpu["cpu"], gpu["memory"]) == (50, 1500, MEMORY - GIB)

    @pytest.mark.parametrize(("kind", "pods"), [("m5.large", 110), ("m5.24xlarge", 250), ("t2.large", 35)])
    def test_prefixes_give_more_pods_up_to_the_calculators_ceiling_where_the_hypervisor_has_them(
        self, account: Account, kind: str, pods: int
    ) -> None:
        settings.put_policy(account.table, {"kubelet": {"prefix_delegation": True}}, "me")
        launch_template(InstanceType=kind)
        make()

        assert template(account).allocatable["pods"] == pods

    def test_an_interface_without_pods_costs_its_addresses(self, account: Account) -> None:
        settings.put_policy(account.table, {"kubelet": {"reserved_interfaces": 1}}, "me")
        launch_template()
        make()

        assert template(account).allocatable["pods"] == 20

    def test_disks_of_the_instance_hold_pods_storage_where_the_policy_or_user_data_says_so(self, account: Account) -> None:
        launch_template(InstanceType="m5d.large")
        make()
        before = template(account).allocatable
        account.pass_s(301)
        launch_template(
            InstanceType="m5d.large", UserData=user_data("#!/bin/sh\n/etc/eks/bootstrap.sh prod --local-disks raid0")
        )

        assert "ephemeral-storage" not in before
        assert template(account).allocatable["ephemeral-storage"] == 75 * 10**9 * 9 // 10 - GIB

    def test_devices_are_known_by_type_and_adapters_by_the_template(self, account: Account) -> None:
        adapters = [
            {"DeviceIndex": 0, "InterfaceType": "efa"},
            {"DeviceIndex": 1, "NetworkCardIndex": 1, "InterfaceType": "efa-only"},
        ]
        launch_template(InstanceType="p4d.24xlarge", NetworkInterfaces=adapters)
        launch_template("plain", InstanceType="p4d.24xlarge")
        make()
        make("plain")

        fabric, plain = [group.template.allocatable for group in seen(account).groups if group.template]

        assert (fabric[GPU], fabric[EFA]) == (8, 2)
        assert EFA not in plain


def nodegroup(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> None:
    """Group `nodes` is EKS's."""
    item = checked(
        "eks", "Nodegroup", {"nodegroupName": "ng", "resources": {"autoScalingGroups": [{"name": "nodes"}]}, **fields}
    )
    monkeypatch.setattr(definitions, "nodegroups", lambda *rest: [{"nodegroup": item}])


@pytest.mark.feature("FS-04")
class TestLabelsAndTaints:
    def test_come_from_tags_of_cluster_autoscaler_and_of_the_seed(self, account: Account) -> None:
        tags = {
            NODE_TEMPLATE + "label/disk": "ssd", "kube/team": "a", NODE_TEMPLATE + "taint/dedicated": "batch:NoSchedule",
            NODE_TEMPLATE + "resources/example.com/licence": "5", NODE_TEMPLATE + "resources/memory": "6Gi",
            NODE_TEMPLATE + "autoscaling-options/scaledownunneededtime": "1m",
        }  # fmt: skip
        launch_template()
        make(tags=tags)

        group = only(account)

        assert group.template is not None
        assert (group.template.labels["disk"], group.template.labels["team"]) == ("ssd", "a")
        assert group.template.taints == (Taint(key="dedicated", value="batch", effect="NoSchedule"),)
        assert (group.template.allocatable["example.com/licence"], group.template.allocatable["memory"]) == (5, 6 * GIB)
        assert group.template.stated == ("example.com/licence", "memory")
        assert group.options == {"scaledownunneededtime": "1m"}

    def test_eks_tells_those_of_its_groups_also_taints_without_a_value(
        self, account: Account, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        taints = [{"key": "dedicated", "effect": "NO_SCHEDULE"}, {"key": "gpu", "value": "a", "effect": "NO_EXECUTE"}]
        nodegroup(monkeypatch, labels={"team": "a"}, taints=taints, capacityType="SPOT", amiType="AL2023_x86_64_STANDARD")
        launch_template()
        make()

        found = seen(account)

        (group,) = found.groups
        assert group.template is not None
        assert group.template.labels["team"] == "a"
        assert group.template.labels["eks.amazonaws.com/nodegroup"] == "ng"
        assert group.template.labels["eks.amazonaws.com/capacityType"] == "SPOT"
        assert [(taint.key, taint.value, taint.effect) for taint in group.template.taints] == [
            ("dedicated", "", "NoSchedule"),
            ("gpu", "a", "NoExecute"),
        ]
        assert refusals(planned(found)) == {"nodes": "taint"}

    @pytest.mark.parametrize(("ami", "system"), [("WINDOWS_CORE_2022_x86_64", "windows"), ("AL2023_x86_64_STANDARD", "linux")])
    def test_a_group_of_windows_nodes_takes_no_pod_for_linux(
        self, account: Account, monkeypatch: pytest.MonkeyPatch, ami: str, system: str
    ) -> None:
        nodegroup(monkeypatch, amiType=ami)
        launch_template()
        make()

        assert template(account).labels["kubernetes.io/os"] == system

    def test_eks_caps_the_pods_of_its_own_images(self, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
        nodegroup(monkeypatch, amiType="AL2023_x86_64_STANDARD")
        launch_template(InstanceType="m5.4xlarge")
        make()

        assert template(account).allocatable["pods"] == 110, "its interfaces have addresses for 234"

    def test_a_group_of_the_seed_is_found_and_read(self, account: Account) -> None:
        launch_template()
        tags = {"KubernetesCluster": "prod", "KubernetesRole": "worker", "kube/team": "a"}
        create(
            HOME, "g",
            LaunchTemplate={"LaunchTemplateName": "nodes", "Version": "$Latest"},
            Tags=[{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in tags.items()],
        )  # fmt: skip

        assert template(account).labels["team"] == "a"


@pytest.mark.feature("FS-05")
class TestZones:
    ZONE = "topology.kubernetes.io/zone"

    def wide(self, account: Account) -> FleetSnapshot:
        launch_template()
        make(AvailabilityZones=["us-east-1a", "us-east-1b"])
        return seen(account)

    def test_a_node_of_a_wide_group_may_come_to_any_of_its_zones_and_is_promised_in_none(self, account: Account) -> None:
        found = self.wide(account)
        (group,) = found.groups

        assert group.template is not None
        assert not [name for name in group.template.labels if name.endswith("/zone")]
        assert desired(planned(found)) == {"nodes": 1}

    def test_a_pod_that_needs_one_of_its_zones_is_told_that_the_group_chooses(self, account: Account) -> None:
        plan = planned(self.wide(account), node_selector={self.ZONE: "us-east-1a"})

        assert desired(plan) == {}, "it may choose the other one"
        assert refusals(plan) == {"nodes": "zone"}

    def test_a_pod_that_may_go_to_each_of_its_zones_gets_a_node(self, account: Account) -> None:
        def in_zones(*zones: str) -> dict[str, Any]:
            wanted = Requirement(key=self.ZONE, operator="In", values=tuple(f"us-east-1{zone}" for zone in zones))
            return {"node_affinity": (NodeSelectorTerm(expressions=(wanted,)),)}

        found = self.wide(account)

        assert desired(planned(found, **in_zones("a", "b", "c"))) == {"nodes": 1}
        assert desired(planned(found, **in_zones("a", "c"))) == {}

    def test_a_node_that_is_on_its_way_is_in_the_zone_that_the_group_has_chosen(self, account: Account) -> None:
        launch_template()
        make(AvailabilityZones=["us-east-1a", "us-east-1b"], DesiredCapacity=1)
        found = seen(account)
        (chosen,) = found.groups[0].instances
        (other,) = {"us-east-1a", "us-east-1b"} - {chosen.zone}

        assert planned(found, node_selector={self.ZONE: chosen.zone}).summary.pods_on_coming_nodes == 1
        assert planned(found, node_selector={self.ZONE: other}).summary.pods_unserved == 1

    def test_a_group_of_one_zone_promises_it_under_each_of_its_names(self, account: Account) -> None:
        launch_template()
        make()

        labels = template(account).labels

        assert {name: value for name, value in labels.items() if name.endswith("/zone")} == dict.fromkeys(
            ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone"),
            "us-east-1a",
        )


@pytest.mark.feature("FS-10")
class TestTypes:
    def test_a_new_process_asks_ec2_for_none_that_an_earlier_one_knew(
        self, account: Account, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        launch_template()
        make()
        before = template(account)
        memo.clear()
        fail(monkeypatch, "UnauthorizedOperation", "describe_instance_types")

        assert template(account) == before

    def test_figures_are_asked_again_after_a_month(self, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
        launch_template()
        make()
        seen(account)
        memo.clear()
        account.pass_s(30 * 86400 + 1)
        fail(monkeypatch, "UnauthorizedOperation", "describe_instance_types")

        assert only(account).template is None

    def test_one_that_nobody_knows_stops_no_other_and_is_asked_for_again(
        self, account: Account, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        launch_template()
        launch_template("odd", InstanceType="x99.large")
        make()
        make("odd")

        known, odd = seen(account).groups

        assert known.template is not None
        assert odd.problem.startswith("instance type x99.large: DescribeInstanceTypes does not know it here")
        asked: list[Any] = []
        pages = clients.pages
        monkeypatch.setattr(
            clients, "pages", lambda *args, **request: asked.append((args[2], request)) or pages(*args, **request)
        )
        seen(account)
        wanted = [request["Filters"][0]["Values"] for name, request in asked if name == "describe_instance_types"]
        assert wanted == [["x99.large"]]


def test_what_a_dump_keeps_of_these_answers_reads_the_same(account: Account) -> None:
    """The answers are JSON, and the template that comes of it is that of the live ones."""
    from spillway.aws import fleet, reader

    make(**mixed({"InstanceRequirements": ATTRIBUTES}, InstanceType=None))
    live = reader.read([HOME], "prod")
    kept = {HOME: json.loads(json.dumps(live[HOME], default=lambda moment: moment.isoformat()))}

    assert fleet.reduce("prod", HOME, NOW, kept).groups == fleet.reduce("prod", HOME, NOW, live).groups
