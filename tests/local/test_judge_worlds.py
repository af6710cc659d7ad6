"""Random worlds: equal for equal seeds, each apart from all others, and fit for our planner and for an API server."""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from spillway.kube import markers
from spillway_local import dump
from spillway_local.clock import VirtualClock
from spillway_local.commands.plan import plan_of
from spillway_local.judge.features import BUILT, Feature
from spillway_local.judge.generator import generate
from spillway_local.judge.launches import instance_id
from spillway_local.judge.scene import CLUSTER_WIDE, FILLER, NOW, WORLD_LABEL
from spillway_local.judge.world import Planned, RandomWorld
from spillway_local.kube_api import FakeCluster

ALL = frozenset(Feature)
SEEDS = range(50)
Object = dict[str, Any]


@cache
def made(seed: int, features: frozenset[Feature] = BUILT) -> tuple[RandomWorld, Planned]:
    world = generate(seed, features)
    return world, world.plan()


def of_kind(world: RandomWorld, *kinds: str) -> list[Object]:
    return [one for one in world.objects if one["kind"] in kinds]


def key(pod: Object) -> tuple[str, str]:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


def digest(world: RandomWorld) -> str:
    return hashlib.sha256(json.dumps([world.objects, world.answers, world.policy, world.closed]).encode()).hexdigest()


