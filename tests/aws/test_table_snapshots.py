"""Snapshots: written in parts, read whole or not at all."""

import base64
import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from spillway.aws import clients
from spillway.aws.table import Table, keys, parts, schemas, snapshots
from spillway.errors import AwsUnavailable, ClusterStale, NotFound, SnapshotTooNew
from spillway.model.cluster import CLUSTER_SCHEMA_VERSION, ClusterSnapshot, Node, PodSet, PodShape, PodState, UnreadNode
from spillway.model.fleet import FleetSnapshot, NodeGroup
from spillway.model.reason import Code, Reason
from spillway.model.volumes import FreeVolumes
from spillway.model.workloads import (
    Budget,
    CapacityBuffer,
    Daemon,
    Gang,
    GangSource,
    Namespace,
    PriorityList,
    ProvisioningRequest,
)
from tests.workflow.world import CLUSTER, HOME, NOW, World, open_world


@pytest.fixture
def world() -> Iterator[World]:
    with open_world() as opened:
        yield opened


def cluster(nodes: int = 3, pods: int = 2, at_s: int = 0) -> ClusterSnapshot:
    return ClusterSnapshot(
        cluster=CLUSTER,
        taken_at=NOW + timedelta(seconds=at_s),
        nodes=tuple(
            Node(name=f"node-{n:05}", created=NOW, allocatable={"cpu": 4000, "pods": 58}, labels={"zone": f"z{n * 7919 % 97}"})
            for n in range(nodes)
        ),
        shapes=(PodShape(id="web", namespace="shop", requests={"cpu": 500}),),
        pods=(
            PodSet(
                shape="web",
                state=PodState.UNSCHEDULABLE,
                names=tuple(f"shop/web-{n * 2654435761 % 2**32:08x}-{n}" for n in range(pods)),
                created=(NOW,) * pods,
            ),
        ),
    )


def fleet() -> FleetSnapshot:
    group = NodeGroup(region=HOME, name="general", min_size=0, max_size=9, desired=2)
    return FleetSnapshot(cluster=CLUSTER, home_region=HOME, taken_at=NOW, groups=(group,))


def writes(world: World) -> list[str]:
    """Keys of the parts in the table."""
    items = clients.client("dynamodb", HOME).scan(TableName=world.table.name)["Items"]
    return sorted(item["pk"]["S"] for item in items if item["sk"]["S"] == "PART")


@pytest.mark.feature("CS-13")
def test_reads_back_what_was_stored_under_the_id_of_its_head(world: World) -> None:
    head = snapshots.store_cluster(world.table, cluster())
    fleet_head = snapshots.store_fleet(world.table, fleet())

    assert snapshots.latest_cluster(world.table) == msgspec.structs.replace(cluster(), id=head)
    assert snapshots.latest_fleet(world.table) == msgspec.structs.replace(fleet(), id=fleet_head)
    assert snapshots.head_ids(world.table) == (head, fleet_head)


@pytest.mark.feature("CS-13")
def test_an_older_snapshot_is_read_by_its_id(world: World) -> None:
    first = snapshots.store_cluster(world.table, cluster(nodes=2))
    snapshots.store_cluster(world.table, cluster(nodes=3, at_s=60))

    assert len(snapshots.cluster(world.table, first).nodes) == 2
    with pytest.raises(NotFound, match="no-such-head"):
        snapshots.fleet(world.table, "no-such-head")


@pytest.mark.feature("CS-13")
def test_every_item_is_under_400_kb_also_when_one_shape_has_100000_pods(world: World) -> None:
    snapshots.store_cluster(world.table, cluster(nodes=100, pods=100_000))

    items = clients.client("dynamodb", HOME).scan(TableName=world.table.name)["Items"]
    sizes = [len(item["body"]["B"]) for item in items if "body" in item]
    assert len([size for size in sizes if size > 100_000]) > 1
    assert max(sizes) <= parts.MAX_BYTES
    assert len(snapshots.latest_cluster(world.table).pods[0].names) == 100_000


