"""What anybody may write into a cluster: it breaks nothing, fills nothing and is said, and all else is read as if it were not
there.

Each field that is read of each kind is bent in turn. What the API server would not store is tried, too: a dump may hold it.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from spillway.kube.budgets import NAMED_IN
from spillway.kube.fields import UNREADABLE
from spillway.kube.objects import Objects
from spillway.kube.reduce import reduce
from spillway.model.base import decode, encode
from spillway.model.cluster import ClusterSnapshot, PodState
from spillway.model.reason import Code
from tests.kube.every_kind import HOME, bound_pod, samples, waiting_pod
from tests.kube.objects import NOW, Object, budget, listed, node, pod, set_of, snapshot_of

pytestmark = pytest.mark.feature("RS-06")

Path = tuple[str | int, ...]
KINDS = sorted(samples())
DEEP = "[" * 1100 + "]" * 1100
WRONG = (
    "null", "true", "-1", "1e999999999", "NaN", "1" + "0" * 400, '"\\u0000\\n\\u001b[31m"', '"\\ud800"', '"\xff"', '"1e30"',
    f'"{"9" * 5000}"', '"9223372036854775808h"', '"10000-01-01T00:00:00Z"', '"2026-01-01T00:00:00"', "[]",
    '[[], null, {}, "a", 1]', "{}", '{"": {"": []}}', '{"a": null, "a": 1}', DEEP,
)  # fmt: skip

NO_JSON = ("NaN", DEEP, '"\\ud800"')  # no page with these decodes


def paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """Of the value and all within."""
    yield at
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from paths(inner, (*at, key))


def bent(value: Any, at: Path, wrong: str) -> bytes:
    """JSON in which `wrong` stands at that place, whatever bytes it is made of."""
    if not at:
        return wrong.encode("latin-1")
    copy = json.loads(json.dumps(value))
    inner = copy
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = "@@"
    return json.dumps(copy).replace('"@@"', wrong).encode("latin-1")


def named(one: Object, name: str) -> Object:
    return {**one, "metadata": {**one["metadata"], "name": name}}


def others() -> Objects:
    """A cluster in which all kinds are there."""
    found = Objects()
    found.add(listed(pod("good"), pod("good-bound", node="good-node"), node("good-node"), node(HOME), *samples().values()))
    return found


def read(found: Objects) -> ClusterSnapshot:
    """It is stored, too, and what was stored reads."""
    seen = reduce(found, cluster="c", taken_at=NOW)
    assert decode(encode(seen), ClusterSnapshot) == seen
    return seen


def is_there(seen: ClusterSnapshot) -> None:
    """What nobody bent."""
    assert set_of(seen, "good").state == PodState.UNSCHEDULABLE
    assert set_of(seen, "good-bound").node == "good-node"
    assert "good-node" in {one.name for one in seen.nodes}


def test_there_is_a_sample_of_every_kind() -> None:
    assert set(KINDS) == set(Objects()._readers)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_reads_as_it_is(kind: str) -> None:
    assert others().unreadable.get(kind, {}) == {}


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_stands_in_a_field_nothing_breaks_and_the_others_stay(kind: str) -> None:
    found, sample = others(), samples()[kind]
    for number, at in enumerate(paths(sample)):
        for index, wrong in enumerate(WRONG):
            own_name = named(sample, f"{sample['metadata']['name']}-{number}-{index}")
            found.put(kind, bent(own_name, at, wrong))
    is_there(read(found))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", WRONG)
def test_the_very_object_that_others_speak_of_may_be_broken(kind: str, wrong: str) -> None:
    sample = samples()[kind]
    for at in ((), *((key,) for key in sample if key not in ("kind", "apiVersion"))):
        found = others()
        found.put(kind, bent(sample, at, wrong))
        is_there(read(found))


_TELLS_THE_PLACE = {("metadata",), ("metadata", "name"), ("metadata", "namespace"), ("spec",), ("spec", "nodeName")}
_ENDS_IT = {("status",), ("status", "phase"), ("metadata", "deletionTimestamp")}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_node_never_looks_idle_because_of_what_its_pod_says(wrong: str) -> None:
    found, names = others(), set()
    for number, at in enumerate(paths(bound_pod())):
        if at and at not in _TELLS_THE_PLACE | _ENDS_IT:
            names.add(f"p{number}")
            found.put("Pod", bent(named(bound_pod(), f"p{number}"), at, wrong))
    there = {name for one in read(found).pods if one.node == HOME for name in one.names}
    assert names - there == set()


@pytest.mark.parametrize("wrong", WRONG)
def test_a_pod_that_does_not_read_buys_nothing_and_is_named(wrong: str) -> None:
    found, names = others(), set()
    for number, at in enumerate(paths(waiting_pod())):
        if at and at not in {("metadata",), ("metadata", "name"), ("metadata", "namespace")}:
            names.add(f"p{number}")
            found.put("Pod", bent(named(waiting_pod(), f"p{number}"), at, wrong))
    seen = read(found)
    wanted = {name for one in seen.pods if one.state != PodState.BOUND for name in one.names}
    aside = {name for name in names if any(f"/{name} is set aside" in warning.text for warning in seen.warnings)}
    assert aside & wanted == set()
    assert aside or wanted


class TestNames:
    """The API takes DNS names of at most 253 characters; a dump says what its writer likes."""

    @pytest.mark.parametrize("name", ["", "x" * 254, "a\nb", "\x1b[31mred", "../../etc", "a/b", "\u202egnp", "a\x00"])
    def test_one_that_no_object_can_have_is_set_aside(self, name: str) -> None:
        seen = snapshot_of(named(pod(), name), named(node(), name), pod("good"))
        assert [one.names for one in seen.pods] == [("good",)]
        assert seen.nodes == ()
        assert {warning.code for warning in seen.warnings} == {Code.OBJECT_UNREADABLE}

    def test_a_pod_of_such_a_name_keeps_its_node_busy(self) -> None:
        (pods,) = snapshot_of(pod("a\nb" * 200, node="n1"), node("n1")).pods
        assert pods.node == "n1"
        assert pods.names[0].isprintable()
        assert len(pods.names[0]) <= 253

    def test_a_gang_of_such_a_name_is_none(self) -> None:
        asks = pod("a", annotations={"scheduling.volcano.sh/group-name": "x" * 200_000})
        seen = snapshot_of(asks)
        assert (set_of(seen, "a").gang, seen.gangs, seen.warnings) == ("", (), ())


class TestTexts:
    def test_no_text_of_a_snapshot_controls_a_terminal_or_a_log_or_is_long(self) -> None:
        wild = "\x1b[2J\r\n{{evil}}\u202e" + "A" * 5000
        seen = snapshot_of(
            pod("a", cpu=wild), node("n1", spec={"providerID": f"aws:///{wild}"}),
            pod("b", annotations={"scheduling.volcano.sh/group-name": "g"}, labels={"x": wild}),
        )  # fmt: skip
        assert {warning.code for warning in seen.warnings} == {
            Code.OBJECT_UNREADABLE, Code.MACHINE_UNCLEAR, Code.GANG_UNKNOWN,
        }  # fmt: skip
        assert all(warning.text.isprintable() and len(warning.text) <= 1000 for warning in seen.warnings)

    def test_of_many_that_do_not_read_some_are_named_and_all_are_counted(self) -> None:
        seen = snapshot_of(*(pod(f"p{n:04}", cpu="lots") for n in range(3000)), pod("good"))
        assert seen.set_aside == 3000
        assert len(seen.warnings) == 101
        assert seen.warnings[-1].text == "and 2900 more like these"
        assert [one.names for one in seen.pods] == [("good",)]

    def test_those_without_a_name_are_counted_each(self) -> None:
        assert snapshot_of(*({"kind": "Pod", "metadata": {"name": n}} for n in range(7))).set_aside == 7

    def test_one_that_reads_again_is_counted_no_more(self) -> None:
        found = Objects()
        found.add(listed(pod("a", cpu="lots")))
        found.add(listed(pod("a", cpu="1")))
        assert reduce(found, cluster="c", taken_at=NOW).set_aside == 0


class TestSizes:
    def test_256_kib_of_an_annotation_do_not_come_into_the_snapshot(self) -> None:
        long = "x" * 256 * 1024
        notes = {"cluster-autoscaler.kubernetes.io/safe-to-evict": long, "karpenter.sh/do-not-disrupt": long, "a": long}
        seen = snapshot_of(pod("a", annotations=notes), node("n1", annotations={**notes, "spillway.io/x": long}))
        assert len(encode(seen)) < 3000

    def test_nor_does_a_megabyte_that_no_rule_reads(self) -> None:
        large = pod("a", spec={"containers": [{"name": "main", "env": [{"name": "X", "value": "x" * 1_000_000}]}]})
        assert len(encode(snapshot_of(large))) < 1000

    def test_1000_containers_are_summed(self) -> None:
        one = {"name": "c", "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}, "ports": [{"hostPort": 80}]}
        seen = snapshot_of(pod("a", spec={"containers": [one] * 1000, "initContainers": [one] * 1000}))
        assert seen.shapes[0].requests == {"cpu": 1000, "memory": 1000 * 1024**2, "pods": 1}

    @pytest.mark.parametrize(("asked", "held"), [("1e30", 2**63 - 1), ("9" * 90, 2**63 - 1), ("1e-30", 1), ("0.1n", 1)])
    def test_amounts_end_where_kubernetes_ends_them(self, asked: str, held: int) -> None:
        assert snapshot_of(pod("a", cpu=asked)).shapes[0].requests["cpu"] == held

    @pytest.mark.parametrize(
        "asked", ["-1", "NaN", "Infinity", "1e999999999", "9" * 200, "1e-999999999", "0x10", "1\u0661", "1 000"]
    )
    def test_what_is_no_amount_is_refused_at_once(self, asked: str) -> None:
        (warning,) = snapshot_of(pod("a", cpu=asked)).warnings
        assert "pod default/a is set aside" in warning.text

    def test_10000_conditions_and_taints_of_a_node(self) -> None:
        crowded = node("n1", spec={"taints": [{"key": f"k{n}", "effect": "NoSchedule"} for n in range(10_000)]})
        crowded["status"]["conditions"] += [{"type": f"T{n}", "status": "True"} for n in range(10_000)]
        (found,) = snapshot_of(crowded).nodes
        assert found.ready
        assert (len(found.taints), len(found.conditions)) == (10_000, 10_000)

    def test_labels_of_which_each_pod_has_its_own_and_selectors_that_match_all(self) -> None:
        """20,000 pods under 200 budgets that take everything, by no label and by one that all have."""
        mine = [pod(f"p{n}", cpu="1", labels={"app": "web", "job": f"j{n}"}) for n in range(20_000)]
        every = [budget(f"b{n}", **({"app": "web"} if n % 2 else {})) for n in range(200)]
        seen = snapshot_of(*mine, *every)
        assert len(seen.shapes) == 1
        assert [len(one.shapes) for one in seen.budgets] == [1] * NAMED_IN + [0] * (200 - NAMED_IN)

    def test_a_selector_that_names_them_all_makes_a_shape_of_each_and_still_ends(self) -> None:
        mine = [pod(f"p{n}", cpu="1", labels={"job": f"j{n}"}) for n in range(20_000)]
        names = budget("b")
        values = [f"j{n}" for n in range(20_000)]
        names["spec"]["selector"] = {"matchExpressions": [{"key": "job", "operator": "In", "values": values}]}
        assert len(snapshot_of(*mine, names).shapes) == 20_000

    def test_20000_selectors_of_which_each_reads_a_label_of_its_own(self) -> None:
        budgets = [budget(f"b{n}", **{f"key-{n}": "x"}) for n in range(20_000)]
        mine = [pod(f"p{n}", cpu="1", labels={f"key-{n}": "x"}) for n in range(20_000)]
        assert sum(len(one.shapes) for one in snapshot_of(*mine, *budgets).budgets) == 20_000


class TestWhatPointsAtWhat:
    def test_owners_in_a_circle(self) -> None:
        def owned(name: str, by: str) -> Object:
            owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": by, "uid": by, "controller": True}
            return named(samples()["ReplicaSet"], name) | {
                "metadata": {"name": name, "namespace": "default", "uid": name, "ownerReferences": [owner]}
            }

        mine = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "uid": "a", "controller": True}]
        seen = snapshot_of(owned("a", by="b"), owned("b", by="a"), owned("c", by="c"), pod("p", ownerReferences=mine))
        assert set_of(seen, "p").names == ("p",)

    def test_a_pod_that_owns_itself(self) -> None:
        itself = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p", "controller": True}]
        assert set_of(snapshot_of(pod("p", uid="p", ownerReferences=itself)), "p").names == ("p",)

    def test_a_node_without_provider_id_and_zone_is_none_that_is_touched(self) -> None:
        (found,) = snapshot_of(node("n1", spec={"providerID": ""})).nodes
        assert found.machine is None

    @pytest.mark.parametrize(
        "provider_id", ["gce://p/z/i", "azure:///x", "aws:///nowhere/i-1", "aws:///us-east-1a/", "kind://a/b", "\n", "x" * 5000]
    )
    def test_one_with_somebody_elses_is_not_taken_for_an_instance(self, provider_id: str) -> None:
        (found,) = snapshot_of(node("n1", spec={"providerID": provider_id})).nodes
        assert found.machine is None

    def test_of_a_key_that_stands_twice_the_last_counts_as_for_the_api_server(self) -> None:
        found = Objects()
        found.add(listed(pod("a")).replace(b'"name": "a"', b'"name": "first", "name": "a"'))
        assert set_of(reduce(found, cluster="c", taken_at=NOW), "a").names == ("a",)


class TestOneOfAPage:
    """That does not decode, and by that neither does the page."""

    HEAD = '"metadata": {"continue": "next", "resourceVersion": "7"}, "items": ['
    PAGES = (
        '{"kind":"%sList","apiVersion":"%s",' + HEAD + "%s]}",  # as an API server begins one
        '{"kind": "%sList", "apiVersion": "%s", ' + HEAD + "%s]}",
    )
    LAST = '{"items": [%s], "metadata": {"continue": "next", "resourceVersion": "7"}}'  # of custom resources: keys in order

    def bad(self, kind: str, wrong: str) -> str:
        return bent({**samples()[kind], "more": None}, ("more",), wrong).decode("latin-1")

    @pytest.mark.parametrize("page", PAGES)
    @pytest.mark.parametrize("wrong", NO_JSON)
    @pytest.mark.parametrize(("kind", "name"), [("Pod", "suspect"), ("Node", "suspect-node"), ("Job", "one")])
    def test_it_is_set_aside_by_its_name_and_all_others_are_read(self, kind: str, name: str, wrong: str, page: str) -> None:
        sample = samples()[kind]
        sound = [json.dumps(named(sample, f"sound-{n}")) for n in range(3)]
        found, pages = others(), list[Any]()
        found.remove(kind, sample["metadata"]["namespace"] if kind != "Node" else "", name)
        items = ", ".join([*sound[:2], self.bad(kind, wrong), sound[2]])
        found.add((page % (kind, sample["apiVersion"], items)).encode(), pages.append)
        assert [(page.next_page, page.version) for page in pages] == [("next", "7")]
        assert {f"sound-{n}" for n in range(3)} <= {one for _, one in found.of(kind)}
        (reason,) = found.unreadable[kind].values()
        assert f"{kind.lower()} " in reason.text
        assert f"{name} is set aside: " in reason.text
        seen = read(found)
        assert seen.set_aside == 1
        is_there(seen)

    def test_a_pod_keeps_its_node_busy(self) -> None:
        found = Objects()
        found.add((self.PAGES[0] % ("Pod", "v1", self.bad("Pod", DEEP))).encode())
        found.add(listed(node(HOME)))
        (pods,) = read(found).pods
        assert (pods.names, pods.node) == (("suspect",), HOME)

    @pytest.mark.parametrize("kind", KINDS)
    def test_in_a_dump_each_item_says_itself_what_it_is(self, kind: str) -> None:
        found = Objects()
        found.add((self.LAST % ", ".join((self.bad(kind, DEEP), json.dumps(pod("good"))))).encode())
        assert len(found.unreadable[kind]) == 1
        assert set_of(read(found), "good").names == ("good",)

    @pytest.mark.parametrize("text", ['"]}"', '"\\\\"', '"\\"}]"', '"{[,:"', '"a\\\\\\"b"'])
    def test_brackets_and_quotes_within_a_string_are_none(self, text: str) -> None:
        deep = f'{{"kind": "Pod", "metadata": {{"name": "bad", "labels": {{"a": {text}}}}}, "x": {DEEP}, "y": {text}}}'
        found = Objects()
        found.add((self.PAGES[0] % ("Pod", "v1", ", ".join((deep, json.dumps(pod("good")))))).encode())
        assert set_of(read(found), "good").names == ("good",)
        assert list(found.unreadable["Pod"]) == [("default", "bad")]

    def test_one_that_reads_again_is_set_aside_no_more(self) -> None:
        found = Objects()
        found.add((self.PAGES[0] % ("Pod", "v1", self.bad("Pod", DEEP))).encode())
        found.add((self.PAGES[0] % ("Pod", "v1", json.dumps(samples()["Pod"]))).encode())
        assert read(found).set_aside == 0

    def test_half_a_page_is_none_wherever_it_ends(self) -> None:
        whole = (self.PAGES[0] % ("Pod", "v1", f'{{"metadata": {{"name": "a]}}"}}, "x": {DEEP}}}, {{}}')).encode()
        Objects().add(whole)
        for end in (*range(1, 200), *range(200, len(whole), 97), len(whole) - 2, len(whole) - 1):
            with pytest.raises(UNREADABLE):
                Objects().add(whole[:end])
        for more in (b"]", b"}", b"x", b"{}"):
            with pytest.raises(UNREADABLE):
                Objects().add(whole + more)

    def test_thousands_of_quotes_without_an_end_are_looked_at_once(self) -> None:
        with pytest.raises(UNREADABLE):
            Objects().add(b'{"items": [NaN], "a": "' + b'\\"' * 1_000_000)


class TestLists:
    @pytest.mark.parametrize(
        "items", ["null", "[]", "[null]", "[[]]", "[3]", '["a"]', "[{}]", '[{"kind": 5}]', "[" * 400 + "]" * 400]
    )
    @pytest.mark.parametrize("kind", ["PodList", "NodeList", "List", ""])
    def test_items_of_no_form_stop_nothing(self, kind: str, items: str) -> None:
        found = others()
        found.add(f'{{"kind": "{kind}", "apiVersion": "v1", "items": {items}}}'.encode())
        is_there(read(found))

    @pytest.mark.feature("CS-16")
    @pytest.mark.parametrize(
        "odd",
        [
            (pod("b"),),  # all read
            (pod("b"), pod("x" * 300), pod("c", node="n1", labels={"jobset.sigs.k8s.io/jobset-name": 5})),  # all decode
            (pod("b"), pod("c", node="n1", spec={"containers": 3})),
            (pod("b"), 3),
        ],
        ids=["sound", "odd", "broken", "no-object"],
    )
    def test_a_page_of_pods_reads_the_same_at_once_as_one_by_one(self, odd: tuple[Any, ...]) -> None:
        """The API server writes no spaces, and by that its pages are known that may be decoded in one go."""
        items = json.dumps([pod("a"), *odd])
        views = []
        for head in ('{"kind":"PodList","apiVersion":"v1",', '{"kind": "PodList", "apiVersion": "v1", '):
            found, pages = Objects(), list[Any]()
            found.add(
                f'{head}"metadata": {{"continue": "next", "resourceVersion": "7"}}, "items": {items}}}'.encode(), pages.append
            )
            assert [(page.next_page, page.version) for page in pages] == [("next", "7")]
            views.append(reduce(found, cluster="c", taken_at=NOW))
        assert views[0] == views[1]
        assert {"a", "b"} <= {name for one in views[0].pods for name in one.names}
        assert any(one.node == "n1" for one in views[0].pods) == (len(odd) > 1 and odd[-1] != 3)
