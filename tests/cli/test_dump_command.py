"""`spillway dump` on an emulated account and a cluster that answers over HTTP."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml
from moto import mock_aws

from spillway.aws import clients, memo
from spillway.aws.kept import Kept
from spillway.errors import AwsUnavailable
from spillway.kube import priorities
from spillway.kube import read as kube
from spillway.kube.resources import NODES, OTHERS, PODS
from spillway_local import cli, dump, live
from spillway_local.emulator.ceilings import ceilings
from spillway_local.kube_api import Cluster
from tests.kube import apis
from tests.kube.cluster import World, open_cluster
from tests.kube.objects import node, pod

SECRET = "aHVudGVyMg=="  # what user data must be: base64
TAGS = {"k8s.io/cluster-autoscaler/enabled": "true", "k8s.io/cluster-autoscaler/prod": "owned"}


@pytest.fixture
def world(api_server: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws(), ceilings({}, {}), open_cluster(api_server) as opened:
        clients.clear()
        memo.clear()
        for region in ("us-east-1", "us-west-2"):
            make_group(region)
        yield opened
    clients.clear()
    memo.clear()


def make_group(region: str) -> None:
    ec2 = boto3.client("ec2", region_name=region)
    data: Any = {"InstanceType": "m5.xlarge", "ImageId": "ami-12c6146b", "UserData": SECRET}
    ec2.create_launch_template(LaunchTemplateName="workers", LaunchTemplateData=data)
    boto3.client("autoscaling", region_name=region).create_auto_scaling_group(
        AutoScalingGroupName=f"workers-{region}",
        MinSize=0,
        MaxSize=3,
        LaunchTemplate={"LaunchTemplateName": "workers", "Version": "$Latest"},
        AvailabilityZones=[f"{region}a"],
        Tags=[{"Key": key, "Value": value, "PropagateAtLaunch": False} for key, value in TAGS.items()],
    )


@pytest.fixture
def kubeconfig(world: World, tmp_path: Path) -> Path:
    access = world.session.access
    document = {
        "clusters": [{"name": "c", "cluster": {"server": access.server}}],
        "users": [{"name": "u", "user": {"token": access.token}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(document))
    return file


def run(folder: Path, kubeconfig: Path, *more: str) -> int:
    where = ["--cluster", "prod", "--regions", "us-east-1,us-west-2", "--kubeconfig", str(kubeconfig)]
    return cli.main(["dump", str(folder), *where, *more])


def secretive(name: str) -> dict[str, Any]:
    container = {"name": "main", "image": "app", "env": [{"name": "PASSWORD", "value": SECRET}]}
    container["resources"] = {"requests": {"cpu": "1"}}
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps({"spec": SECRET}), "team": "a"}
    return pod(name, spec={"containers": [container]}, annotations=applied, labels={"env": "production"})


def templated(kind: str) -> dict[str, Any]:
    labels = {"app": "a"}
    inner = secretive("x")
    template = {"metadata": {"labels": labels, "annotations": inner["metadata"]["annotations"]}, "spec": inner["spec"]}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "a", "namespace": "default"}, "spec": spec}


@pytest.mark.feature("CS-03")
def test_a_dump_holds_every_list_that_a_snapshot_is_read_from(world: World, kubeconfig: Path, tmp_path: Path) -> None:
    apis.install(world.api)
    for name in (priorities.NAME, "another"):
        head = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"priorities": "10: [a]"}}
        world.api.add({**head, "metadata": {"name": name, "namespace": "kube-system"}})
    assert run(tmp_path / "dump", kubeconfig) == 0

    files = {file.name.removesuffix(".json"): json.loads(file.read_text()) for file in (tmp_path / "dump/cluster").iterdir()}
    own = {"resourceclaims.resource.k8s.io"}
    own |= {f"{one}.scheduling.k8s.io" for one in ("workloads", "podgroups", "compositepodgroups")}
    always = {one.name for one in (NODES, PODS, *OTHERS)}
    assert files.keys() == {"version"} | always | own | {one.name for one in apis.NEWEST}
    assert [one["metadata"]["name"] for one in files["configmaps"]["items"]] == [priorities.NAME]


def test_a_dump_reads_back_as_what_the_live_cluster_says(world: World, kubeconfig: Path, tmp_path: Path) -> None:
    for one in (node("n1"), pod("a", node="n1", cpu="2"), pod("b", cpu="1"), secretive("c")):
        world.api.add(one)
    assert run(tmp_path / "dump", kubeconfig) == 0

    found = dump.read(tmp_path / "dump")
    live = kube.read(world.session).snapshot
    assert (found.cluster.nodes, found.cluster.shapes, found.cluster.pods) == (live.nodes, live.shapes, live.pods)
    assert found.cluster.server_version == live.server_version
    assert [group.key for group in found.fleet.groups] == ["us-east-1/workers-us-east-1", "us-west-2/workers-us-west-2"]
    assert all(group.template is not None for group in found.fleet.groups)
    assert found.fleet.home_region == "us-east-1"


@pytest.mark.feature("FS-01")
def test_a_group_that_no_tag_marks_gets_into_a_dump_by_its_name(world: World, kubeconfig: Path, tmp_path: Path) -> None:
    world.api.add(node("n1"))
    autoscaling = clients.client("autoscaling", "us-west-2")
    (item,) = autoscaling.describe_auto_scaling_groups()["AutoScalingGroups"]
    autoscaling.delete_tags(Tags=[{key: tag[key] for key in ("ResourceId", "ResourceType", "Key")} for tag in item["Tags"]])
    west = "us-west-2/workers-us-west-2"
    assert run(tmp_path / "without", kubeconfig) == 0
    assert run(tmp_path / "dump", kubeconfig, "--group-names", west) == 0

    assert [group.key for group in dump.read(tmp_path / "without").fleet.groups] == ["us-east-1/workers-us-east-1"]
    assert [group.key for group in dump.read(tmp_path / "dump").fleet.groups] == ["us-east-1/workers-us-east-1", west]


def test_a_dump_can_be_planned_from(world: World, kubeconfig: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world.api.add(pod("b", cpu="1"))
    assert run(tmp_path / "dump", kubeconfig) == 0
    capsys.readouterr()
    assert cli.main(["plan", "--from", str(tmp_path / "dump")]) == 0
    assert "us-east-1/workers-us-east-1" in capsys.readouterr().out


def test_nothing_secret_gets_into_a_dump(world: World, kubeconfig: Path, tmp_path: Path) -> None:
    world.api.add(secretive("c"))
    for kind, namespace in (("ConfigMap", "default"), ("ConfigMap", "kube-system"), ("Secret", "kube-system")):
        meta = {"name": "m", "namespace": namespace}
        world.api.add({"apiVersion": "v1", "kind": kind, "metadata": meta, "data": {"x": SECRET}})
    for kind in ("ReplicaSet", "StatefulSet", "DaemonSet"):
        world.api.add(templated(kind))
    apis.install(world.api, "JobSet.jobset.x-k8s.io")
    jobs = [{"name": "a", "template": {"spec": {"template": secretive("x")}}}]
    world.api.add(apis.any_of("JobSet.jobset.x-k8s.io", spec={"replicatedJobs": jobs}))
    assert run(tmp_path / "dump", kubeconfig) == 0
    texts = {file.name: file.read_text() for file in (tmp_path / "dump").rglob("*.json")}
    assert "production" in texts["pods.json"], "a label is none"
    assert "team" in texts["pods.json"]
    assert '"replicatedJobs"' in texts["jobsets.jobset.x-k8s.io.json"]
    assert not [name for name, text in texts.items() if SECRET in text or world.session.access.token in text]


def test_a_list_that_may_not_be_read_is_left_out_and_named(
    world: World, kubeconfig: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world.api.fail("list", "csinodes", 403)
    assert run(tmp_path / "dump", kubeconfig) == 0
    assert not (tmp_path / "dump" / "cluster" / "csinodes.storage.k8s.io.json").exists()
    assert "csinodes.storage.k8s.io are left out: " in capsys.readouterr().err


def test_without_pods_there_is_no_dump(
    world: World, kubeconfig: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world.api.fail("list", "pods", 403)
    assert run(tmp_path / "dump", kubeconfig) == 1
    assert "list pods" in capsys.readouterr().err


def test_a_laptop_without_credentials_is_told_where_to_look(
    monkeypatch: pytest.MonkeyPatch, kubeconfig: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise AwsUnavailable("us-east-1", "autoscaling:DescribeAutoScalingGroups", "Unable to locate credentials")

    monkeypatch.setattr("spillway.aws.reader.read", refuse)
    assert run(tmp_path / "dump", kubeconfig) == 1
    said = capsys.readouterr().err
    assert said.startswith("spillway: region us-east-1: autoscaling:DescribeAutoScalingGroups failed: Unable to locate cred")
    assert said.endswith("Check the network and the AWS credentials of this shell\n")


@pytest.mark.parametrize(("text", "says"), [("{", "cannot be read"), ("a", "no kubeconfig"), ("clusters: []", "context")])
def test_a_kubeconfig_that_is_none_is_named(
    world: World, kubeconfig: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    kubeconfig.write_text(text)
    assert run(tmp_path / "dump", kubeconfig) == 2
    said = capsys.readouterr().err
    assert str(kubeconfig) in said
    assert says in said


def test_a_folder_that_is_there_is_not_written_over(
    world: World, kubeconfig: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dump").mkdir()
    assert run(tmp_path / "dump", kubeconfig) == 2
    assert "it is there already" in capsys.readouterr().err


def test_old_prices_are_dumped_as_prices(tmp_path: Path) -> None:
    old = Kept({"m5.large": 0.1}, datetime(2026, 1, 1, tzinfo=UTC), AwsUnavailable("us-east-1", "pricing:GetProducts", "down"))

    assert live.write_fleet(tmp_path, {"us-east-1": {"OnDemandPrices": old}}) == []

    assert json.loads((tmp_path / "us-east-1" / "OnDemandPrices.json").read_text()) == {"OnDemandPrices": {"m5.large": 0.1}}
