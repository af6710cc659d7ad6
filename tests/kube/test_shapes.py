"""Pods that no rule of the scheduler or the drain can tell apart are one shape, however many they are."""

import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillway.kube.label_readers import EVERYWHERE, LabelReaders, Reader
from spillway.kube.objects import Objects
from spillway.kube.reduce import reduce
from spillway.model.cluster import ClusterSnapshot
from spillway.model.selector import ANY_VALUE, Requirement
from spillway.planner.rules.requirement import matches
from tests.kube.objects import NOW, Object, budget, daemon_of, listed, node, pod, shape_of, snapshot_of
from tests.kube.storage_objects import EBS, claim, in_zones, mounts, volume

pytestmark = pytest.mark.feature("CS-06")

HOST = "kubernetes.io/hostname"


def anti(*, app: str, **term: Any) -> Object:
    rule = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}, **term}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}}


def many(template: Object, count: int, change: Callable[[Object, int], None]) -> ClusterSnapshot:
    """`count` copies of a pod, each changed."""
    found = Objects()
    pods = []
    for number in range(count):
        one = copy.deepcopy(template)
        one["metadata"]["name"] = f"p-{number}"
        change(one, number)
        pods.append(one)
    found.add(listed(*pods, node("n1")))
    return reduce(found, cluster="c", taken_at=NOW)


def labels_of(seen: ClusterSnapshot) -> dict[str, dict[str, str]]:
    """Those that count, by name of pod."""
    shapes = {shape.id: shape for shape in seen.shapes}
    return {name: dict(shapes[pods.shape].labels) for pods in seen.pods for name in pods.names}


class TestAlike:
    def test_amounts_that_are_written_differently(self):
        assert len(snapshot_of(pod("a", cpu="1"), pod("b", cpu="1000m")).shapes) == 1

    def test_the_order_of_containers(self):
        one, other = ({"name": name, "resources": {"requests": {"cpu": cpu}}} for name, cpu in (("a", "1"), ("b", "2")))
        assert (
            len(snapshot_of(pod("x", spec={"containers": [one, other]}), pod("y", spec={"containers": [other, one]})).shapes)
            == 1
        )

    def test_the_order_of_tolerations_selectors_and_terms(self):
        def rules(turned: bool) -> Object:
            terms = [
                {"matchExpressions": [{"key": key, "operator": "In", "values": ["b", "a"][:: -1 if turned else 1]}]}
                for key in "xy"
            ]
            expressions = [{"key": key, "operator": "Exists"} for key in "pq"]
            term = {"topologyKey": HOST, "labelSelector": {"matchExpressions": expressions[:: -1 if turned else 1]}}
            spread = [
                {"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}} for key in "zh"
            ]
            tolerations = [{"key": key, "operator": "Exists"} for key in "tu"]
            way = slice(None, None, -1 if turned else 1)
            return {
                "tolerations": tolerations[way],
                "topologySpreadConstraints": spread[way],
                "nodeSelector": dict([("c", "1"), ("d", "2")][way]),
                "affinity": {
                    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms[way]}},
                    "podAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [term, {**term, "topologyKey": "zone"}][way]
                    },
                },
            }

        assert len(snapshot_of(pod("a", spec=rules(False)), pod("b", spec=rules(True))).shapes) == 1

    def test_the_node_of_a_bound_pod(self):
        assert len(snapshot_of(pod("a", node="n1"), pod("b", node="n2")).shapes) == 1

    def test_daemons_of_all_nodes_though_each_is_pinned_to_its_node(self):
        def agent(on: str, **where: str) -> Object:
            pin = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}
            wanted = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [pin]}}
            return pod(f"agent-{on}", spec={"affinity": {"nodeAffinity": wanted}}, ownerReferences=daemon_of(), **where)

        seen = snapshot_of(agent("n1", node="n1"), agent("n2", node="n2"), agent("n3"))
        assert len(seen.shapes) == 1
        assert seen.shapes[0].is_daemon
        assert seen.shapes[0].node_affinity is None

    def test_an_annotation_of_each_pod_that_no_rule_reads(self):
        def note(one: Object, number: int) -> None:
            one["metadata"]["annotations"] = {"example.com/trace": f"t-{number}"}

        assert len(many(pod(), 50, note).shapes) == 1

    def test_a_token_volume_of_each_pod(self):
        def token(one: Object, number: int) -> None:
            one["spec"]["volumes"] = [{"name": f"kube-api-access-{number}", "projected": {"sources": []}}]

        assert len(many(pod(), 50, token).shapes) == 1

    def test_a_status_of_each_pod(self):
        def run(one: Object, number: int) -> None:
            one["status"]["containerStatuses"] = [
                {"name": "main", "containerID": f"containerd://{number}", "restartCount": number}
            ]

        assert len(many(pod(node="n1"), 50, run).shapes) == 1


