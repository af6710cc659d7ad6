"""What nodes show of their group is kept in the table from tick to tick, and read from a dump."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from spillway.aws.table import Table, keys, memory, snapshots
from spillway.model.base import encode
from spillway.model.cluster import Node
from spillway.model.memory import LearnedTemplate, Memory
from spillway_local import dump
from spillway_local.commands.plan import plan_of
from tests.builders import cluster, fleet, node
from tests.cli.dumps import Dumps, group, pod
from tests.cli.dumps import node as shorthand
from tests.planner.test_learned import choice, workers
from tests.workflow.world import CLUSTER, HOME, NOW, World, open_world

SEEN = node("n1", memory="15Gi", labels={"team": "a"})
RECORD = LearnedTemplate(
    region=HOME, group="g", instance_type="m5.xlarge", fingerprint="lt-1:1", seen_at=NOW,
    allocatable={"cpu": 4000, "memory": 15 << 30, "pods": 110},
)  # fmt: skip


@pytest.fixture
def world() -> Iterator[World]:
    with open_world() as opened:
        yield opened


def tick(world: World, *nodes: Node, minutes: int = 0, definition: str = "lt-1:1") -> list[LearnedTemplate]:
    """The templates of the table after a plan that saw group `g` with these nodes."""
    at = NOW + timedelta(minutes=minutes)
    supply = fleet(workers(*nodes, choices=[choice(definition=definition)]), taken_at=at)
    demand = msgspec.structs.replace(cluster(*nodes, taken_at=at), cluster=CLUSTER)
    snapshots.store_fleet(world.table, msgspec.structs.replace(supply, cluster=CLUSTER))
    snapshots.store_cluster(world.table, demand)
    world.handle("plan", {"cluster": CLUSTER})
    return [msgspec.json.decode(item["body"], type=LearnedTemplate) for item in world.table.query(keys.TEMPLATE)]


@pytest.mark.feature("FS-03")
def test_what_a_node_shows_is_kept_after_it_has_gone_until_the_definition_changes(world: World) -> None:
    assert tick(world, SEEN) == [RECORD]
    assert tick(world, minutes=5) == [RECORD]
    assert tick(world, minutes=6, definition="lt-1:2") == []


@pytest.mark.feature("FS-03")
def test_nothing_is_written_while_nothing_new_is_seen_but_once_a_day(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    tick(world, SEEN)
    written: list[str] = []
    put_many = Table.put_many
    monkeypatch.setattr(
        Table,
        "put_many",
        lambda self, items, gone=(): put_many(self, [written.append(sk) or (sk, of) for sk, of in items], gone),  # type: ignore[func-returns-value]
    )

    tick(world, SEEN, minutes=1)
    assert [sk for sk in written if sk.startswith(keys.TEMPLATE)] == []

    (found,) = tick(world, SEEN, minutes=24 * 60)
    assert [sk for sk in written if sk.startswith(keys.TEMPLATE)] == [keys.template(*RECORD.key)]
    assert found.seen_at == NOW + timedelta(days=1)


@pytest.mark.feature("FS-03")
def test_the_table_gives_back_what_was_stored(world: World) -> None:
    kept = Memory(templates=(msgspec.structs.replace(RECORD, labels={"team": "a"}, overhead_bytes=1 << 29),))

    memory.save(world.table, Memory(), kept)

    assert memory.load(world.table, lambda plan_id: True).templates == kept.templates
    memory.save(world.table, kept, Memory())
    assert memory.load(world.table, lambda plan_id: True).templates == ()


@pytest.fixture
def dumps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Dumps:
    return Dumps(tmp_path, capsys)


@pytest.mark.feature("FS-03")
def test_the_memory_of_a_dump_carries_it(dumps: Dumps) -> None:
    folder = dumps.write([pod("new", memory="15Gi")], {HOME: [group("g")]}, defaults="exact")
    before = dump.read(folder)
    (found,) = before.fleet.groups
    assert found.template is not None
    known = msgspec.structs.replace(
        RECORD, fingerprint=found.template.fingerprint, allocatable={**found.template.allocatable, "memory": 15 << 30}
    )
    assert plan_of(before, folder).summary.nodes_new == 0, "an m5.xlarge is guessed to have less than 14 GiB"

    (folder / "memory.json").write_bytes(encode(Memory(templates=(known,))))

    assert plan_of(dump.read(folder), folder).summary.nodes_new == 1


@pytest.mark.feature("FS-03")
@pytest.mark.parametrize(("capacity", "nodes"), [("1016000Mi", 1), ("1007423Mi", 2)], ids=["told", "made up"])
def test_memory_that_a_node_tells_of_counts_for_other_groups_of_its_type(dumps: Dumps, capacity: str, nodes: int) -> None:
    """Four pods of 240,954 MiB fit an i4i.32xlarge, of which 961,470 MiB are guessed and 1,007,423 are there."""
    seen = {"cpu": "127610m", "memory": "1007423Mi", "pods": 737, "status": {"capacity": {"cpu": "128", "memory": capacity}}}
    world = [
        shorthand("n1", group="g", **seen),
        pod("full", cpu="4", memory="1000000Mi", node="n1"),
        pod("new", count=4, cpu="20", memory="240954Mi"),
    ]
    groups = [group("g", "i4i.32xlarge", max=1), group("other", "i4i.32xlarge")]

    folder = dumps.write(world, {HOME: groups}, defaults="exact")

    plan = plan_of(dump.read(folder), folder)
    assert [(step.group, step.nodes) for step in plan.scale_out] == [("other", nodes)]
