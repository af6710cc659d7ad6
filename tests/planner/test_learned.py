"""What live nodes show beats what was computed, for their group and, as to memory, for their type."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import pytest

from spillway.model import quantity
from spillway.model.cluster import Node, Taint
from spillway.model.fleet import Choice, NodeGroup, Variant
from spillway.model.memory import Drain, LearnedTemplate, Memory
from spillway.model.selector import UNTOLD, NodeSelectorTerm, Requirement
from spillway.planner import clocks
from spillway.planner.view import view
from tests.builders import (
    GPU,
    NOW,
    Pods,
    ago,
    amounts,
    cluster,
    desired,
    fleet,
    group,
    node,
    plan_for,
    pod,
    policy,
    tolerate,
)

GIB = 1024**3
TYPE = "m5.xlarge"


def choice(instance_type: str = TYPE, memory: str = "14Gi", gpu: int = 0, definition: str = "lt-1:1", **fields: Any) -> Choice:
    """16 GiB of EC2's, of which 1 is guessed to be the hypervisor's."""
    given = {"memory_bytes": 16 * GIB, "overhead_bytes": GIB, **fields}
    return Choice(
        instance_type=instance_type,
        allocatable={**amounts("4", memory, gpu, {}), "pods": 58},
        definition=definition,
        **given,
    )


def workers(
    *nodes: Node, name: str = "g", choices: Iterable[Choice] = (), stated: Iterable[str] = (), **fields: Any
) -> NodeGroup:
    """A group whose nodes are all launched by `lt-1:1`, as the types of `choices`."""
    made, options = group(name, nodes=nodes, **fields), tuple(choices) or (choice(),)
    assert made.template is not None
    template = msgspec.structs.replace(
        made.template,
        instance_types=tuple(one.instance_type for one in options),
        allocatable=quantity.smallest(*(one.allocatable for one in options)),
        choices=options,
        fingerprint=",".join(sorted({one.definition for one in options})),
        stated=tuple(stated),
    )
    members = tuple(msgspec.structs.replace(one, definition="lt-1:1") for one in made.instances)
    return msgspec.structs.replace(made, template=template, instances=members)


def after(*objects: Node | NodeGroup, memory: Memory | None = None, rules: Mapping[str, Any] | None = None) -> Memory:
    """What is remembered once these nodes and groups were seen."""
    nodes, groups = [o for o in objects if isinstance(o, Node)], [o for o in objects if isinstance(o, NodeGroup)]
    return clocks.observe(memory or Memory(), cluster(*nodes), fleet(*groups), policy(**(rules or {})), NOW)


def learned(*objects: Node | NodeGroup, **known: Any) -> LearnedTemplate:
    (found,) = after(*objects, **known).templates
    return found


@pytest.mark.feature("FS-03")
class TestAllocatable:
    def test_a_node_shows_what_the_next_one_will_have(self) -> None:
        seen, waiting = node("n1", memory="15Gi"), pod("new", memory="14500Mi")
        full = pod("full", memory="15Gi", node="n1")

        assert desired(plan_for(seen, full, waiting, workers(seen))) == {"g": 2}
        assert desired(plan_for(waiting, workers())) == {}, "14 GiB are guessed of a type that nobody saw"

    def test_the_least_that_was_seen_counts_also_when_that_node_is_gone(self) -> None:
        large, small = node("n1", memory="15Gi"), node("n2", memory="14800Mi")
        both = after(large, small, workers(large, small))

        assert both.templates[0].allocatable["memory"] == 14800 * 1024**2
        assert learned(large, workers(large), memory=both).allocatable["memory"] == 14800 * 1024**2

    def test_nodes_of_one_type_show_nothing_of_those_that_no_choice_stands_for(self) -> None:
        def with_others(one: NodeGroup) -> NodeGroup:
            assert one.template is not None
            least = {**one.template.allocatable, "memory": 8 * GIB}
            return msgspec.structs.replace(
                one, template=msgspec.structs.replace(one.template, others=(Variant(),), allocatable=least)
            )

        seen = node("n1", memory="15Gi")
        kept = after(seen, with_others(workers(seen)))

        assert desired(plan_for(pod("new", memory="9Gi"), with_others(workers()), memory=kept)) == {}
        assert desired(plan_for(pod("new", memory="8Gi"), with_others(workers()), memory=kept)) == {"g": 1}

    def test_it_is_kept_while_the_group_is_empty(self) -> None:
        seen = node("n1", memory="15Gi")
        kept = after(workers(), memory=after(seen, workers(seen)))

        assert desired(plan_for(pod("new", memory="14500Mi"), workers(), memory=kept)) == {"g": 1}

    def test_it_is_dropped_when_the_definition_of_the_launch_changes(self) -> None:
        seen = node("n1", memory="15Gi")
        newer = workers(seen, choices=[choice(definition="lt-1:2")])

        assert after(seen, newer, memory=after(seen, workers(seen))).templates == ()

    def test_a_node_of_an_older_definition_shows_nothing(self) -> None:
        seen = node("n1", memory="15Gi")

        assert after(seen, workers(seen, choices=[choice(definition="lt-1:2")])).templates == ()

    def test_it_is_forgotten_when_it_was_not_seen_for_two_months(self) -> None:
        seen = node("n1", memory="15Gi")
        (record,) = after(seen, workers(seen)).templates
        old = Memory(templates=(msgspec.structs.replace(record, seen_at=ago(60 * 86400)),))

        assert after(workers(), memory=old).templates == ()

    def test_what_tags_state_holds_against_it(self) -> None:
        seen, full = node("n1", memory="15Gi"), pod("full", memory="15Gi", node="n1")
        tagged = workers(seen, stated=["memory"])

        assert desired(plan_for(seen, full, pod("new", memory="14500Mi"), tagged)) == {}

    def test_of_several_types_the_least_counts_seen_or_computed(self) -> None:
        seen, full = node("n1", memory="15Gi"), pod("full", memory="15Gi", node="n1")
        both = [choice(), choice("m5a.xlarge", memory="13Gi")]

        assert desired(plan_for(seen, full, pod("new", memory="13500Mi"), workers(seen, choices=both))) == {}
        assert desired(plan_for(seen, full, pod("new", memory="12500Mi"), workers(seen, choices=both))) == {"g": 2}


@pytest.mark.feature("FS-03")
class TestDevices:
    @pytest.mark.parametrize("age_s", [60, 86400], ids=["young", "old"])
    def test_a_node_whose_device_plugin_is_not_up_does_not_teach_that_there_are_no_gpus(self, age_s: float) -> None:
        bare = node("n1", memory="15Gi", age_s=age_s)

        assert after(bare, workers(bare, choices=[choice(gpu=4)])).templates == ()

    def test_devices_that_nobody_computed_are_those_that_all_nodes_have_now(self) -> None:
        one, two = node("n1", resources={"example.com/fuse": 8}), node("n2")
        lacking = after(one, two, workers(one, two))

        assert "example.com/fuse" not in lacking.templates[0].allocatable
        mended = node("n2", resources={"example.com/fuse": 8})
        assert learned(one, mended, workers(one, mended), memory=lacking).allocatable["example.com/fuse"] == 8

    def test_a_device_that_is_shared_by_time_counts_as_often_as_its_nodes_say(self) -> None:
        sliced = node("n1", gpu=8)

        assert learned(sliced, workers(sliced, choices=[choice(gpu=4)])).allocatable[GPU] == 8


@pytest.mark.feature("FS-03")
@pytest.mark.parametrize(
    "fields",
    [{"ready": False}, {"deleting": True}, {"taints": [Taint(key="node.cilium.io/agent-not-ready", effect="NoExecute")]}],
    ids=["not ready", "being deleted", "with a startup taint"],
)
def test_a_node_that_is_not_whole_shows_nothing(fields: dict[str, Any]) -> None:
    unfit = node("n1", memory="15Gi", **fields)

    assert after(unfit, workers(unfit)).templates == ()


@pytest.mark.feature("FS-03")
def test_a_node_under_drain_shows_nothing() -> None:
    """Its agents may be on their way out, and what they gave it with them."""
    leaving = node("n1", memory="15Gi")
    drain = Memory(drains=(Drain(node="n1", plan_id="p", step=1, since=ago(60)),))

    assert after(leaving, workers(leaving), memory=drain).templates == ()


@pytest.mark.feature("FS-03")
class TestHypervisor:
    def test_memory_that_it_keeps_is_a_types_own_and_counts_for_other_groups(self) -> None:
        """15.5 of 16 GiB are there, where a GiB was guessed to be missing: half a GiB more for a group that nobody saw."""
        seen, full = node("n1", memory="15Gi", memory_bytes=15 * GIB + GIB // 2), pod("full", memory="15Gi", node="n1")
        other = workers(name="other", max_size=5)
        here = workers(seen, max_size=1)

        assert desired(plan_for(seen, full, pod("new", memory="14500Mi"), here, other)) == {"other": 1}
        assert desired(plan_for(seen, full, pod("new", memory="14900Mi"), here, other)) == {}

    def test_the_most_that_was_seen_counts(self) -> None:
        one, two = node("n1", memory="14Gi", memory_bytes=15 * GIB), node("n2", memory="14Gi", memory_bytes=15 * GIB + 1)

        assert learned(one, two, workers(one, two)).overhead_bytes == GIB

    def test_a_node_that_keeps_nothing_for_itself_is_made_up(self) -> None:
        simulated = node("n1", memory="12Gi", memory_bytes=12 * GIB)

        assert learned(simulated, workers(simulated)).overhead_bytes is None


@pytest.mark.feature("FS-03")
class TestLabelsAndTaints:
    LABELS = {"team": "a", "example.com/serial": "n1-0815", "topology.kubernetes.io/zone": "us-east-1a"}

    def test_what_two_nodes_share_and_is_not_their_own_the_next_one_will_have(self) -> None:
        nodes = [node(f"n{n}", labels={**self.LABELS, "example.com/serial": f"n{n}-0815"}) for n in (1, 2)]

        assert learned(*nodes, workers(*nodes)).labels == {"team": "a"}

    def test_what_one_node_has_may_be_put_on_by_hand(self) -> None:
        alone = node("n1", labels={"maintenance": "true"}, taints=[Taint(key="maintenance", effect="NoSchedule")])
        found = learned(alone, workers(alone))

        assert (found.labels, found.taints) == ({}, ())

    def test_pods_that_select_a_label_of_its_nodes_get_a_node_also_from_none(self) -> None:
        nodes = [node(f"n{n}", labels={"team": "a"}) for n in (1, 2)]
        kept = after(*nodes, workers(*nodes))

        assert desired(plan_for(pod("new", node_selector={"team": "a"}), workers(), memory=kept)) == {"g": 1}
        assert desired(plan_for(pod("new", node_selector={"team": "a"}), workers())) == {}

    def test_a_taint_that_its_nodes_share_keeps_pods_from_buying_there(self) -> None:
        dedicated = Taint(key="dedicated", value="batch", effect="NoSchedule")
        cordon = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
        nodes = [node(f"n{n}", taints=[dedicated, cordon]) for n in (1, 2)]
        kept = after(*nodes, workers(*nodes))

        assert kept.templates[0].taints == (dedicated,)
        assert desired(plan_for(pod("new"), workers(), memory=kept)) == {}

    def test_of_several_types_only_what_nodes_of_each_have_is_sure(self) -> None:
        nodes = [node(f"n{n}", labels={"team": "a"}) for n in (1, 2)]
        both = [choice(), choice("m5a.xlarge")]
        kept = after(*nodes, workers(*nodes, choices=both))

        assert desired(plan_for(pod("new", node_selector={"team": "a"}), workers(choices=both), memory=kept)) == {}

    def test_what_nodes_of_one_type_have_may_come(self) -> None:
        nodes = [node(f"n{n}", labels={"fast": "yes"}, taints=[Taint(key="own", effect="NoSchedule")]) for n in (1, 2)]
        both = [choice(), choice("m5a.xlarge")]
        kept = after(*nodes, workers(*nodes, choices=both))
        anywhere = tolerate("own", operator="Exists")
        unlike = NodeSelectorTerm(expressions=(Requirement(key="fast", operator="DoesNotExist"),))

        def bought(waiting: Pods, **given: Memory) -> dict[str, int]:
            return desired(plan_for(waiting, workers(choices=both), **given))

        assert bought(pod("new")) == {"g": 1}
        assert bought(pod("new"), memory=kept) == {}
        assert bought(pod("new", tolerations=(anywhere,)), memory=kept) == {"g": 1}
        assert bought(pod("new", tolerations=(anywhere,), node_affinity=(unlike,)), memory=kept) == {}

    def test_what_all_have_is_no_types_own(self) -> None:
        labels, taints = {"fast": "yes"}, [Taint(key="own", effect="NoSchedule")]
        nodes = [node(f"n{n}", labels=labels, taints=taints) for n in (1, 2)]
        one = view(cluster(*nodes), fleet(workers(*nodes)), after(*nodes, workers(*nodes)), policy(), NOW).groups
        template = one["us-east-1/g"].template

        assert template is not None
        assert (template.labels["fast"], template.taints, template.variants) == ("yes", tuple(taints), ())

    def test_and_each_types_nodes_may_show_another(self) -> None:
        types = {"m5.xlarge": "riscv", "m5a.xlarge": "arm64"}
        unclear = [choice(name, own=Variant(labels={"arch": UNTOLD})) for name in types]
        nodes = [node(f"n{n}", labels={"arch": arch}) for n, arch in enumerate(2 * list(types.values()))]
        seen = workers(*nodes, choices=unclear)
        born = [msgspec.structs.replace(one, instance_type=list(types)[n % 2]) for n, one in enumerate(seen.instances)]
        kept = after(*nodes, msgspec.structs.replace(seen, instances=tuple(born)))
        either = NodeSelectorTerm(expressions=(Requirement(key="arch", operator="In", values=tuple(types.values())),))
        waiting = pod("new", node_affinity=(either,))

        assert desired(plan_for(waiting, workers(choices=unclear))) == {}
        assert desired(plan_for(waiting, workers(choices=unclear), memory=kept)) == {"g": 1}

    def test_what_nobody_knew_of_a_type_its_nodes_show(self) -> None:
        unclear = choice(own=Variant(labels={"arch": UNTOLD}))
        nodes = [node(f"n{n}", labels={"arch": "riscv"}) for n in (1, 2)]
        kept = after(*nodes, workers(*nodes, choices=[unclear]))
        waiting = pod("new", node_selector={"arch": "riscv"})

        assert desired(plan_for(waiting, workers(choices=[unclear]))) == {}
        assert desired(plan_for(waiting, workers(choices=[unclear]), memory=kept)) == {"g": 1}