class TestLabels:
    def test_they_tell_pods_apart_only_where_a_selector_names_their_values(self):
        web, db = pod("a", labels={"app": "web", "build": "7"}), pod("b", labels={"app": "db", "build": "8"})
        assert len(snapshot_of(web, db).shapes) == 1
        seen = snapshot_of(web, db, pod("c", labels={"build": "9"}), budget(app="web"))
        assert labels_of(seen) == {"a": {"app": "web"}, "b": {}, "c": {}}

    @pytest.mark.parametrize(
        ("operator", "values", "kept"),
        [
            ("In", ["other"], {}),
            ("NotIn", ["other"], {}),
            ("Exists", [], {"instance": ANY_VALUE}),
            ("DoesNotExist", [], {"instance": ANY_VALUE}),
        ],
    )
    def test_values_that_no_selector_names_are_alike(self, operator: str, values: list[str], kept: dict[str, str]):
        """A selector that reads whether a label is there tells it only from none."""
        reads = budget("b")
        reads["spec"]["selector"] = {"matchExpressions": [{"key": "instance", "operator": operator, "values": values}]}
        (shape,) = snapshot_of(*(pod(f"p{n}", labels={"instance": f"i-{n}"}) for n in range(50)), reads).shapes
        assert shape.labels == kept

    def test_one_that_is_there_is_told_from_none_and_from_one_that_is_named(self):
        exists, named = ({"key": "tier", "operator": "Exists"}, {"key": "tier", "operator": "NotIn", "values": ["front"]})
        budgets = [budget("one"), budget("two")]
        for one, expression in zip(budgets, (exists, named), strict=True):
            one["spec"]["selector"] = {"matchExpressions": [expression]}
        seen = snapshot_of(pod("a", labels={"tier": "back"}), pod("b", labels={"tier": "front"}), pod("c"), *budgets)
        assert labels_of(seen) == {"a": {"tier": ANY_VALUE}, "b": {"tier": "front"}, "c": {}}

    def test_a_service_reads_none(self):
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"app": "web"}}}
        assert shape_of(pod("a", labels={"app": "web"}), service).labels == {}

    @pytest.mark.parametrize(
        "rule",
        [
            anti(app="web"),
            {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm":
                {"topologyKey": HOST, "labelSelector": {}, "matchLabelKeys": ["app"]}}]}}},
            {"topologySpreadConstraints": [{"topologyKey": "topology.kubernetes.io/zone", "maxSkew": 1,
                "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchExpressions": [
                    {"key": "app", "operator": "In", "values": ["web"]}]}}]},
        ],
        ids=["anti-affinity", "matchLabelKeys", "spread"],
    )  # fmt: skip
    def test_every_kind_of_rule_makes_its_label_count(self, rule: Object):
        assert shape_of(pod("a", labels={"app": "web"}), pod("b", spec=rule)).labels == {"app": "web"}

    def test_the_policys_selector_reads_some(self):
        found = Objects()
        found.add(listed(pod("a", labels={"team": "ml", "app": "web"})))
        (shape,) = reduce(found, cluster="c", taken_at=NOW, label_keys={"team"}).shapes
        assert shape.labels == {"team": "ml"}

    def test_the_drain_reads_one(self):
        assert shape_of(pod(labels={"openai/do-not-drain": "true", "app": "web"})).labels == {"openai/do-not-drain": "true"}

    def test_a_selector_of_another_namespace_reads_none_here(self):
        elsewhere = pod("b", namespace="other", spec=anti(app="web"))
        assert shape_of(pod("a", labels={"app": "web"}), elsewhere).labels == {}

    @pytest.mark.parametrize("reach", [{"namespaces": ["default"]}, {"namespaceSelector": {}}], ids=["by name", "by selector"])
    def test_unless_it_reaches_here(self, reach: Object):
        elsewhere = pod("b", namespace="other", spec=anti(app="web", **reach))
        assert shape_of(pod("a", labels={"app": "web"}), elsewhere).labels == {"app": "web"}

    def test_a_key_counts_for_those_pods_only_that_the_rest_of_its_selector_chooses(self):
        """As matchLabelKeys merge it: each revision of `web` keeps apart from itself, and nobody reads the hash of others."""
        expressions = [{"key": "pod-template-hash", "operator": "In", "values": ["7"]}]
        selector = {"matchLabels": {"app": "web"}, "matchExpressions": expressions}
        rule = anti(app="web", labelSelector=selector, matchLabelKeys=["pod-template-hash"])
        web = pod("web", labels={"app": "web", "pod-template-hash": "7"}, spec=rule)
        others = [pod(f"db-{n}", labels={"app": "db", "pod-template-hash": str(n)}) for n in range(20)]
        seen = snapshot_of(web, *others)
        assert {tuple(shape.labels.items()) for shape in seen.shapes} == {
            (("app", "web"), ("pod-template-hash", "7")),
            (),
        }

    def test_a_pod_keeps_those_that_its_own_rule_takes_over(self):
        """The scheduler adds them to the selector, whether the pod itself matches the rest or not."""
        spread = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["rev"]}
        spread["labelSelector"] = {"matchLabels": {"app": "web"}}
        one = pod("a", labels={"app": "db", "rev": "7"}, spec={"topologySpreadConstraints": [spread]})
        assert shape_of(one).labels == {"rev": "7"}


