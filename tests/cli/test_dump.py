"""A dump as people hand it in: what is read, and how a wrong one is refused."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spillway.errors import DumpError, PolicyError
from spillway.model.memory import Memory
from spillway.model.policy import Policy
from spillway_local import dump

META = {"cluster": "prod", "home_region": "us-east-1", "now": "2026-01-01T00:00:00Z"}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "creationTimestamp": "2025-12-31T00:00:00Z"}}
GROUP = {
    "AutoScalingGroupName": "workers",
    "MinSize": 0,
    "MaxSize": 3,
    "DesiredCapacity": 0,
    "AvailabilityZones": ["us-east-1a"],
    "Tags": [
        {"Key": "k8s.io/cluster-autoscaler/enabled", "Value": "true"},
        {"Key": "k8s.io/cluster-autoscaler/prod", "Value": "owned"},
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "meta.json", META)
    write(tmp_path / "cluster" / "nodes.json", listed(NODE))
    write(tmp_path / "fleet" / "us-east-1" / "groups.json", {"AutoScalingGroups": [GROUP]})
    return tmp_path


def write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def listed(*items: object) -> object:
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items}


def refusal(folder: Path) -> DumpError:
    with pytest.raises(DumpError) as caught:
        dump.read(folder)
    return caught.value


def test_reads_the_cluster_the_fleet_and_the_moment_it_speaks_of(folder: Path) -> None:
    found = dump.read(folder)
    assert found.now == found.cluster.taken_at == found.fleet.taken_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert [node.name for node in found.cluster.nodes] == ["n1"]
    assert [group.key for group in found.fleet.groups] == ["us-east-1/workers"]
    assert found.policy == Policy()
    assert found.memory == Memory()


def test_reads_packed_files_and_joins_what_several_hold(folder: Path) -> None:
    more = NODE | {"metadata": NODE["metadata"] | {"name": "n2"}}
    (folder / "cluster" / "more.json.gz").write_bytes(gzip.compress(json.dumps(listed(more)).encode()))
    write(folder / "fleet" / "us-east-1" / "more.json", {"AutoScalingGroups": [GROUP | {"AutoScalingGroupName": "gpu"}]})
    found = dump.read(folder)
    assert [node.name for node in found.cluster.nodes] == ["n1", "n2"]
    assert [group.name for group in found.fleet.groups] == ["gpu", "workers"]


def test_a_typed_list_and_a_single_object_read_like_a_list(folder: Path) -> None:
    bare = {"metadata": NODE["metadata"] | {"name": "n2"}}  # the items of a NodeList do not say what they are
    write(folder / "cluster" / "a.json", {"apiVersion": "v1", "kind": "NodeList", "metadata": {}, "items": [bare]})
    write(folder / "cluster" / "b.json", NODE | {"metadata": NODE["metadata"] | {"name": "n3"}, "spec": {}, "status": {}})
    assert [node.name for node in dump.read(folder).cluster.nodes] == ["n1", "n2", "n3"]


def test_the_order_of_files_does_not_matter(folder: Path) -> None:
    write(folder / "cluster" / "z.json", listed(NODE | {"metadata": NODE["metadata"] | {"name": "a"}}))
    before = dump.read(folder)
    (folder / "cluster" / "z.json").rename(folder / "cluster" / "a.json")
    assert dump.read(folder) == before


def test_a_dump_without_fleet_is_a_cluster_without_groups(folder: Path) -> None:
    (folder / "fleet" / "us-east-1" / "groups.json").unlink()
    (folder / "fleet" / "us-east-1").rmdir()
    assert dump.read(folder).fleet.groups == ()


def test_the_version_of_the_server_is_read(folder: Path) -> None:
    version = {"clientVersion": {"gitVersion": "v1.34.0"}, "serverVersion": {"gitVersion": "v1.33.1-eks-1234567"}}
    write(folder / "cluster" / "version.json", version)
    assert dump.read(folder).cluster.server_version == "v1.33.1-eks-1234567"


def test_policy_and_memory_are_read_when_they_are_there(folder: Path) -> None:
    write(folder / "policy.yaml", "scale_in: {idle_s: 60}\nmode: dry_run\n")
    node = {"node": "n1", "first_seen": "2025-12-31T00:00:00Z", "last_seen": "2026-01-01T00:00:00Z"}
    write(folder / "memory.json", {"nodes": [node]})
    found = dump.read(folder)
    assert found.policy.scale_in.idle_s == 60
    assert found.memory.nodes[0].node == "n1"


@pytest.mark.feature("FS-01")
def test_a_group_that_no_tag_marks_is_read_where_meta_names_it(folder: Path) -> None:
    write(folder / "fleet" / "us-east-1" / "groups.json", {"AutoScalingGroups": [GROUP | {"Tags": []}]})
    assert dump.read(folder).fleet.groups == ()
    write(folder / "meta.json", META | {"group_names": ["us-east-1/workers"]})
    assert [group.key for group in dump.read(folder).fleet.groups] == ["us-east-1/workers"]


def test_names_every_wrong_field_of_the_policy(folder: Path) -> None:
    write(folder / "policy.yaml", "scale_in: {idle_s: -1, budgets: [{nodes: 120%}]}\nmodes: run\n")
    with pytest.raises(PolicyError) as caught:
        dump.read(folder)
    assert [field for field, _ in caught.value.problems] == ["scale_in.idle_s", "scale_in.budgets[0].nodes", "modes"]
    assert "policy.yaml" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "key", "says"),
    [
        ("meta.json", "{", "", "no JSON"),
        ("meta.json", "[]", "", "object"),
        ("meta.json", {"cluster": "prod", "home_region": "us-east-1"}, "", "now"),
        ("meta.json", META | {"clsuter": "prod"}, "", "clsuter"),
        ("meta.json", META | {"now": "2026-01-01T00:00:00"}, "now", "zone"),
        ("meta.json", META | {"now": "yesterday"}, "now", "Invalid"),
        ("meta.json", META | {"cluster": ""}, "cluster", "empty"),
        ("meta.json", META | {"group_names": "us-east-1/workers"}, "group_names", "array"),
        ("memory.json", {"nodes": [{"node": 7}]}, "nodes[0].node", "str"),
        ("memory.json", "nothing", "", "no JSON"),
        ("cluster/x.json", "{", "", "no JSON"),
        ("cluster/x.json", [1], "", "no JSON object"),
        ("cluster/x.json", {"kind": "List", "items": [], "extra": 1}, "extra", "no Kubernetes List"),
        ("cluster/x.json", {"AutoScalingGroups": []}, "AutoScalingGroups", "no Kubernetes List"),
        ("cluster/x.json", {"kind": "List", "metadata": {"continue": "abc"}, "items": []}, "metadata.continue", "one page"),
        ("cluster/x.json", {"kind": "List"}, "items", "missing"),
        ("cluster/x.json", {"kind": "List", "items": 1}, "items", "array"),
        ("cluster/x.json", {"serverVersion": "v1.33"}, "serverVersion", "object"),
        ("cluster/nodes.yaml", "kind: List", "", "neither"),
        ("cluster/x.json.gz", "{}", "", "unpacked"),
        ("fleet/us-east-1/x.json", "{", "", "no JSON"),
        ("fleet/us-east-1/x.json", {"AutoscalingGroups": []}, "AutoscalingGroups", "AutoScalingGroups"),
        ("fleet/us-east-1/x.json", {"AutoScalingGroups": {}}, "AutoScalingGroups", "a list"),
        ("fleet/us-east-1/x.json", {"OnDemandPrices": []}, "OnDemandPrices", "an object"),
        ("fleet/us-east-1/x.json", {"Activities": [], "NextToken": "abc"}, "NextToken", "one page"),
    ],
)
def test_a_wrong_file_is_refused_by_name_and_key(folder: Path, name: str, content: object, key: str, says: str) -> None:
    write(folder / name, content)
    error = refusal(folder)
    assert Path(error.file) == folder / name
    assert error.key == key
    assert says in error.problem
    assert error.exit_code == 2


@pytest.mark.parametrize("missing", ["meta.json", "cluster/nodes.json"])
def test_a_missing_part_is_named(folder: Path, missing: str) -> None:
    (folder / missing).unlink()
    if missing.startswith("cluster"):
        (folder / "cluster").rmdir()
    error = refusal(folder)
    assert Path(error.file) == folder / Path(missing).parts[0]
    assert "missing" in error.problem


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "no such folder" in refusal(tmp_path / "none").problem


def test_hidden_files_are_no_part_of_a_dump(folder: Path) -> None:
    write(folder / "cluster" / ".DS_Store", "x")
    dump.read(folder)
