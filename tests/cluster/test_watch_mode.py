"""Watch mode on a real control plane: from a pod that its scheduler finds no node for to the capacity that AWS has accepted."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from spillway.env import env
from spillway_local.control_plane import ControlPlane
from spillway_local.kube_api import Object
from spillway_local.world import World
from spillway_local.world_dump import RawDump
from tests.world import scene

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300), pytest.mark.feature("CS-15")]

LASTS_S = 20.0  # of the minute that the function watches


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Empty, with room for ten machines of which each takes one pod."""
    answers = {scene.EAST: scene.region(scene.group(scene.EAST))}
    raw = RawDump(cluster="prod", home=scene.EAST, now=scene.NOW, objects=(), answers=answers, policy={"may_be_empty": True})
    with ControlPlane() as plane, World(raw, plane=plane, ticks=False) as world:
        monkeypatch.setenv("SPILLWAY_WATCH_MODE", "on")
        env.cache_clear()
        yield world


class Watching(threading.Thread):
    """The function's minute, of which `LASTS_S` are left, and what it answers."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world, self.answer = world, dict[str, Any]()

    def run(self) -> None:
        due = self.world.clock.now() - timedelta(seconds=55 - LASTS_S)
        self.answer = self.world.aws.functions.invoke("snapshot_cluster", {"time": due.isoformat()})


def waiting(name: str) -> Object:
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "1500m"}}}
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}}


def test_capacity_is_asked_for_while_the_function_watches_also_after_a_restart_of_the_server(world: World) -> None:
    group = f"{scene.EAST}/cpu"
    world.aws.functions.invoke("snapshot_fleet", {})
    watching = Watching(world)
    watching.start()
    world.run(lambda: world.latest_plan() is not None, 10)  # of the tick itself

    world.cluster.add(waiting("a"))
    world.run(lambda: world.desired()[group] == 1, 10)
    assert watching.is_alive()

    world.plane.restart_apiserver()  # type: ignore[union-attr]
    world.cluster.add(waiting("b"))
    world.run(lambda: world.desired()[group] == 2, 15)

    assert world.aws.functions.invoke("snapshot_cluster", {})["ended"], "a second one does not watch beside it"
    watching.join()
    assert watching.answer["views"] >= 3
    failed = {failure.function for failure in world.aws.functions.failures}
    assert failed <= {"verify_nodes"}, "which a server that has just begun may refuse until it knows its roles; it is repeated"