KEYS, VALUES = ("app", "rev", "tier", "pod-template-hash"), ("a", "b", "c")
labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
requirement = st.one_of(
    st.builds(
        Requirement,
        key=st.sampled_from(KEYS),
        operator=st.sampled_from(["In", "NotIn"]),
        values=st.lists(st.sampled_from([*VALUES, ANY_VALUE]), min_size=1, max_size=2).map(tuple),
    ),
    st.builds(Requirement, key=st.sampled_from(KEYS), operator=st.sampled_from(["Exists", "DoesNotExist"])),
)
readers = st.lists(
    st.builds(
        Reader,
        st.sampled_from([(EVERYWHERE,), ("here",), ("there",), ("there", "here")]),
        st.lists(requirement, max_size=3).map(tuple),
        st.lists(st.sampled_from(KEYS), max_size=1).map(tuple),
    ),
    max_size=4,
)


@given(readers, labels)
def test_every_selector_says_the_same_of_the_labels_that_are_kept(found: list[Reader], given_labels: dict[str, str]):
    """Also one that names what stands for any value, which an API server of old may have let in."""
    kept = LabelReaders(found).kept("here", given_labels, frozenset())
    assert all(value in (given_labels[key], ANY_VALUE) for key, value in kept.items())
    for reader in found:
        if not {EVERYWHERE, "here"}.isdisjoint(reader.namespaces):
            verdicts = [all(matches(one, those) for one in reader.selector) for those in (given_labels, kept)]
            assert verdicts[0] == verdicts[1]
            assert not verdicts[0] or all(kept.get(key) == given_labels.get(key) for key in reader.keys)