def test_the_same_seed_gives_the_same_bytes_in_every_process() -> None:
    here = [digest(generate(seed, ALL)) for seed in range(3)]
    code = (
        "from spillway_local.judge.features import Feature\n"
        "from tests.local.test_judge_worlds import digest, generate\n"
        "print(*[digest(generate(seed, frozenset(reversed(Feature)))) for seed in range(3)])"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    there = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert there.stdout.split() == here
    assert len(set(here)) == 3


def pods_with(world: RandomWorld, *path: str) -> list[Any]:
    """What pods have at this path of their spec, where they have it."""
    found = [pod["spec"] for pod in of_kind(world, "Pod")]
    for field in path:
        found = [one[field] for one in found if field in one]
    return found


def asked(world: RandomWorld) -> set[str]:
    containers = [one for listed in pods_with(world, "containers") for one in listed]
    return {name for one in containers for name in one["resources"].get("requests", {})}


def effects(world: RandomWorld) -> set[str]:
    tags = [tag for group in world.answers["AutoScalingGroups"] for tag in group["Tags"]]
    return {tag["Value"].rpartition(":")[2] for tag in tags if "/taint/" in tag["Key"]}


REQUIRED, PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
SIGNS = {
    Feature.RESOURCES: lambda w: asked(w) - {"cpu", "memory"} and pods_with(w, "initContainers"),
    Feature.SELECTORS: lambda w: any(len(one) > 1 for one in pods_with(w, "nodeSelector")),
    Feature.NODE_AFFINITY: lambda w: pods_with(w, "affinity", "nodeAffinity", REQUIRED),
    Feature.PREFERRED: lambda w: pods_with(w, "affinity", "nodeAffinity", PREFERRED),
    Feature.TAINTS: lambda w: "NoSchedule" in effects(w),
    Feature.UNSCHEDULABLE: lambda w: any(node["spec"].get("unschedulable") for node in of_kind(w, "Node")),
    Feature.HOST_PORTS: lambda w: any("ports" in one for listed in pods_with(w, "containers") for one in listed),
    Feature.PRIORITIES: lambda w: {-5, 0, 1000} <= set(pods_with(w, "priority")),
    Feature.LIMITS: lambda w: w.policy and any(group["MaxSize"] < 40 for group in w.answers["AutoScalingGroups"]),
    Feature.EXISTING: lambda w: of_kind(w, "Node"),
    Feature.POD_AFFINITY: lambda w: pods_with(w, "affinity", "podAffinity"),
    Feature.POD_ANTI_AFFINITY: lambda w: pods_with(w, "affinity", "podAntiAffinity"),
    Feature.TOPOLOGY_SPREAD: lambda w: pods_with(w, "topologySpreadConstraints"),
    Feature.PREEMPTION: lambda w: "PreemptLowerPriority" in pods_with(w, "preemptionPolicy"),
    Feature.VOLUMES: lambda w: of_kind(w, "PersistentVolume") and of_kind(w, "CSINode") and pods_with(w, "volumes"),
    Feature.SHARED_VOLUMES: lambda w: [
        one for one in of_kind(w, "PersistentVolumeClaim") if "ReadWriteMany" in one["spec"]["accessModes"]
    ],
    Feature.FREE_VOLUMES: lambda w: [one for one in of_kind(w, "PersistentVolume") if one["status"]["phase"] == "Available"],
    Feature.DAEMONSETS: lambda w: of_kind(w, "DaemonSet"),
    Feature.MIXED_TYPES: lambda w: any(
        len(group.get("MixedInstancesPolicy", {"LaunchTemplate": {"Overrides": ()}})["LaunchTemplate"]["Overrides"]) > 1
        for group in w.answers["AutoScalingGroups"]
    ),
}


@pytest.mark.parametrize("feature", Feature)
def test_a_feature_is_there_when_it_is_on_and_only_then(feature: Feature) -> None:
    shown = [bool(SIGNS[feature](generate(seed, ALL))) for seed in range(20)]
    assert sum(shown) >= 3
    # Pods of classes that preempt have priorities, too, and what attaches or watches over nodes needs nodes.
    needs = {Feature.PRIORITIES: {Feature.PREEMPTION}}.get(feature, set())
    without = ALL - {feature} - needs
    assert not any(SIGNS[feature](generate(seed, without)) for seed in range(20))


@pytest.mark.parametrize("features", [BUILT, ALL], ids=["built", "all"])
def test_every_world_is_planned_to_its_last_pod(features: frozenset[Feature]) -> None:
    for seed in SEEDS:
        world, planned = made(seed, features)
        served, left = [key(pod) for pod, _ in planned.assigned], [key(pod) for pod, _ in planned.unserved]
        assert Counter(served + left) == Counter(key(pod) for pod in world.waiting())
        assert len(planned.nodes) == planned.plan.summary.nodes_new
        assert {node for _, node in planned.assigned} <= planned.nodes.keys() | names(world, "Node")
        assert all(why or pod["spec"]["priority"] == FILLER[1] for pod, why in planned.unserved)
        assert all(planned.nodes[name]["spec"]["providerID"].endswith(instance_id(name)) for name in planned.targets.values())


def names(world: RandomWorld, kind: str) -> set[str]:
    return {one["metadata"]["name"] for one in of_kind(world, kind)}


def test_nothing_in_a_world_of_today_is_left_unjudged() -> None:
    assert [made(seed)[1].plan.warnings for seed in SEEDS] == [()] * len(SEEDS)


def test_worlds_are_small_and_rules_bite() -> None:
    plans = [made(seed) for seed in SEEDS]
    mean = {
        "nodes": sum(len(of_kind(world, "Node")) + len(planned.nodes) for world, planned in plans) / len(plans),
        "pods": sum(len(of_kind(world, "Pod")) for world, _ in plans) / len(plans),
        "served": sum(len(planned.assigned) for _, planned in plans) / len(plans),
        "unserved": sum(len(planned.unserved) for _, planned in plans) / len(plans),
    }
    assert 8 < mean["nodes"] < 20
    assert 40 < mean["pods"] < 60
    assert 0.25 < mean["served"] / (mean["served"] + mean["unserved"]) < 0.8
    codes = Counter(reason.code for _, planned in plans for one in planned.plan.unserved for reason in one.reasons)
    assert codes.keys() >= {"too_small", "selector", "affinity", "taint", "zone", "at_max", "limit"}
    assert any(planned.uncordoned for _, planned in plans)


@pytest.mark.parametrize("seed", range(8))
def test_a_world_written_down_gives_the_same_plan(seed: int, tmp_path: Path) -> None:
    world, planned = made(seed, ALL)
    world.write(tmp_path / "dump")
    read = dump.read(tmp_path / "dump")
    assert (read.cluster, read.fleet) == (planned.cluster, planned.fleet)
    assert plan_of(read, tmp_path / "dump") == planned.plan


def test_a_world_keeps_to_itself() -> None:
    for seed in range(20):
        world, planned = made(seed, ALL)
        named = f"s{seed}"
        nodes = [*of_kind(world, "Node"), *planned.nodes.values(), *planned.uncordoned.values()]
        assert world.name == named
        assert all(one["metadata"]["name"].startswith(f"{named}-") for one in [*world.objects, *nodes])
        assert all(group["AutoScalingGroupName"].startswith(f"{named}-") for group in world.answers["AutoScalingGroups"])
        assert all(one["metadata"]["labels"][WORLD_LABEL] == named for one in [*nodes, *of_kind(world, "Namespace", "Pod")])
        assert all(selector[WORLD_LABEL] == named for selector in pods_with(world, "nodeSelector"))
        spaces = names(world, "Namespace")
        assert all(one["metadata"].get("namespace", named) in {*spaces, named} for one in world.objects)
        for kind in ("podAffinity", "podAntiAffinity"):
            for term in (term for terms in pods_with(world, "affinity", kind, REQUIRED) for term in terms):
                assert set(term.get("namespaces", ())) <= spaces
                assert "namespaceSelector" not in term or term["namespaceSelector"]["matchLabels"][WORLD_LABEL] == named
        for constraint in (one for listed in pods_with(world, "topologySpreadConstraints") for one in listed):
            assert constraint["nodeAffinityPolicy"] == "Honor" or constraint["topologyKey"].startswith(f"{named}.")


def test_no_pod_of_a_world_without_preemption_may_preempt() -> None:
    pods = [pod["spec"] for seed in SEEDS for pod in of_kind(made(seed)[0], "Pod")]
    assert {(pod["priority"], pod["preemptionPolicy"]) for pod in pods} == {(1000, "Never"), (0, "Never"), (-5, "Never")}
    classes = {one["metadata"]["name"]: one for one in CLUSTER_WIDE if one["kind"] == "PriorityClass"}
    assert all(classes[pod["priorityClassName"]]["value"] == pod["priority"] for pod in pods)
    assert all(classes[pod["priorityClassName"]]["preemptionPolicy"] == pod["preemptionPolicy"] for pod in pods)


def test_an_api_server_takes_every_object() -> None:
    cluster = FakeCluster(VirtualClock(NOW))
    for one in CLUSTER_WIDE:
        cluster.add(one)
    for seed in range(10):
        world, planned = made(seed, ALL)
        for one in [*world.standing(planned), *planned.nodes.values(), *world.waiting()]:
            if one not in CLUSTER_WIDE:
                cluster.add(one)
        assert cluster.get("Node", next(iter(names(world, "Node"))))


def test_what_was_bought_comes_and_then_nothing_more_is() -> None:
    for seed in SEEDS:
        world, first = made(seed)
        later = world.bought(first)
        bound = {key(pod): node for pod, node in first.assigned}
        objects = [
            one
            if one["kind"] != "Pod" or key(one) not in bound
            else {**one, "spec": {**one["spec"], "nodeName": bound[key(one)]}}
            for one in later.objects
        ]
        second = later.plan(objects, NOW)
        lucky = [
            key(pod) for pod, node in second.assigned if first.is_of_choice(node)
        ]  # which turned out to be more than was sure
        assert (second.nodes, len(second.assigned)) == ({}, len(lucky))
        assert [key(pod) for pod, _ in second.unserved] == [key(pod) for pod, _ in first.unserved if key(pod) not in lucky]
        assert sum(group.desired for group in second.fleet.groups) == sum(len(group.instances) for group in second.fleet.groups)
        assert markers.CORDONED not in {label for node in first.uncordoned for label in live(later, node)["metadata"]["labels"]}


def live(world: RandomWorld, name: str) -> Object:
    return next(node for node in of_kind(world, "Node") if node["metadata"]["name"] == name)


def test_groups_of_several_zones_do_not_launch_where_a_pod_waits_by_luck() -> None:
    launched: list[str] = []
    for seed in SEEDS:
        world, planned = made(seed)
        several = {group.name: set(group.zones) for group in planned.fleet.groups if len(group.zones) > 1}
        for target, name in planned.targets.items():
            group, zone = target.partition("#")[0], zone_of(planned, name)
            if group in several and several[group] - set(world.closed):
                assert zone not in world.closed
                launched.append(zone)
    assert len(set(launched)) > 1


def zone_of(planned: Planned, name: str) -> str:
    return str(planned.nodes[name]["metadata"]["labels"]["topology.kubernetes.io/zone"])
