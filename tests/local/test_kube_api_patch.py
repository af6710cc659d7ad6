"""The three kinds of patch, without a server."""

from typing import Any

import pytest

from spillway_local.kube_api.patch import json_patch, merge, strategic
from spillway_local.kube_api.refusals import Refusal

POD = {"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}], "tolerations": [{"key": "x"}]}}


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": 1, "b": {"c": 2}}, {"b": {"d": 3}}, {"a": 1, "b": {"c": 2, "d": 3}}),
        ({"a": 1}, {"a": None}, {}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": "text"}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
    ],
)
def test_merge_patch(target: Any, patch: Any, result: Any) -> None:
    assert merge(target, patch) == result


def test_strategic_merge_goes_by_the_name_of_a_container() -> None:
    patched = strategic(POD, {"spec": {"containers": [{"name": "b", "image": "2"}, {"name": "c", "image": "1"}]}})
    assert [(one["name"], one["image"]) for one in patched["spec"]["containers"]] == [("a", "1"), ("b", "2"), ("c", "1")]


def test_strategic_merge_replaces_lists_without_a_key() -> None:
    assert strategic(POD, {"spec": {"tolerations": [{"key": "y"}]}})["spec"]["tolerations"] == [{"key": "y"}]


def test_strategic_merge_directives() -> None:
    removed = strategic(POD, {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}})
    assert [one["name"] for one in removed["spec"]["containers"]] == ["b"]
    replaced = strategic(POD, {"spec": {"containers": [{"$patch": "replace"}, {"name": "z"}]}})
    assert replaced["spec"]["containers"] == [{"name": "z"}]
    assert strategic({"a": {"b": 1}}, {"a": {"$patch": "replace", "c": 2}}) == {"a": {"c": 2}}
    assert strategic({"finalizers": ["a", "b"]}, {"$deleteFromPrimitiveList/finalizers": ["a"]}) == {"finalizers": ["b"]}
    assert strategic({"s": {"a": 1, "b": 2}}, {"s": {"$retainKeys": ["b"]}}) == {"s": {"b": 2}}


def test_finalizers_are_joined() -> None:
    assert strategic({"finalizers": ["a"]}, {"finalizers": ["b", "a"]}) == {"finalizers": ["a", "b"]}


def test_a_list_element_without_its_key_is_refused() -> None:
    with pytest.raises(Refusal, match="does not contain declared merge key: name"):
        strategic(POD, {"spec": {"containers": [{"image": "2"}]}})


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "add", "path": "/l/-", "value": 3}, {"l": [1, 2, 3], "m": {"a/b": 1}}),
        ({"op": "add", "path": "/l/0", "value": 0}, {"l": [0, 1, 2], "m": {"a/b": 1}}),
        ({"op": "remove", "path": "/l/1"}, {"l": [1], "m": {"a/b": 1}}),
        ({"op": "replace", "path": "/m/a~1b", "value": 5}, {"l": [1, 2], "m": {"a/b": 5}}),
        ({"op": "move", "from": "/m/a~1b", "path": "/c"}, {"l": [1, 2], "m": {}, "c": 1}),
        ({"op": "copy", "from": "/l/0", "path": "/c"}, {"l": [1, 2], "m": {"a/b": 1}, "c": 1}),
    ],
)
def test_json_patch(operation: dict[str, Any], result: Any) -> None:
    target = {"l": [1, 2], "m": {"a/b": 1}}
    assert json_patch(target, [operation]) == result
    assert target == {"l": [1, 2], "m": {"a/b": 1}}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a", "value": 2},
        {"op": "remove", "path": "/missing"},
        {"op": "replace", "path": "/missing", "value": 1},
        {"op": "add", "path": "/l/9", "value": 1},
        {"op": "add", "path": "a", "value": 1},
    ],
)
def test_a_json_patch_that_does_not_apply_is_refused(operation: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as refusal:
        json_patch({"a": 1, "l": []}, [operation])
    assert refusal.value.code == 422


def test_patches_leave_what_they_were_given_alone() -> None:
    before = repr(POD)
    strategic(POD, {"spec": {"containers": [{"name": "a", "image": "9"}], "tolerations": None}})
    merge(POD, {"spec": {"containers": []}})
    assert repr(POD) == before