class TestLargeClusters:
    """20,000 pods of 300 templates, as controllers make them: about 300 shapes, whatever is unique to each pod."""

    TEMPLATES, COPIES = 300, 20_000

    def cluster(
        self, change: Callable[[Object, int], None], others: Callable[[int], list[Object]] | None = None
    ) -> ClusterSnapshot:
        """`others` are what comes with each pod."""
        found = Objects()
        for start in range(0, self.COPIES, 2_000):
            numbers = range(start, start + 2_000)
            found.add(listed(*(self.pod(number, change) for number in numbers), kind="PodList"))
            if others:
                found.add(listed(*(one for number in numbers for one in others(number))))
        return reduce(found, cluster="c", taken_at=datetime(2026, 1, 1, tzinfo=UTC))

    def pod(self, number: int, change: Callable[[Object, int], None]) -> Object:
        template = number % self.TEMPLATES
        one = pod(f"p-{number}", cpu=f"{10 + template}m", labels={"app": f"app-{template}"}, spec=anti(app=f"app-{template}"))
        change(one, number)
        return one

    @pytest.mark.parametrize(
        "key",
        [
            "example.com/uid", "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index",
            "batch.kubernetes.io/job-completion-index", "pod-template-hash",
        ],
    )  # fmt: skip
    def test_a_label_of_each_pod(self, key: str):
        def label(one: Object, number: int) -> None:
            one["metadata"]["labels"][key] = f"v-{number}"

        assert len(self.cluster(label).shapes) == self.TEMPLATES

    def test_a_volume_of_each_pod_in_one_of_three_zones(self):
        """Three shapes a template: what tells pods apart is where their volumes are, not that each has its own."""

        def data(one: Object, number: int) -> None:
            one["spec"] |= mounts(f"data-{number}")

        def bound(number: int) -> list[Object]:
            zone = f"us-east-1{'abc'[number // self.TEMPLATES % 3]}"
            there = volume(f"pv-{number}", spec={"nodeAffinity": in_zones(zone), "claimRef": None})
            return [claim(f"data-{number}", volume=f"pv-{number}"), there]

        seen = self.cluster(data, bound)
        assert len(seen.shapes) == self.TEMPLATES * 3
        assert {(need.driver, len(need.terms or ()), need.problem) for shape in seen.shapes for need in shape.volumes} == {
            (EBS, 1, "")
        }

    def test_a_rule_that_reads_the_label_of_each_pod_of_one_template(self):
        """Only the pods that its selector chooses are told apart by it, a 300th of them, and the pod that has the rule."""

        def label(one: Object, number: int) -> None:
            one["metadata"]["labels"]["index"] = f"v-{number}"
            if number == 0:
                one["spec"] |= anti(app="app-7", matchLabelKeys=["index"])

        of_one = -(-(self.COPIES - 7) // self.TEMPLATES)
        assert len(self.cluster(label).shapes) == self.TEMPLATES - 1 + of_one + 1

    def test_an_annotation_and_a_token_volume_of_each_pod(self):
        def noise(one: Object, number: int) -> None:
            one["metadata"]["annotations"] = {"cni.example.com/ip": f"10.0.{number // 256}.{number % 256}"}
            one["spec"]["volumes"] = [{"name": f"kube-api-access-{number}", "projected": {"sources": []}}]

        assert len(self.cluster(noise).shapes) == self.TEMPLATES


class TestRulesAsTheyAreMeant:
    def test_a_term_without_namespaces_means_the_pods_own(self):
        (found,) = shape_of(pod(spec=anti(app="web"), namespace="prod")).pod_anti_affinity
        assert (found.namespaces, found.namespace_selector) == (("prod",), None)

    def test_no_selector_matches_nothing_and_an_empty_one_everything(self):
        def selector(**given: Any) -> object:
            spread = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **given}
            return shape_of(pod(spec={"topologySpreadConstraints": [spread]})).spread[0].selector

        assert selector() is None
        assert selector(labelSelector={}) == ()

    def test_host_ports_are_known_of_sidecars_too(self):
        ports = [{"containerPort": 80}, {"hostPort": 443, "protocol": "UDP"}]
        sidecar = {"name": "proxy", "restartPolicy": "Always", "ports": [{"hostPort": 15001, "hostIP": "10.0.0.1"}]}
        before = {"name": "init", "ports": [{"hostPort": 99}]}  # gone before the pod runs
        spec = {"containers": [{"name": "main", "ports": ports}], "initContainers": [before, sidecar]}
        shape = shape_of(pod("a", spec=spec))
        assert [(port.port, port.protocol, port.ip) for port in shape.host_ports] == [
            (443, "UDP", "0.0.0.0"),
            (15001, "TCP", "10.0.0.1"),
        ]

    def test_on_the_hosts_network_every_port_is_the_hosts(self):
        spec = {"hostNetwork": True, "containers": [{"name": "main", "ports": [{"containerPort": 80}]}]}
        assert [port.port for port in shape_of(pod("a", spec=spec)).host_ports] == [80]

    def test_tolerations_keep_their_operators(self):
        spec = {"tolerations": [{"operator": "Exists"}, {"key": "gpu", "value": "a", "effect": "NoSchedule"}]}
        found = [(t.key, t.operator, t.value, t.effect) for t in shape_of(pod(spec=spec)).tolerations]
        assert found == [("", "Exists", "", ""), ("gpu", "Equal", "a", "NoSchedule")]

    def test_namespaces_have_the_labels_that_a_selector_reads(self):
        space = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "prod", "labels": {"team": "ml", "env": "x"}}}
        reach = {"namespaceSelector": {"matchLabels": {"team": "ml"}}}
        (found,) = snapshot_of(space, pod(spec=anti(app="web", **reach))).namespaces
        assert (found.name, found.labels) == ("prod", {"team": "ml"})
        assert snapshot_of(space, pod()).namespaces[0].labels == {}


def test_json_of_any_order_of_keys_is_one_shape():
    one = pod("a", cpu="1", labels={"app": "web"}, spec=anti(app="web"))
    found = Objects()
    found.add(json.dumps(one).encode())
    found.add(json.dumps(one | {"metadata": one["metadata"] | {"name": "b"}}, sort_keys=True).encode())
    assert len(reduce(found, cluster="c", taken_at=NOW).shapes) == 1
