"""What a new node of a group is sure to bring."""

from typing import Any

import pytest

from spillway.aws import allocatable, fleet, shapes
from spillway.aws.kubelet import Settings
from spillway.model.base import Resources
from spillway.model.cluster import Taint
from spillway.model.fleet import NodeGroup, NodeTemplate
from spillway.model.reason import Code
from spillway.model.selector import UNTOLD
from tests.aws.answers import CLUSTER, NODE_TEMPLATE, NOW, group, instance_type, member, mixed, region, version

GIB = 1024**3
STD = {NODE_TEMPLATE + f"resources/{name}": value for name, value in {"cpu": "4", "memory": "16Gi", "pods": "110"}.items()}


def only(answer: dict[str, Any], name: str = "us-east-1") -> NodeGroup:
    (found,) = fleet.reduce(CLUSTER, name, NOW, {name: answer}).groups
    return found


def template(answer: dict[str, Any]) -> NodeTemplate:
    found = only(answer)
    assert found.template is not None, found.problem
    return found.template


def problem(answer: dict[str, Any]) -> str:
    found = only(answer)
    assert found.template is None
    return found.problem


class TestWhichTypes:
    @pytest.mark.feature("FS-02")
    @pytest.mark.parametrize(("wanted", "expected"), [("$Latest", "c5.large"), ("$Default", "m5.large"), ("1", "r5.large")])
    def test_follows_the_version_that_the_group_names(self, wanted: str, expected: str) -> None:
        versions = [version(kind="m5.large", number=2), version(kind="c5.large", number=3, default=False)]
        versions.append(version(kind="r5.large", number=1, default=False))
        named = group(LaunchTemplate={"LaunchTemplateName": "g-nodes", "Version": wanted})
        kinds = [instance_type(name) for name in ("m5.large", "c5.large", "r5.large")]

        found = template(region(named, LaunchTemplateVersions=versions, InstanceTypes=kinds))

        assert found.instance_types == (expected,)

    def test_without_a_version_the_default_counts(self) -> None:
        named = group(LaunchTemplate={"LaunchTemplateId": "lt-g"})
        versions = [version(kind="c5.large", number=2, default=False), version()]

        assert template(region(named, LaunchTemplateVersions=versions)).instance_types == ("m5.large",)

    def test_a_version_that_is_not_there_is_named(self) -> None:
        named = group(LaunchTemplate={"LaunchTemplateId": "lt-g", "LaunchTemplateName": "g-nodes", "Version": "7"})

        assert problem(region(named)).startswith("launch template g-nodes version 7 cannot be read")

    def test_a_group_without_either_is_told_so(self) -> None:
        assert problem(region(group(LaunchTemplate=None))).startswith("the group names neither a launch template")

    def test_a_template_without_a_type_is_told_so(self) -> None:
        bare = version()
        bare["LaunchTemplateData"] = {}

        assert problem(region(group(), LaunchTemplateVersions=[bare])).startswith("the launch template names neither")

    def test_an_override_may_take_its_type_from_a_template_of_its_own(self) -> None:
        fields = mixed("g", [])
        own = {"LaunchTemplateSpecification": {"LaunchTemplateId": "lt-arm", "Version": "1"}}
        fields["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"] = [own]
        versions = [version(), version("arm", "c5.large")]

        found = template(region(group(**fields), LaunchTemplateVersions=versions, InstanceTypes=[instance_type("c5.large")]))

        assert found.instance_types == ("c5.large",)

    @pytest.mark.feature("FS-02")
    def test_an_override_may_launch_an_image_of_its_own(self) -> None:
        """Its disk and its name are what the node will have, whatever the template's image is."""
        fields = mixed("g", ["m5.large", "c5.large"])
        fields["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"][1]["ImageId"] = "ami-2"
        images = [
            {
                "ImageId": name,
                "Name": "amazon-eks-node-al2023-x86_64",
                "RootDeviceName": "/dev/xvda",
                "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": size}}],
            }
            for name, size in (("ami-1", 100), ("ami-2", 50))
        ]
        kinds = [instance_type(), instance_type("c5.large")]

        found = template(
            region(group(**fields), LaunchTemplateVersions=[version(ImageId="ami-1")], InstanceTypes=kinds, Images=images)
        )

        assert [choice.allocatable["ephemeral-storage"] // GIB for choice in found.choices] == [89, 44]
        assert found.fingerprint == "lt-g:1 ami-1,lt-g:1 ami-2"

    @pytest.mark.feature("FS-02")
    def test_groups_that_count_by_weight_vcpus_or_memory_know_what_their_types_and_members_weigh(self) -> None:
        fields = mixed("g", ["m5.large"])
        fields["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"][0]["WeightedCapacity"] = "4"

        declared, plain = member("a", WeightedCapacity="3"), member("b")

        weighted = only(region(group(**fields, Instances=[declared, plain])))
        by_cores = only(region(group(DesiredCapacityType="vcpu", Instances=[plain])))
        by_memory = only(region(group(DesiredCapacityType="memory-mib", Instances=[plain])))

        assert [found.problem for found in (weighted, by_cores, by_memory)] == ["", "", ""]
        assert [found.node_units for found in (weighted, by_cores, by_memory)] == [4, 2, 8192]
        assert [instance.weight for instance in weighted.instances] == [3, 4], "Auto Scaling's own word comes first"
        assert [found.units for found in (weighted, by_cores, by_memory)] == [7, 2, 8192]

    @pytest.mark.feature("FS-02")
    def test_a_member_of_a_type_that_is_launched_no_more_counts_as_the_heaviest(self) -> None:
        """Too little would have desired lowered below what lives."""
        found = only(region(group(DesiredCapacityType="vcpu", Instances=[member("a", InstanceType="c3.large")])))
        assert found.units == 2

    @pytest.mark.feature("FS-02")
    def test_a_weighted_group_whose_types_nobody_told_says_so(self) -> None:
        bare = version()
        bare["LaunchTemplateData"] = {"InstanceRequirements": {"VCpuCount": {"Min": 2}, "MemoryMiB": {"Min": 4096}}}

        found = only(region(group(DesiredCapacityType="vcpu"), LaunchTemplateVersions=[bare]))

        assert "what a node weighs is unknown" in found.problem
        assert not found.is_countable

    @pytest.mark.parametrize("weight", ["0", "many"])
    def test_a_weight_that_is_none_is_told(self, weight: str) -> None:
        fields = mixed("g", ["m5.large"])
        fields["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"][0]["WeightedCapacity"] = weight

        assert f"WeightedCapacity '{weight}' is no number of units" in problem(region(group(**fields)))

    def test_attributes_that_do_not_read_are_told(self) -> None:
        bare = version()
        bare["LaunchTemplateData"] = {"InstanceRequirements": {"VCpuCount": {"Min": "two"}, "MemoryMiB": {"Min": 1}}}

        assert "requirements are not as AWS documents them" in problem(region(group(), LaunchTemplateVersions=[bare]))


class TestPromise:
    def test_a_mixed_group_promises_the_least_of_each_resource(self) -> None:
        kinds = [instance_type("m5.large", cpu=2, mib=8192), instance_type("c5.xlarge", cpu=4, mib=4096)]

        found = template(region(group(**mixed("g", ["m5.large", "c5.xlarge"])), InstanceTypes=kinds))

        assert found.allocatable["cpu"] == 1930, "of m5.large"
        assert found.allocatable["memory"] < 4 * GIB, "of c5.xlarge"

    def test_a_device_that_only_some_types_have_is_not_promised(self) -> None:
        gpu = instance_type("g5.large", GpuInfo={"Gpus": [{"Name": "A10G", "Manufacturer": "NVIDIA", "Count": 1}]})

        mixed_group = template(region(group(**mixed("g", ["m5.large", "g5.large"])), InstanceTypes=[instance_type(), gpu]))
        pure = template(region(group(**mixed("g", ["g5.large"])), InstanceTypes=[gpu]))

        assert "nvidia.com/gpu" not in mixed_group.allocatable
        assert pure.allocatable["nvidia.com/gpu"] == 1

    def test_attributes_promise_their_minimums(self) -> None:
        fields = mixed("g", [])
        least = {"VCpuCount": {"Min": 4}, "MemoryMiB": {"Min": 16384}}
        fields["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"] = [{"InstanceRequirements": least}]

        found = template(region(group(**fields)))

        assert found.allocatable["cpu"] == 3920
        assert found.allocatable["pods"] == 8, "no more can be sure"
        assert found.instance_types == ()
        assert "kubernetes.io/arch" not in found.labels

    def test_attributes_without_minimums_are_told_so(self) -> None:
        none = {"VCpuCount": {"Min": 0}, "MemoryMiB": {"Min": 0}}
        bare = version()
        bare["LaunchTemplateData"] = {"InstanceRequirements": none}

        assert "sure of no CPU" in problem(region(group(), LaunchTemplateVersions=[bare]))
        assert template(region(group(tags=STD), LaunchTemplateVersions=[bare])).allocatable["cpu"] == 4000


class TestAllocatable:
    def test_takes_off_what_the_kubelet_and_the_hypervisor_keep(self) -> None:
        """Karpenter publishes 3920 m, 14162 MiB and 58 pods for an m5.xlarge."""
        network = {"MaximumNetworkInterfaces": 4, "Ipv4AddressesPerInterface": 15}
        found = _allocatable(instance_type("m5.xlarge", 4, 16384, NetworkInfo=network))

        assert (found["cpu"], found["memory"] // 1024**2, found["pods"]) == (3920, 14162, 58)

    @pytest.mark.feature("FS-03")
    def test_arm_keeps_a_little_more(self) -> None:
        """Karpenter's m7g.xlarge has 14103 MiB."""
        network = {"MaximumNetworkInterfaces": 4, "Ipv4AddressesPerInterface": 15}
        arm = {"SupportedArchitectures": ["arm64"]}
        found = _allocatable(instance_type("m7g.xlarge", 4, 16384, NetworkInfo=network, ProcessorInfo=arm))

        assert found["memory"] // 1024**2 == 14103

    def test_pods_have_the_addresses_of_the_first_network_card_only(self) -> None:
        cards = [
            {"NetworkCardIndex": 0, "MaximumNetworkInterfaces": 15},
            {"NetworkCardIndex": 1, "MaximumNetworkInterfaces": 8},
        ]
        network = {"MaximumNetworkInterfaces": 23, "Ipv4AddressesPerInterface": 50, "NetworkCards": cards}

        assert _allocatable(instance_type(NetworkInfo=network))["pods"] == 15 * 49 + 2

    @pytest.mark.parametrize(
        ("devices", "expected"),
        [
            ({"GpuInfo": {"Gpus": [{"Manufacturer": "NVIDIA", "Count": 8}]}}, {"nvidia.com/gpu": 8}),
            ({"GpuInfo": {"Gpus": [{"Manufacturer": "AMD", "Count": 2}]}}, {"amd.com/gpu": 2}),
            ({"GpuInfo": {"Gpus": [{"Manufacturer": "Habana", "Count": 8}]}}, {"habana.ai/gaudi": 8}),
            ({"GpuInfo": {"Gpus": [{"Manufacturer": "Nobody", "Count": 8}]}}, {}),
            (
                {"NeuronInfo": {"NeuronDevices": [{"Count": 6, "CoreInfo": {"Count": 2}}]}},
                {"aws.amazon.com/neuron": 6, "aws.amazon.com/neuroncore": 12},
            ),
            (
                {"InferenceAcceleratorInfo": {"Accelerators": [{"Count": 4, "Manufacturer": "AWS"}]}},
                {"aws.amazon.com/neuron": 4},
            ),
            (
                {
                    "NeuronInfo": {"NeuronDevices": [{"Count": 4, "CoreInfo": {"Count": 4}}]},
                    "InferenceAcceleratorInfo": {"Accelerators": [{"Count": 4, "Manufacturer": "AWS"}]},
                },
                {"aws.amazon.com/neuron": 4, "aws.amazon.com/neuroncore": 16},
            ),
            (
                {"InferenceAcceleratorInfo": {"Accelerators": [{"Count": 8, "Manufacturer": "Qualcomm"}]}},
                {"qualcomm.com/qaic": 8},
            ),
            ({"GpuInfo": {"Gpus": [{"Manufacturer": "NVIDIA", "Count": 0, "LogicalGpuCount": 1}]}}, {"nvidia.com/gpu": 1}),
            ({"NetworkInfo": {"EfaInfo": {"MaximumEfaInterfaces": 4}}}, {}),
        ],
    )
    @pytest.mark.feature("FS-03")
    def test_devices_have_their_makers_resource_name(self, devices: dict[str, Any], expected: dict[str, int]) -> None:
        found = _allocatable(instance_type(**devices))

        assert {name: count for name, count in found.items() if "/" in name} == expected

    @pytest.mark.feature("FS-03")
    def test_the_template_may_switch_cores_off(self) -> None:
        fewer = version(CpuOptions={"CoreCount": 1, "ThreadsPerCore": 1})

        assert template(region(group(), LaunchTemplateVersions=[fewer])).allocatable["cpu"] == 940

    def test_disk_is_known_where_the_template_says_its_size(self) -> None:
        disk = [{"DeviceName": "/dev/sdf", "Ebs": {"VolumeSize": 500}}, {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 100}}]

        found = template(region(group(), LaunchTemplateVersions=[version(BlockDeviceMappings=disk)]))

        assert found.allocatable["ephemeral-storage"] == 89 * GIB, "less a tenth for eviction and 1 GiB of reserve"
        assert "ephemeral-storage" not in template(region(group())).allocatable

    @pytest.mark.feature("FS-04")
    def test_tags_win_over_what_is_computed(self) -> None:
        tags = {NODE_TEMPLATE + "resources/memory": "7Gi", NODE_TEMPLATE + "resources/example.com/licence": "5"}

        found = template(region(group(tags=tags))).allocatable

        assert (found["memory"], found["example.com/licence"], found["cpu"]) == (7 * GIB, 5, 1930)

    def test_tags_that_name_enough_make_an_unknown_type_usable(self) -> None:
        found = template(region(group(tags=STD), LaunchTemplateVersions=[version(kind="x9.large")]))

        assert found.allocatable == {"cpu": 4000, "memory": 16 * GIB, "pods": 110}
        assert found.labels["node.kubernetes.io/instance-type"] == "x9.large"

    @pytest.mark.feature("FS-04")
    @pytest.mark.parametrize("text", ["many", "-5", "NaN"])
    def test_a_tag_that_is_no_amount_is_named_and_passed_over(self, text: str) -> None:
        tags = {NODE_TEMPLATE + "resources/cpu": text}

        snapshot = fleet.reduce(CLUSTER, "us-east-1", NOW, {"us-east-1": region(group(tags=tags))})

        assert snapshot.groups[0].template is not None
        assert snapshot.groups[0].template.allocatable["cpu"] == 1930
        (warning,) = snapshot.warnings
        assert warning.code is Code.GROUP_UNREADABLE
        assert (
            f"group us-east-1/g: tag k8s.io/cluster-autoscaler/node-template/resources/cpu is passed over: '{text}'"
            in warning.text
        )


def _allocatable(item: dict[str, Any]) -> Resources:
    return allocatable.of_type(shapes.read(item, shapes.InstanceType), allocatable.Node(shapes.LaunchData(), Settings()))


class TestLabels:
    def test_a_group_of_one_type_in_one_zone_has_all_well_known_labels(self) -> None:
        assert template(region(group())).labels == {
            "beta.kubernetes.io/arch": "amd64",
            "beta.kubernetes.io/instance-type": "m5.large",
            "beta.kubernetes.io/os": "linux",
            "failure-domain.beta.kubernetes.io/region": "us-east-1",
            "failure-domain.beta.kubernetes.io/zone": "us-east-1a",
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/os": "linux",
            "node.kubernetes.io/instance-type": "m5.large",
            "topology.ebs.csi.aws.com/zone": "us-east-1a",
            "topology.kubernetes.io/region": "us-east-1",
            "topology.kubernetes.io/zone": "us-east-1a",
        }

    def test_the_zone_of_a_wide_group_is_not_ours(self) -> None:
        found = template(region(group(AvailabilityZones=["us-east-1a", "us-east-1b"]))).labels

        assert not [name for name in found if name.endswith("/zone")]

    def test_a_mixed_group_promises_a_label_only_where_all_types_have_it(self) -> None:
        arm = instance_type("m7g.large", ProcessorInfo={"SupportedArchitectures": ["arm64"]})

        same = template(
            region(group(**mixed("g", ["m5.large", "m6i.large"])), InstanceTypes=[instance_type(), instance_type("m6i.large")])
        )
        apart = template(region(group(**mixed("g", ["m5.large", "m7g.large"])), InstanceTypes=[instance_type(), arm]))

        assert same.labels["kubernetes.io/arch"] == "amd64"
        assert "node.kubernetes.io/instance-type" not in same.labels
        assert "kubernetes.io/arch" not in apart.labels
        assert [one.own.labels["kubernetes.io/arch"] for one in apart.choices] == ["amd64", "arm64"]

    def test_what_types_differ_in_is_each_ones_own(self) -> None:
        found = template(
            region(group(**mixed("g", ["m5.large", "m6i.large"])), InstanceTypes=[instance_type(), instance_type("m6i.large")])
        )

        assert [one.own.labels for one in found.choices] == [
            {"beta.kubernetes.io/instance-type": name, "node.kubernetes.io/instance-type": name}
            for name in ("m5.large", "m6i.large")
        ]
        assert (found.others, len(found.variants)) == ((), 2)

    def test_a_group_of_one_type_has_nothing_that_sets_its_nodes_apart(self) -> None:
        assert template(region(group())).variants == ()

    def test_a_tag_says_it_of_all_types(self) -> None:
        tags = {NODE_TEMPLATE + "label/node.kubernetes.io/instance-type": "any"}
        kinds = [instance_type(), instance_type("m6i.large")]

        found = template(region(group(tags=tags, **mixed("g", ["m5.large", "m6i.large"])), InstanceTypes=kinds))

        assert found.labels["node.kubernetes.io/instance-type"] == "any"
        assert all("node.kubernetes.io/instance-type" not in one.own.labels for one in found.choices)

    def test_of_attributes_whose_types_nobody_told_the_type_will_be_there_and_is_not_known(self) -> None:
        bare = version("g", kind="")
        bare["LaunchTemplateData"] = {"InstanceRequirements": {"VCpuCount": {"Min": 2}, "MemoryMiB": {"Min": 4096}}}

        found = template(region(group(), LaunchTemplateVersions=[bare]))

        assert found.choices == ()
        (other,) = found.others
        assert {key for key, value in other.labels.items() if value == UNTOLD} == {
            "node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type",
            "kubernetes.io/arch", "beta.kubernetes.io/arch",
        }  # fmt: skip
        assert "kubernetes.io/arch" not in found.labels

    def test_a_type_of_which_only_tags_tell_is_named_and_its_architecture_is_not_known(self) -> None:
        sizes = {NODE_TEMPLATE + f"resources/{name}": "9" for name in ("cpu", "memory", "pods")}

        found = template(region(group(tags=sizes), InstanceTypes=[]))

        assert found.labels["node.kubernetes.io/instance-type"] == "m5.large"
        assert [one.labels for one in found.variants] == [{"kubernetes.io/arch": UNTOLD, "beta.kubernetes.io/arch": UNTOLD}]

    def test_a_type_that_runs_old_images_too_is_amd64(self) -> None:
        old = instance_type(ProcessorInfo={"SupportedArchitectures": ["i386", "x86_64"]})

        assert template(region(group(), InstanceTypes=[old])).labels["kubernetes.io/arch"] == "amd64"

    @pytest.mark.feature("FS-04")
    def test_tags_of_cluster_autoscaler_and_of_the_seed_are_labels(self) -> None:
        tags = {NODE_TEMPLATE + "label/disk": "ssd", "kube/team": "a", NODE_TEMPLATE + "label/kubernetes.io/os": "windows"}

        found = template(region(group(tags=tags))).labels

        assert (found["disk"], found["team"], found["kubernetes.io/os"]) == ("ssd", "a", "windows")


class TestTaints:
    def test_come_from_tags(self) -> None:
        tags = {NODE_TEMPLATE + "taint/dedicated": "batch:NoSchedule", NODE_TEMPLATE + "taint/gpu": ":PreferNoSchedule"}

        assert template(region(group(tags=tags))).taints == (
            Taint(key="dedicated", value="batch", effect="NoSchedule"),
            Taint(key="gpu", value="", effect="PreferNoSchedule"),
        )

    @pytest.mark.feature("FS-04")
    @pytest.mark.parametrize("text", ["batch", "batch:Never", ""])
    def test_one_that_cannot_be_read_blocks_and_is_named(self, text: str) -> None:
        answers = region(group(tags={NODE_TEMPLATE + "taint/dedicated": text}))

        (warning,) = fleet.reduce(CLUSTER, "us-east-1", NOW, {"us-east-1": answers}).warnings

        assert template(answers).taints == (Taint(key="dedicated", value=text.partition(":")[0], effect="NoSchedule"),)
        assert "taint/dedicated" in warning.text

    @pytest.mark.feature("FS-04")
    @pytest.mark.parametrize(
        ("spelled", "effect"),
        [
            ("NO_SCHEDULE", "NoSchedule"),
            ("NO_EXECUTE", "NoExecute"),
            ("PREFER_NO_SCHEDULE", "PreferNoSchedule"),
            ("SOMETHING_NEW", "NoSchedule"),
        ],
    )
    def test_eks_spells_effects_its_own_way(self, spelled: str, effect: str) -> None:
        managed = {
            "nodegroupName": "batch",
            "capacityType": "SPOT",
            "labels": {"team": "a", "disk": "eks"},
            "taints": [{"key": "dedicated", "effect": spelled}],
            "resources": {"autoScalingGroups": [{"name": "g"}]},
        }
        tagged = group(tags={NODE_TEMPLATE + "label/disk": "tag"})

        found = template(region(tagged, Nodegroups=[{"nodegroup": managed}]))

        assert found.taints == (Taint(key="dedicated", effect=effect),)
        assert found.labels["eks.amazonaws.com/nodegroup"] == "batch"
        assert found.labels["eks.amazonaws.com/capacityType"] == "SPOT"
        assert (found.labels["team"], found.labels["disk"]) == ("a", "tag")