@pytest.mark.feature("CS-13")
def test_an_unchanged_part_is_not_written_again_but_the_head_is(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots.store_cluster(world.table, cluster(nodes=5000))
    before = writes(world)
    written: list[str] = []
    put = type(world.table).put
    monkeypatch.setattr(
        type(world.table), "put", lambda table, sk, *rest, **named: (written.append(sk), put(table, sk, *rest, **named))
    )

    snapshots.store_cluster(world.table, cluster(nodes=5000, at_s=60))

    assert len(before) >= 4
    assert writes(world) == before
    assert written == ["MANIFEST", keys.HEAD_CLUSTER]
    assert snapshots.latest_cluster(world.table).taken_at == NOW + timedelta(seconds=60)


@pytest.mark.feature("CS-13")
def test_one_changed_node_writes_one_part(world: World) -> None:
    full = cluster(nodes=5000)
    snapshots.store_cluster(world.table, full)
    before = set(writes(world))
    changed = msgspec.structs.replace(full.nodes[1234], unschedulable=True)

    nodes = (*full.nodes[:1234], changed, *full.nodes[1235:])
    snapshots.store_cluster(world.table, msgspec.structs.replace(full, nodes=nodes))

    assert len(set(writes(world)) - before) <= 2
    assert snapshots.latest_cluster(world.table).nodes[1234].unschedulable


@pytest.mark.feature("CS-13")
def test_a_write_that_dies_half_way_leaves_the_old_head(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots.store_cluster(world.table, cluster(nodes=1))
    put = type(world.table).put

    def dies_at_the_head(table: object, sk: str, *rest: object, **named: object) -> None:
        if sk == keys.HEAD_CLUSTER:
            raise RuntimeError("killed")
        put(table, sk, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(type(world.table), "put", dies_at_the_head)
    with pytest.raises(RuntimeError, match="killed"):
        snapshots.store_cluster(world.table, cluster(nodes=9, at_s=60))

    assert len(snapshots.latest_cluster(world.table).nodes) == 1


@pytest.mark.feature("CS-13")
def test_a_head_whose_parts_are_gone_is_never_returned(world: World) -> None:
    snapshots.store_cluster(world.table, cluster())
    for pk in writes(world):
        clients.client("dynamodb", HOME).delete_item(TableName=world.table.name, Key={"pk": {"S": pk}, "sk": {"S": "PART"}})

    with pytest.raises(NotFound, match="a part of snapshot"):
        snapshots.latest_cluster(world.table)


@pytest.mark.feature("CS-13")
def test_a_part_in_use_is_written_anew_before_it_expires(world: World) -> None:
    snapshots.store_cluster(world.table, cluster())
    world.clock.pass_s(parts.KEEP_S - 3600)
    snapshots.store_cluster(world.table, cluster(at_s=parts.KEEP_S - 3600))

    items = clients.client("dynamodb", HOME).scan(TableName=world.table.name)["Items"]
    oldest = min(int(item[keys.TTL]["N"]) for item in items if item["sk"]["S"] in ("PART", keys.HEAD_CLUSTER))
    assert oldest > world.clock.now.timestamp() + 86400


@pytest.mark.feature("CS-13")
def test_a_slow_read_that_ends_late_does_not_turn_the_clock_back(world: World) -> None:
    snapshots.store_cluster(world.table, cluster(nodes=3, at_s=60))
    with pytest.raises(ClusterStale):
        snapshots.store_cluster(world.table, cluster(nodes=1, at_s=0))

    assert len(snapshots.latest_cluster(world.table).nodes) == 3


def test_without_a_head_the_snapshot_is_not_found(world: World) -> None:
    with pytest.raises(NotFound, match="HEAD#fleet"):
        snapshots.latest_fleet(world.table)
    assert snapshots.head_ids(world.table) == ("", "")


def everything() -> ClusterSnapshot:
    """Each list has something."""
    wait = Reason(code=Code.OBJECT_UNREADABLE, text="pod shop/bad is set aside: 'lots' is no quantity")
    return msgspec.structs.replace(
        cluster(),
        unread_nodes=(UnreadNode(name="n9"),),
        namespaces=(Namespace(name="shop", labels={"team": "a"}),),
        budgets=(Budget(namespace="shop", name="web", allowed=1, shapes=("web",)),),
        daemons=(Daemon(namespace="kube-system", name="agent", shape="web"),),
        gangs=(Gang(id="kueue/shop/train", source=GangSource.KUEUE, namespace="shop", name="train", min_pods=8),),
        buffers=(CapacityBuffer(namespace="shop", name="spare", shape="web", pods=3),),
        provisioning_requests=(ProvisioningRequest(namespace="shop", name="soon", class_name="check"),),
        priorities=(PriorityList(priority=9, patterns=("spot-.*",)),),
        free_volumes=(FreeVolumes(id="0a", terms=None, count=2),),
        warnings=(wait,),
    )


@pytest.mark.feature("CS-13")
def test_every_list_of_a_snapshot_is_in_parts_since_any_may_be_large(world: World) -> None:
    lists = {name for name in ClusterSnapshot.__struct_fields__ if isinstance(getattr(cluster(), name), tuple)}
    head = snapshots.store_cluster(world.table, everything())

    assert all(getattr(everything(), name) for name in lists)
    assert snapshots.latest_cluster(world.table) == msgspec.structs.replace(everything(), id=head)
    assert len(writes(world)) == len(lists)


@pytest.mark.feature("CS-13")
def test_a_head_stays_small_however_much_of_anything_there_is(world: World) -> None:
    many = msgspec.structs.replace(
        everything(),
        budgets=tuple(Budget(namespace="shop", name=f"budget-{n * 2654435761 % 2**32:08x}", allowed=n) for n in range(30_000)),
        gangs=tuple(
            Gang(id=f"{n * 2654435761 % 2**32:08x}", source=GangSource.JOBSET, namespace="a", name=f"{n}", min_pods=n)
            for n in range(30_000)
        ),
    )
    snapshots.store_cluster(world.table, many)

    items = clients.client("dynamodb", HOME).scan(TableName=world.table.name)["Items"]
    assert max(len(item["body"]["B"]) for item in items if item["sk"]["S"] in ("MANIFEST", keys.HEAD_CLUSTER)) < 10_000
    assert len(snapshots.latest_cluster(world.table).gangs) == 30_000


@pytest.mark.feature("CS-13")
def test_parts_are_written_several_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table answers in milliseconds: one after the other, the parts of a large cluster would take a second."""
    two = threading.Barrier(2, timeout=5)  # breaks, and the test fails, when one waits for the other to end
    put = type(world.table).put

    def together(table: Table, sk: str, *rest: Any, **named: Any) -> None:
        if sk == "PART":
            two.wait()
        put(table, sk, *rest, **named)

    monkeypatch.setattr(type(world.table), "put", together)
    parts.write(world.table, (b"one", b"two"), {})
    assert len(writes(world)) == 2


@pytest.mark.feature("CS-13")
def test_a_part_that_is_refused_leaves_the_old_head(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots.store_cluster(world.table, cluster(nodes=1))
    put, refused = type(world.table).put, []

    def refuses_one(table: Table, sk: str, *rest: Any, **named: Any) -> None:
        if sk == "PART" and not refused:
            refused.append(sk)
            raise AwsUnavailable(HOME, "dynamodb:PutItem", "throttled")
        put(table, sk, *rest, **named)

    monkeypatch.setattr(type(world.table), "put", refuses_one)
    with pytest.raises(AwsUnavailable, match="throttled"):
        snapshots.store_cluster(world.table, cluster(nodes=9, at_s=60))

    assert len(snapshots.latest_cluster(world.table).nodes) == 1


def stored(world: World, file: str) -> None:
    """Puts the items of a recorded table; bodies are in base64."""
    for item in json.loads((Path(__file__).parent / "fixtures" / file).read_text()):
        body = base64.b64decode(item["body"])
        world.table.put(item["sk"], {**{k: v for k, v in item.items() if k not in ("pk", "sk")}, "body": body}, pk=item["pk"])


@pytest.mark.feature("CS-13")
class TestOtherVersions:
    """fixtures/snapshot_1.json is the table as the first schema's code wrote it: one node, and pods of three shapes."""

    def test_a_snapshot_of_the_first_schema_still_reads(self, world: World) -> None:
        stored(world, "snapshot_1.json")
        found = snapshots.latest_cluster(world.table)

        assert (found.schema_version, found.server_version) == (CLUSTER_SCHEMA_VERSION, "v1.33.1")
        assert [node.machine and node.machine.instance_id for node in found.nodes] == ["i-0a"]
        assert {one.shape: one.names for one in found.pods} == {
            "data": ("db-0",), "gpu": ("train-0",), "web": ("web-0", "web-1"),
        }  # fmt: skip
        assert [shape.resource_claims for shape in found.shapes] == [(), ("gpu",), ()]
        assert found.warnings[0].code == Code.OBJECT_UNREADABLE

    def test_what_its_pods_ask_of_volumes_is_not_known_so_no_node_is_bought_for_them(self, world: World) -> None:
        stored(world, "snapshot_1.json")
        data, *others = snapshots.latest_cluster(world.table).shapes

        assert [need.problem for need in data.volumes] == [schemas.UNKNOWN_VOLUMES]
        assert [shape.volumes for shape in others] == [(), ()]

    def test_so_does_an_older_one_by_its_id(self, world: World) -> None:
        stored(world, "snapshot_1.json")
        head = snapshots.head_ids(world.table)[0]
        snapshots.store_cluster(world.table, cluster(at_s=60))

        assert snapshots.cluster(world.table, head).id == head

    def test_a_newer_one_is_refused_and_the_error_says_what_to_deploy(self, world: World) -> None:
        newer = msgspec.structs.replace(cluster(), schema_version=CLUSTER_SCHEMA_VERSION + 1)
        snapshots.store_cluster(world.table, newer)

        with pytest.raises(SnapshotTooNew, match=r"schema version 3, and .* reads up to 2.*Deploy the newer planner first"):
            snapshots.latest_cluster(world.table)

    def test_after_a_step_back_the_older_code_stores_over_it(self, world: World) -> None:
        newer = msgspec.structs.replace(cluster(), schema_version=CLUSTER_SCHEMA_VERSION + 1)
        snapshots.store_cluster(world.table, newer)
        head = snapshots.store_cluster(world.table, cluster(nodes=5, at_s=60))

        assert snapshots.latest_cluster(world.table).id == head
