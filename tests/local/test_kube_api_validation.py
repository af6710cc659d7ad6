"""What a server refuses to store, of the things that an autoscaler writes."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from spillway_local.kube_api import Cluster
from tests.local.kube_api_objects import Object, Opened, client_of, node, pod

TAINT = {"key": "a", "value": "1", "effect": "NoSchedule"}
MERGE = {"_content_type": "application/merge-patch+json"}


@pytest.fixture
def open_cluster(api_server: Cluster) -> Iterator[Opened]:
    with client_of(api_server) as api:
        yield api_server, client.CoreV1Api(api)


def refused(call: Callable[..., Any], *arguments: Any, **named: Any) -> tuple[int, str, str]:
    """Code, reason and message."""
    with pytest.raises(ApiException) as error:
        call(*arguments, **named)
    status = error.value.data or client.ApiClient().deserialize(error.value.body, "V1Status", "application/json")
    return int(status.code), str(status.reason), str(status.message)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("a:b", 'Invalid value: "a:b": a valid label must be an empty string or consist of alphanumeric characters'),
        ("a/b", 'Invalid value: "a/b": a valid label must be'),
        ("-a", 'Invalid value: "-a": a valid label must be'),
        ("x" * 64, "must be no more than 63 bytes"),
    ],
)
def test_a_labels_value_is_short_and_plain(open_cluster: Opened, value: str, why: str) -> None:
    cluster, core = open_cluster
    cluster.add(node("n"))
    code, reason, message = refused(core.patch_node, "n", {"metadata": {"labels": {"spillway.io/cordoned": value}}})
    assert (code, reason) == (422, "Invalid")
    assert message.startswith('Node "n" is invalid: metadata.labels: ')
    assert why in message
    assert "labels" not in cluster.get("Node", "n")["metadata"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("a b", "name part must consist of alphanumeric characters"),
        ("/a", "prefix part must be non-empty"),
        ("a/", "name part must be non-empty"),
        ("a/b/c", "a valid label key must consist of alphanumeric characters"),
        ("x" * 64, "name part must be no more than 63 bytes"),
        ("UPPER.io/a", "prefix part a lowercase RFC 1123 subdomain must consist of lower case"),
    ],
)
def test_a_labels_key_is_a_name_with_a_domain_before_it(open_cluster: Opened, key: str, why: str) -> None:
    cluster, core = open_cluster
    cluster.add(node("n"))
    code, _, message = refused(core.patch_node, "n", {"metadata": {"labels": {key: "v"}}})
    assert code == 422
    assert f'metadata.labels: Invalid value: "{key}": {why}' in message


@pytest.mark.parametrize(
    ("taints", "why"),
    [
        ([TAINT, {**TAINT, "value": "2"}], "taints must be unique by key and effect pair"),
        ([{**TAINT, "effect": "Never"}], 'effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNo'),
        ([{**TAINT, "value": "a b"}], 'metadata.taints[0].value: Invalid value: "a b": a valid label must be'),
        ([TAINT, {"key": "b", "effect": ""}], "metadata.taints[1].effect: Required value"),
        ([{"key": "", "effect": "NoSchedule"}], 'metadata.taints[0].key: Invalid value: "": name part must be non-empty'),
    ],
)
def test_a_taint_has_a_key_a_known_effect_and_no_twin(open_cluster: Opened, taints: list[Object], why: str) -> None:
    cluster, core = open_cluster
    cluster.add(node("n"))
    code, _, message = refused(core.patch_node, "n", {"spec": {"taints": taints}}, **MERGE)
    assert code == 422
    assert why in message


def test_the_same_key_with_two_effects_is_two_taints(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(node("n"))
    patched = core.patch_node("n", {"spec": {"taints": [TAINT, {**TAINT, "effect": "NoExecute"}]}}, **MERGE)
    assert [taint.effect for taint in patched.spec.taints] == ["NoSchedule", "NoExecute"]


def test_what_a_node_and_a_pod_are_does_not_change(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(node("n", providerID="aws:///us-east-1a/i-1"))
    cluster.add(pod("p"))
    code, _, message = refused(core.patch_node, "n", {"spec": {"providerID": "aws:///us-east-1a/i-2"}})
    assert (code, message.partition("spec.")[2]) == (422, "providerID: Invalid value: null: field cannot be modified once set")
    code, _, message = refused(core.patch_namespaced_pod, "p", "default", {"spec": {"nodeName": "n"}})
    assert code == 422
    assert "spec: Forbidden: pod updates may not change fields other than" in message
    code, _, message = refused(core.patch_node, "n", {"metadata": {"uid": "another"}})
    assert (code, message.partition("metadata.")[2]) == (422, 'uid: Invalid value: "another": field is immutable')
    code, _, message = refused(core.patch_node, "n", {"metadata": {"name": "m"}})
    assert (code, message) == (400, "the name of the object (m) does not match the name on the URL (n)")


def test_a_new_object_has_a_plain_name_and_no_version(open_cluster: Opened) -> None:
    _, core = open_cluster
    code, _, message = refused(core.create_node, {**node("n"), "metadata": {"name": "Big_Name"}})
    assert code == 422
    assert 'metadata.name: Invalid value: "Big_Name": a lowercase RFC 1123 subdomain must consist of' in message
    code, _, message = refused(core.create_node, {**node("n"), "metadata": {}})
    assert (code, message) == (422, 'Node "" is invalid: metadata.name: Required value: name or generateName is required')
    with pytest.raises(ApiException) as error:
        core.create_node({**node("n"), "metadata": {"name": "n", "resourceVersion": "4"}})
    assert error.value.status == 500  # so it does
    code, _, message = refused(core.create_namespaced_pod, "default", pod("q", namespace="other"))
    assert (code, message) == (400, "the namespace of the provided object does not match the namespace sent on the request")


def test_a_precondition_that_is_not_met_names_the_kind(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    version = cluster.add(node("n"))["metadata"]["resourceVersion"]
    code, reason, message = refused(core.delete_node, "n", body={"preconditions": {"resourceVersion": "1"}})
    assert (code, reason) == (409, "Conflict")
    told = f"the ResourceVersion in the precondition (1) does not match the ResourceVersion in record ({version})"
    assert message == f'Operation cannot be fulfilled on Node "n": {told}. The object might have been modified'
