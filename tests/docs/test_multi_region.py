"""docs/multi-region.md says what Spillway says, and its user data makes nodes that Spillway knows."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from spillway.kube.machines import machine_of
from tests.cli.dumps import Dumps, desired, group, node, places, pod

PAGE = (Path(__file__).parents[2] / "docs" / "multi-region.md").read_text(encoding="utf-8")
QUOTES = re.findall(r"^> (.*)$", PAGE, re.MULTILINE)
REGIONS = {"us-east-1": [group("a", max=2)], "us-west-2": [group("b")]}
EKS_LABEL = {"eks.amazonaws.com/nodegroup": "a"}
EKS_VERSION = '{"serverVersion": {"gitVersion": "v1.33.1-eks-1234567"}}'


def quoted(plan: dict[str, Any], code: str) -> None:
    [text] = [warning["text"] for warning in plan["warnings"] if warning["code"] == code]
    assert text in QUOTES


@pytest.mark.feature("OP-08")
@pytest.mark.parametrize(
    ("labels", "files"), [(EKS_LABEL, {}), ({}, {"cluster/version.json": EKS_VERSION})], ids=["label", "version"]
)
def test_groups_of_other_regions_are_refused_on_eks(dumps: Dumps, labels: dict[str, str], files: dict[str, str]) -> None:
    cluster = [node("a0", group="a", labels=labels), pod("p", count=3, cpu="3", memory="1Gi")]
    plan = dumps.plan(dumps.write(cluster, REGIONS, files=files))
    assert desired(plan) == {"us-east-1/a": (1, 2)}
    assert all(other["region"] == "us-east-1" for step in plan["scale_out"] for other in step["fallbacks"])
    [unserved] = plan["unserved"]
    assert "single_region" in {reason["code"] for reason in unserved["reasons"] if reason["group"] == "b"}
    quoted(plan, "single_region")


@pytest.mark.feature("OP-08")
def test_a_stretched_cluster_goes_on_in_the_next_region(dumps: Dumps) -> None:
    cluster = [node("a0", group="a"), pod("p", count=3, cpu="3", memory="1Gi")]
    plan = dumps.plan(dumps.write(cluster, REGIONS))
    assert desired(plan) == {"us-east-1/a": (1, 2), "us-west-2/b": (0, 1)}
    assert len(places(plan)) == 3
    assert plan["warnings"] == []


@pytest.mark.feature("OP-08")
def test_nodes_that_vanish_as_they_join_are_a_warning_with_the_cause(dumps: Dumps) -> None:
    ghost = node("b0", group="b", zone="us-west-2a", unregistered=True)
    seen = {
        "node": "ip-10-1-0-7",
        "instance_id": "i-b0",
        "first_seen": "2025-12-31T23:58:00Z",
        "last_seen": "2025-12-31T23:58:50Z",
    }
    plan = dumps.plan(dumps.write([ghost, node("a0", group="a")], REGIONS, memory={"nodes": [seen]}))
    quoted(plan, "nodes_vanish")


@pytest.mark.feature("OP-08")
def test_a_node_without_provider_id_is_a_warning_with_the_cure(dumps: Dumps) -> None:
    plan = dumps.plan(dumps.write([node("ip-10-1-0-7", group="a", spec={"providerID": None})], REGIONS))
    quoted(plan, "no_provider_id")


@pytest.mark.feature("OP-08")
def test_the_user_data_tells_kubelet_what_spillway_reads(tmp_path: Path) -> None:
    place = {
        "placement/availability-zone": "us-west-2b", "placement/region": "us-west-2",
        "instance-id": "i-0123456789abcdef0", "instance-type": "g5.xlarge",
    }  # fmt: skip
    cases = "\n".join(f'  */meta-data/{path}) printf "%s" {value};;' for path, value in place.items())
    fake = f'curl() {{ case "${{@: -1}}" in\n{cases}\n  */api/token) printf secret;;\n  *) return 22;;\nesac; }}\n'
    script = (
        re.search(r"```bash\n(.*?)```", PAGE, re.DOTALL).group(1).replace("/etc/default/kubelet", str(tmp_path / "kubelet"))
    )
    subprocess.run(["bash", "-euc", fake + script], check=True)

    flags = dict(re.findall(r"--([a-z-]+)=(\S+)", (tmp_path / "kubelet").read_text()))
    assert flags.keys() == {"provider-id", "node-labels"}
    machine = machine_of(flags["provider-id"], {})
    assert machine is not None
    assert (machine.region, machine.zone, machine.instance_id) == ("us-west-2", "us-west-2b", "i-0123456789abcdef0")
    assert dict(label.split("=") for label in flags["node-labels"].split(",")) == {
        "topology.kubernetes.io/region": "us-west-2",
        "topology.kubernetes.io/zone": "us-west-2b",
        "node.kubernetes.io/instance-type": "g5.xlarge",
    }
