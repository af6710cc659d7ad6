"""The world itself: machines become nodes and go, with a cloud controller or without, and time is one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from spillway.aws import clients
from spillway.aws.access import access
from spillway.env import env
from spillway.errors import ClusterForbidden, DumpError
from spillway.kube.session import Session
from spillway_local.clock import Stuck
from spillway_local.world import World
from tests.world import scene
from tests.world.scene import EAST, WEST


@pytest.fixture
def world() -> Iterator[World]:
    with scene.world(pods=1, ticks=False, boot_s=40, join_s=20) as made:
        yield made


def raise_to(world: World, desired: int, region: str = EAST) -> None:
    clients.client("autoscaling", region).set_desired_capacity(AutoScalingGroupName="cpu", DesiredCapacity=desired)


def test_a_machine_becomes_a_node_a_while_after_it_is_in_service(world: World) -> None:
    raise_to(world, 1)
    world.clock.run(limit_s=59)
    assert [machine.lifecycle for machine in world.machines()] == ["InService"]
    assert world.cluster.objects("Node") == []
    world.clock.run(limit_s=2)
    (node,), (machine,) = world.cluster.objects("Node"), world.machines()
    assert node["spec"]["providerID"] == f"aws:///us-east-1a/{machine.instance_id}"
    assert node["metadata"]["name"] == machine.node
    assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == "us-east-1a"
    assert node["status"]["allocatable"] == {"cpu": "1900m", "memory": "7340032Ki", "pods": "29"}


def test_the_scheduler_binds_a_pod_to_a_new_node_and_its_job_ends() -> None:
    with scene.world(pods=1, ticks=False, job_s=60) as world:
        raise_to(world, 1)
        world.clock.run(until=world.all_pods_run, limit_s=200)
        assert world.cluster.phases() == {"Running": 1}
        world.clock.run(limit_s=70)
        assert world.cluster.phases() == {"Succeeded": 1}


def test_a_node_outlives_its_machine_until_somebody_deletes_it(world: World) -> None:
    raise_to(world, 1)
    world.clock.run(limit_s=90)
    raise_to(world, 0)
    world.clock.run(limit_s=120)
    (node,) = world.cluster.objects("Node")
    ready = next(one for one in node["status"]["conditions"] if one["type"] == "Ready")
    assert (world.machines(), ready["status"]) == ([], "Unknown")


def test_where_a_cloud_controller_plays_a_node_goes_after_its_machine() -> None:
    with scene.world(pods=0, ticks=False, boot_s=40, join_s=20, cloud_controller=True) as world:
        raise_to(world, 1)
        world.clock.run(limit_s=90)
        raise_to(world, 0)
        world.clock.run(limit_s=42)
        (node,) = world.cluster.objects("Node")  # the machine is gone, and its node only missed
        ready = next(one for one in node["status"]["conditions"] if one["type"] == "Ready")
        assert (world.machines(), ready["status"]) == ([], "Unknown")
        world.clock.run(limit_s=5)
        assert world.cluster.objects("Node") == []


def test_a_machine_that_ends_before_it_joined_never_becomes_a_node(world: World) -> None:
    raise_to(world, 1)
    world.clock.run(limit_s=41)
    raise_to(world, 0)
    world.clock.run(limit_s=300)
    assert world.cluster.objects("Node") == []


def test_the_handlers_see_both_sides_in_the_worlds_time(world: World) -> None:
    world.clock.run(limit_s=100)
    seen = world.aws.functions.invoke("snapshot_fleet", {})
    assert (seen["groups"], seen["regions_unknown"]) == (2, [])
    assert world.aws.functions.invoke("snapshot_cluster", {})["pods_unschedulable"] == 1
    assert {line["cluster"] for line in world.metrics} == {"prod"}


def test_the_handlers_have_the_rights_that_are_shipped_and_no_more(world: World) -> None:
    session = Session(access(env()))
    assert session.call("GET", "/api/v1/nodes", ("list", "nodes")).status == 200
    with pytest.raises(ClusterForbidden, match="secrets"):
        session.call("GET", "/api/v1/secrets", ("list", "secrets"))


def test_regions_that_the_dump_lacks_can_be_added() -> None:
    example = Path(__file__).resolve().parents[2] / "examples" / "burst_300"
    with World.from_dump(example, regions=(EAST, WEST), ticks=False) as world:
        assert {name.partition("/")[0] for name in world.aws.groups()} == {EAST, WEST}


def test_what_never_comes_is_told_with_its_time(world: World) -> None:
    world.clock.run(limit_s=60)
    with pytest.raises(Stuck, match="2026-01-01T00:01:00Z nothing is left"):
        world.run(until=world.all_pods_run, limit_s=300)


def test_a_folder_that_is_no_dump_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match="nowhere"):
        World.from_dump(tmp_path / "nowhere")
