"""What a pod asks of its node is what Kubernetes' own code takes it to ask for."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillway.kube.recipes import shape_of as shape_of_recipe
from spillway.kube.recipes import shape_of_template
from spillway.model import quantity
from tests.kube.objects import pod, shape_of, snapshot_of

pytestmark = pytest.mark.feature("CS-05")

GIB = 1024**3
JUDGED = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "kubernetes" / "pod-requests.jsonl").read_text().splitlines()
]


def containers(*requests: dict[str, str], **more: object) -> dict[str, object]:
    return {"containers": [{"name": f"c{at}", "resources": {"requests": r}} for at, r in enumerate(requests)], **more}


def held(name: str = "main", **status: Any) -> dict[str, Any]:
    return {"containerStatuses": [{"name": name, **status}]}


@pytest.mark.parametrize("judged", JUDGED, ids=range(len(JUDGED)))
def test_a_pod_asks_for_what_the_schedulers_own_code_says(judged: dict[str, Any]):
    """Containers, init containers, sidecars, overhead, the pod as a whole, and resizes of both: the data's README says more."""
    one = judged["pod"] | {"kind": "Pod"}
    one["metadata"]["name"] = "p"
    one["spec"]["nodeName"] = "n1"
    assert shape_of(one).requests == judged["requests"] | {"pods": 1}


class TestForms:
    @pytest.mark.parametrize(
        ("text", "millicores"),
        [
            ("1e3", 1_000_000), ("1.5", 1500), ("0.5", 500), (".5", 500), ("100m", 100), ("1n", 1), ("2E0", 2000), ("+1", 1000),
            (2, 2000),
        ],
    )  # fmt: skip
    def test_every_form_of_a_quantity_reads(self, text: str | int, millicores: int):
        assert shape_of(pod(cpu=text)).requests["cpu"] == millicores  # type: ignore[arg-type]  # a dump may hold a number

    @pytest.mark.parametrize(
        ("text", "amount"),
        [
            ("0.5Gi", GIB // 2),
            ("1e9", 10**9),
            ("1E", 10**18),
            ("1k", 1000),
            ("100m", 1),
            ("1.5Ki", 1536),
            ("129e6", 129_000_000),
        ],
    )
    def test_bytes_are_whole_and_rounded_up(self, text: str, amount: int):
        assert shape_of(pod(spec=containers({"memory": text}))).requests["memory"] == amount

    @given(
        st.integers(0, 10**6),
        st.integers(0, 999),
        st.sampled_from(["", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e2", "E-3"]),
    )
    def test_a_quantity_is_never_read_smaller_than_it_is_nor_by_a_unit_larger(self, whole: int, thousandths: int, suffix: str):
        """Against another reading: decimal digits times the power that the suffix stands for."""
        powers = {
            "": Fraction(1), "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 10**3), "k": Fraction(10**3),
            "M": Fraction(10**6), "G": Fraction(10**9), "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30),
            "e2": Fraction(100), "E-3": Fraction(1, 1000),
        }  # fmt: skip
        exact = (whole * 1000 + thousandths) * powers[suffix] / 1000
        text = f"{whole}.{thousandths:03}{suffix}"
        assert exact <= quantity.amount("memory", text) < exact + 1
        assert exact * 1000 <= quantity.amount("cpu", text) < exact * 1000 + 1


class TestSums:
    def test_an_init_container_counts_where_it_asks_for_more_than_the_rest_together(self):
        init = [{"name": "init", "resources": {"requests": {"cpu": "3", "memory": "1Gi"}}}]
        asked = shape_of(pod(spec=containers({"cpu": "1", "memory": "2Gi"}, {"cpu": "1"}, initContainers=init))).requests
        assert asked == {"cpu": 3000, "memory": 2 * GIB, "pods": 1}

    def test_a_sidecar_runs_beside_all_that_start_after_it(self):
        init = [
            {"name": "first", "resources": {"requests": {"cpu": "2"}}},
            {"name": "proxy", "restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}},
            {"name": "last", "resources": {"requests": {"cpu": "2"}}},
        ]
        assert shape_of(pod(spec=containers({"cpu": "1"}, initContainers=init))).requests["cpu"] == 2500

    def test_overhead_of_the_runtime_comes_on_top(self):
        assert shape_of(pod(spec=containers({"cpu": "1"}, overhead={"cpu": "250m"}))).requests["cpu"] == 1250

    def test_what_the_pod_asks_for_as_a_whole_stands_for_its_containers(self):
        spec = containers({"cpu": "1", "memory": "1Gi"}, resources={"requests": {"cpu": "3"}})
        assert shape_of(pod(spec=spec)).requests == {"cpu": 3000, "memory": GIB, "pods": 1}

    def test_a_limit_of_the_whole_pod_is_its_request_where_no_container_asks(self):
        spec = containers({"cpu": "1"}, resources={"limits": {"cpu": "3", "memory": "2Gi"}})
        assert shape_of(pod(spec=spec)).requests == {"cpu": 1000, "memory": 2 * GIB, "pods": 1}

    def test_a_limit_without_a_request_is_the_request(self):
        spec = {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "2"}}}]}
        assert shape_of(pod(spec=spec)).requests == {"nvidia.com/gpu": 2, "pods": 1}

    def test_extended_resources_of_any_name_and_huge_pages_count(self):
        asked = {"example.com/fpga": "3", "hugepages-2Mi": "64Mi", "aws.amazon.com/neuron": "1"}
        found = {"example.com/fpga": 3, "hugepages-2Mi": 64 * 1024**2, "aws.amazon.com/neuron": 1, "pods": 1}
        assert shape_of(pod(spec=containers(asked))).requests == found

    def test_a_pod_that_asks_for_nothing_takes_a_slot(self):
        assert shape_of(pod()).requests == {"pods": 1}

    def test_fractions_are_summed_before_they_are_rounded_up(self):
        assert shape_of(pod(spec=containers({"cpu": "100u"}, {"cpu": "900u"}))).requests["cpu"] == 1

    def test_a_template_asks_for_what_its_pods_will(self):
        spec = containers({"cpu": "1"}, overhead={"cpu": "250m"})
        template = shape_of_template("default", json.dumps({"spec": spec}).encode(), "ReplicaSet")
        assert shape_of_recipe(template.recipe).requests == shape_of(pod(spec=spec)).requests


class TestResizes:
    def test_what_is_wanted_set_aside_or_in_use_counts_whichever_is_most(self):
        one = pod(node="n1", cpu="1")
        one["status"] |= held(allocatedResources={"cpu": "2"}, resources={"requests": {"cpu": "3"}})
        assert shape_of(one).requests["cpu"] == 3000

    def test_a_lowered_request_counts_in_full_until_the_kubelet_has_given_back(self):
        """No condition says so before the kubelet has seen it."""
        one = pod(node="n1", cpu="1")
        one["status"] |= held(allocatedResources={"cpu": "4"}, resources={"requests": {"cpu": "4"}})
        assert shape_of(one).requests["cpu"] == 4000

    def test_a_resize_that_the_node_cannot_do_counts_with_what_is_held(self):
        one = pod(node="n1", cpu="64")
        one["status"] |= held(allocatedResources={"cpu": "1"})
        one["status"]["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
        assert shape_of(one).requests["cpu"] == 1000

    def test_a_resize_of_the_pod_as_a_whole_counts_likewise(self):
        one = pod(node="n1", spec=containers({"cpu": "1"}, resources={"requests": {"cpu": "2"}}))
        one["status"] |= {"resources": {"requests": {"cpu": "5"}}, "allocatedResources": {"cpu": "3"}}
        assert shape_of(one).requests["cpu"] == 5000

    def test_pods_that_run_with_what_they_ask_for_are_one_shape_with_those_that_wait(self):
        running = pod("a", node="n1", cpu="1")
        running["status"] |= held(allocatedResources={"cpu": "1"}, resources={"requests": {"cpu": "1000m"}})
        assert len(snapshot_of(running, pod("b", cpu="1")).shapes) == 1


class TestWhatNoServerWouldStore:
    @pytest.mark.parametrize("text", ["-1", "NaN", "lots", "1e", "1 Gi", "0x10", ""])
    def test_it_is_set_aside_by_name_with_the_text(self, text: str):
        seen = snapshot_of(pod("good"), pod("bad", spec=containers({"cpu": text})))
        assert [pods.names for pods in seen.pods] == [("good",)]
        (warning,) = seen.warnings
        assert "pod default/bad" in warning.text
        assert repr(text) in warning.text

    def test_more_than_an_integer_holds_is_as_much_as_one_holds(self):
        assert shape_of(pod(cpu="1e30")).requests["cpu"] == 2**63 - 1
