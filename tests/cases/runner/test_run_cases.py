"""The runner itself: shorthands, patches, and each expectation once met and once missed by a hand-made plan."""

import copy
import json

import pytest
from case_base import BadCase, merged, quantity
from case_checks import CHECKS, RUN_KEYS, requests_of
from case_dump import expand
from case_validate import validate
from run_cases import judge, main, variants_of

CASE = {
    "id": "T-01",
    "defaults": "std",
    "cluster": [
        {"short": "node", "name": "n1", "group": "a"},
        {"short": "node", "name": "n2", "group": "b"},
        {"short": "node", "name": "n3", "group": "a", "spec": {"unschedulable": True}},
        {"short": "node", "name": "n4", "group": "c"},
        {"short": "pod", "name": "w", "cpu": "1", "memory": "1Gi", "node": "n1"},
        {"short": "pod", "name": "v", "cpu": "3", "memory": "1Gi", "node": "n2"},
        {"short": "pod", "name": "p", "count": 3, "cpu": "3", "memory": "1Gi"},
        {"short": "pod", "name": "q", "count": 2, "cpu": "64", "memory": "1Gi"},
    ],
    "fleet": {
        "us-east-1": {
            "AutoScalingGroups": [
                {"short": "group", "name": "a", "type": "m5.xlarge", "max": 5},
                {"short": "group", "name": "b", "type": "m5.xlarge", "zones": ["us-east-1b"], "max": 5},
                {"short": "group", "name": "c", "type": "m5.large"},
            ]
        }
    },
    "expect": {},
}


def step(group, before, after, uncordon=()):
    return {"region": "us-east-1", "group": group, "from_desired": before, "to_desired": after,
            "uncordon": list(uncordon), "reason": {"code": "demand", "text": "serves p"}}


PLAN = {
    "summary": {"price_usd_h_new": 0.384, "price_usd_h_after": 0.96},
    "scale_out": [step("a", 2, 3, ["n3"]), step("b", 1, 2)],
    "scale_in": [{"region": "us-east-1", "group": "c", "node": "n4", "instance_id": "i-n4", "why": "empty", "evict": [],
                  "reason": {"code": "idle", "text": "no pod for 12 h"}}],
    "unserved": [{"pods": 2, "examples": ["default/q-0"], "reasons": [
        {"region": "us-east-1", "group": "a", "code": "too_big", "text": "needs 64 cpu, m5.xlarge has 4"}]}],
    "kept": [{"node": "n2", "reason": {"code": "no_place", "text": "v fits nowhere else"}}],
    "warnings": [{"code": "suspended", "text": "group c cannot launch"}],
    "assignments": [{"node": "n3", "pods": ["default/p-0"]}, {"node": "a#0", "pods": ["default/p-1"]},
                    {"node": "us-east-1/b#0", "pods": ["default/p-2"]}],
}

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
EXPECTATIONS = [  # key, met by PLAN, missed by PLAN
    ("nodes_new", 2, 3),
    ("nodes_new", {"min": 1, "max": 2}, {"max": 1}),
    ("to_desired", {"a": 3, "us-east-1/b": 2, "c": 1}, {"a": 2}),
    ("to_desired", {"a": {"min": 3}}, {"a": {"min": 4}}),
    ("untouched", [], ["a"]),
    ("served", ["default/p-*"], ["default/q-1"]),
    ("served", ["default/p-0"], "all"),
    ("served", ["default/p-0"], "none"),
    ("unserved", ["default/q-0", "default/q-1"], ["default/p-0"]),
    ("unserved", ["default/q-*"], "none"),
    ("unserved_reason", {"default/q-*": "NEEDS 64 CPU"}, {"default/q-0": "gpu"}),
    ("unserved_reason", {"default/q-0": ["gpu", "too_big"]}, {"default/p-0": "cpu"}),
    ("uncordon", ["n3"], []),
    ("removed", ["n4"], ["n3"]),
    ("removed", 1, 0),
    ("removed", {"min": 1}, {"max": 0}),
    ("kept", ["n1", "n2"], ["n4"]),
    ("kept_reason", {"n2": "nowhere"}, {"n2": "budget"}),
    ("why", {"n4": ["empty", "underutilised"]}, {"n4": "dead"}),
    ("placed_on", {"default/p-1": ["a"], "default/p-0": ["n3", "b"]}, {"default/p-2": ["a", "n3"]}),
    ("same_node", [["default/p-0"]], [["default/p-0", "default/p-1"]]),
    ("same_zone", [["default/p-0", "default/p-1", "default/w"]], [["default/p-0", "default/p-2"]]),
    ("apart_node", [["default/p-*", "default/w"]], [["default/p-0", "default/p-0"]]),
    ("apart_zone", [["default/p-0", "default/p-2"]], [["default/p-0", "default/p-1"]]),
    ("max_skew", {"key": ZONE, "pods": "default/p-*", "skew": 1}, {"key": ZONE, "pods": "default/p-*", "skew": 0}),
    ("max_skew", [{"key": HOST, "pods": "default/p-*", "skew": 1}], [{"key": HOST, "pods": "default/p-*", "skew": 0}]),
    ("max_skew", {"key": ZONE, "pods": "default/p-*", "skew": 1, "domains": ["us-east-1a"]},
     {"key": ZONE, "pods": "default/p-*", "skew": 1, "domains": ["us-east-1c"]}),
    ("price_max", 0.384, 0.38),
    ("price_after_max", 1.0, 0.9),
    ("mentions", ["cannot launch", ["nothing", "m5.xlarge"]], ["quota"]),
    ("any_of", [{"nodes_new": 7}, {"nodes_new": 2, "removed": 1}], [{"nodes_new": 7}, {"nodes_new": 2, "removed": 0}]),
    ("fits", True, None),  # see test_the_plan_itself_must_add_up
]


def judged(expect, plan=PLAN, case=CASE, code=0, errors=""):
    return judge(expand(case), (code, plan, errors), expect, lambda name: PLAN)


@pytest.mark.parametrize(("key", "met", "missed"), EXPECTATIONS)
def test_an_expectation_is_met_or_missed(key, met, missed):
    assert judged({key: met}) == []
    if missed is not None:
        assert judged({key: missed})[0].startswith((key, "served", "unserved"))


def test_every_key_of_expect_is_tested():
    assert {key for key, _, _ in EXPECTATIONS} == set(CHECKS)


@pytest.mark.parametrize(("change", "says"), [
    (lambda plan: plan["assignments"][0]["pods"].append("default/p-1"), "p-1 is placed twice"),
    (lambda plan: plan["assignments"][0]["pods"].append("default/none"), "is no pod of the cluster"),
    (lambda plan: plan["assignments"][0]["pods"].append("default/q-0"), "n3 gets 67 cpu, has 4"),
    (lambda plan: plan["assignments"].append({"node": "n1", "pods": ["default/q-0"]}), "n1 gets 65 cpu, has 4"),
    (lambda plan: plan["assignments"].append({"node": "a#1", "pods": []}), None),
    (lambda plan: plan["assignments"].append({"node": "a#1", "pods": ["default/v"]}), "2 new nodes of a are used, 1 will come"),
    (lambda plan: plan["assignments"].append({"node": "n4", "pods": ["default/w"]}), "goes to n4, which is removed"),
    (lambda plan: plan["scale_out"][0].update(to_desired=6), "desired 6 of a is above its max 5"),
    (lambda plan: plan["assignments"].append({"node": "n9", "pods": ["default/w"]}), "no node n9"),
    (lambda plan: plan.pop("kept"), None),
    (lambda plan: plan.pop("scale_in"), "not as docs/schema/plan.json says: KeyError: 'scale_in'"),
])
def test_the_plan_itself_must_add_up(change, says):
    plan = copy.deepcopy(PLAN)
    change(plan)
    errors = judged({}, plan)
    assert says in errors[0] if says else errors == []


def test_the_zone_of_a_new_node_is_open_in_a_group_of_many():
    case = merged(CASE, {"fleet": {"us-east-1": {"AutoScalingGroups": {"a": {"zones": ["us-east-1a", "us-east-1c"]}}}}})
    assert "is open" in judged({"max_skew": {"key": ZONE, "pods": "default/p-*", "skew": 9}}, case=case)[0]
    assert judged({"apart_zone": [["default/p-1", "default/p-2"]]}, case=case)
    assert judged({"max_skew": {"key": HOST, "pods": "default/p-*", "skew": 1}}, case=case) == []


def test_devices_not_advertised_yet_count_as_the_group_promises():
    cluster = [{"short": "node", "name": "n", "group": "g", "gpu": 0}, {"short": "pod", "name": "p", "gpu": 1}]
    groups = [{"short": "group", "name": "g", "type": "g4dn.xlarge"}]
    case = {"defaults": "std", "cluster": cluster, "fleet": {"us-east-1": {"AutoScalingGroups": groups}}}
    plan = PLAN | {"scale_out": [], "scale_in": [], "assignments": [{"node": "n", "pods": ["default/p"]}]}
    assert "nvidia.com/gpu" not in expand(case)["cluster"][0]["status"]["allocatable"]
    assert judged({"served": "all"}, plan, case) == []


def test_a_refusal_is_expected_or_not():
    assert judged({"exit": 2, "stderr": "no JSON"}, None, code=2, errors="fleet/x.json: no json") == []
    assert judged({"exit": 2}) == ["exit: got 0, wanted 2 ()"]
    assert judged({}, None, code=1, errors="a\nboom") == ["exit: got 1, wanted 0 (boom)"]
    assert judged({"exit": 2, "stderr": "key"}, None, code=2, errors="boom") == ["stderr: got 'boom', wanted 'key' in it"]


def test_plans_of_two_variants_are_compared_without_their_ids():
    assert judged({"same_as_variant": "base"}, PLAN | {"plan_id": "x"}) == []
    assert "differs" in judged({"same_as_variant": "base"}, PLAN | {"kept": []})[0]
    assert {"exit", "stderr", "same_as_variant"} == RUN_KEYS


def test_names_that_are_not_there_are_bad_cases():
    for expect in ({"served": ["default/x"]}, {"kept": ["n9"]}, {"to_desired": {"z": 1}}, {"placed_on": {"default/w": ["z"]}}):
        with pytest.raises(BadCase, match="not"):
            judged(expect)


def test_a_merge_patch_replaces_lists_and_patches_items_by_name():
    case = {"cluster": [{"name": "a", "x": 1}, {"name": "b"}], "policy": {"mode": "run"}}
    assert merged(case, {"cluster": [{"name": "c"}]})["cluster"] == [{"name": "c"}]
    assert merged(case, {"cluster": {"a": {"x": None, "y": 2}, "b": None, "+": [{"name": "c"}]}, "policy": None}) == {
        "cluster": [{"name": "a", "y": 2}, {"name": "c"}]}
    with pytest.raises(BadCase, match="the patch names"):
        merged(case, {"cluster": {"z": {}}})
    variants = variants_of(case | {"expect": {"nodes_new": 1}, "variants": [{"name": "v", "patch": {"policy": {"mode": "off"}}}]})
    assert [(name, patched["policy"]["mode"], expect) for name, (patched, expect) in variants.items()] == [
        ("base", "run", {"nodes_new": 1}), ("v", "off", {"nodes_new": 1})]


def test_quantities_of_every_form():
    assert [quantity(text) for text in ("1e3", "1.5", "0.5Gi", "100m", ".5k", "2E", 3)] == [
        1000, 1.5, 512 * 1024**2, quantity("0.1"), 500, 2 * 10**18, 3]
    with pytest.raises(BadCase):
        quantity("1 Gi")


def test_shorthands_expand_to_what_the_clients_print():
    dump = expand(merged(CASE, {"cluster": {"+": [
        {"short": "pod", "name": "d", "count": 3, "node": ["n1", "n2"], "age_s": 60, "spec": {"priority": 5}, "owner": None},
        {"short": "node", "name": "i5", "group": "a", "unregistered": True, "age_s": 1200}]}}))
    items = {item["metadata"]["name"]: item for item in dump["cluster"]}
    assert [items[f"d-{i}"]["spec"]["nodeName"] for i in range(3)] == ["n1", "n2", "n1"]
    assert items["d-0"]["metadata"]["creationTimestamp"] == "2025-12-31T23:59:00Z"
    assert items["d-0"]["spec"]["priority"] == 5 and "ownerReferences" not in items["d-0"]["metadata"]
    assert items["p-1"]["metadata"]["ownerReferences"][0]["name"] == "p" and items["p-1"]["status"]["phase"] == "Pending"
    assert items["n2"]["spec"]["providerID"] == "aws:///us-east-1b/i-n2" and items["n2"]["status"]["allocatable"]["cpu"] == "4"
    assert "i5" not in items and items["default"]["kind"] == "Namespace"
    answers = dump["fleet"]["us-east-1"]
    group = answers["AutoScalingGroups"][0]
    assert group["DesiredCapacity"] == 3 and [i["InstanceId"] for i in group["Instances"]] == ["i-n1", "i-n3", "i-i5"]
    tags = {tag["Key"]: tag["Value"] for tag in group["Tags"]}
    assert tags["k8s.io/cluster-autoscaler/case"] == "owned"
    assert tags["k8s.io/cluster-autoscaler/node-template/resources/memory"] == "16384Mi"
    assert answers["OnDemandPrices"] == {"m5.large": 0.096, "m5.xlarge": 0.192} and answers["Activities"] == []
    assert answers["Reservations"][-1]["Instances"][0]["LaunchTime"] == "2025-12-31T23:39:00+00:00"


def test_claims_expand_to_volumes_and_pods_mount_them():
    dump = expand({"fleet": {"us-east-1": {}}, "cluster": [
        {"short": "claim", "name": "data", "count": 2, "zone": "us-east-1b"}, {"short": "claim", "name": "late"},
        {"short": "pod", "name": "db", "count": 2, "claim": "data"}, {"short": "pod", "name": "one", "claim": "late"}]})
    items = {item["metadata"]["name"]: item for item in dump["cluster"]}
    term = items["pv-data-1"]["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0]
    assert term["values"] == ["us-east-1b"] and items["data-1"]["spec"]["volumeName"] == "pv-data-1"
    assert items["late"]["status"]["phase"] == "Pending" and "pv-late" not in items
    claims = [items[name]["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] for name in ("db-0", "db-1", "one")]
    assert claims == ["data-0", "data-1", "late"]


def test_activities_of_a_count_lie_apart():
    fleet = {"AutoScalingGroups": [{"short": "group", "name": "g"}], "Activities": [
        {"short": "activity", "group": "g", "message": "Out of stock.", "age_s": 60, "count": 2, "every_s": 180,
         "from": 1, "to": 3}]}
    found = expand({"fleet": {"us-east-1": fleet}})["fleet"]["us-east-1"]["Activities"]
    assert [item["StartTime"] for item in found] == ["2025-12-31T23:59:00+00:00", "2025-12-31T23:56:00+00:00"]
    assert found[0]["StatusCode"] == "Failed" and found[0]["StatusMessage"] == "Out of stock."
    assert found[0]["Cause"].endswith("increasing the capacity from 1 to 3.")
    assert found[0]["ActivityId"] != found[1]["ActivityId"]


def test_a_mixed_group_promises_the_least_of_its_types():
    fleet = {"AutoScalingGroups": [{"short": "group", "name": "g", "types": ["c5.xlarge", "g4dn.xlarge"], "spot": True}]}
    group = expand({"defaults": "std", "fleet": {"us-east-1": fleet}})["fleet"]["us-east-1"]["AutoScalingGroups"][0]
    tags = {tag["Key"].rpartition("/")[2]: tag["Value"] for tag in group["Tags"] if "resources" in tag["Key"]}
    assert tags == {"cpu": "4", "memory": "8192Mi", "pods": "110"}
    assert group["MixedInstancesPolicy"]["InstancesDistribution"]["OnDemandPercentageAboveBaseCapacity"] == 0


def test_requests_with_init_containers_sidecars_and_overhead():
    def container(cpu, **more):
        return {"resources": {"requests": {"cpu": cpu}}} | more
    spec = {"containers": [container("100m"), container("200m")], "overhead": {"cpu": "50m"},
            "initContainers": [container("400m"), container("100m", restartPolicy="Always"), container("700m")]}
    assert requests_of({"spec": spec}) == {"cpu": quantity("850m"), "pods": 1}


@pytest.mark.parametrize(("change", "says"), [
    ({"expect": {"node_new": 1}}, "unknown key under expect: node_new"),
    ({"expect": {"served": ["default/x"]}}, "not in the cluster"),
    ({"cluster": {"w": {"node": "n7"}}}, "no node ['n7']"),
    ({"cluster": {"w": {"cpu": "1 core"}}}, "is no quantity"),
    ({"cluster": {"+": [{"short": "pot", "name": "x"}]}}, "unknown shorthand 'pot'"),
    ({"cluster": {"+": [{"short": "node", "name": "x", "group": "z"}]}}, "no group 'z'"),
    ({"fleet": {"us-east-1": {"AutoScalingGroups": {"a": {"type": "m5.tiny"}}}}}, "instance type m5.tiny"),
    ({"fleet": {"us-east-1": {"Foo": []}}}, "unknown answer Foo"),
])
def test_validation_finds_errors_of_a_case(change, says, tmp_path, capsys):
    file = tmp_path / "T-01.json"
    file.write_text(json.dumps(merged(CASE, change)))
    assert main(["--validate", str(file)]) == 1
    assert says in capsys.readouterr().out


def test_validation_knows_the_models_of_kubernetes():
    pytest.importorskip("kubernetes")
    dump = expand(merged(CASE, {"cluster": {"+": [{"short": "pod", "name": "x", "spec": {"priority": "high"}}]}}))
    assert "Pod x" in validate(dump, {}, {})[0]


def test_validation_knows_the_models_of_aws():
    pytest.importorskip("botocore")
    dump = expand(merged(CASE, {"fleet": {"us-east-1": {"AutoScalingGroups": {
        "a": {"Colour": "red", "MinSize": "1", "Instances": [{"LifecycleState": "Happy"}]}}}}}))
    errors = " ".join(validate(dump, {}, {}))
    assert "unknown member Colour" in errors and "MinSize: '1' is no integer" in errors
    assert "'Happy' is no LifecycleState" in errors and "InstanceId is missing" in errors


def test_the_command_line_end_to_end(tmp_path, capsys, monkeypatch):
    """A throwaway planner that adds a node to group a, and refuses a dump that has a file it does not know."""
    (tmp_path / "stub_planner.py").write_text(f"""
import json, os
from pathlib import Path
def plan(folder, args=()):
    if os.path.exists(folder + "/fleet/us-east-1/x.json"):
        raise SystemExit(2)
    groups = json.loads(Path(folder, "fleet/us-east-1/AutoScalingGroups.json").read_text())["AutoScalingGroups"]
    return {PLAN!r} if not args else {{}}
""")
    case = CASE | {"expect": {"nodes_new": 2}, "variants": [
        {"name": "wrong", "expect": {"nodes_new": 5}},
        {"name": "same", "expect": {"same_as_variant": "wrong"}},
        {"name": "refused", "patch": {"files": {"fleet/us-east-1/x.json": "{"}}, "expect": {"exit": 2}},
        {"name": "args", "patch": {"args": ["--x"]}, "expect": {}}]}
    (tmp_path / "T-01.json").write_text(json.dumps(case))
    (tmp_path / "T-02.json").write_text("{")
    common = ["--project", str(tmp_path), "--call", "stub_planner:plan", "--keep", str(tmp_path / "dumps")]
    assert main([*common, str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ok   T-01" and lines[1] == "FAIL T-01[wrong]  nodes_new: got 2, wanted 5"
    assert lines[2:4] == ["ok   T-01[same]", "ok   T-01[refused]"] and "docs/schema/plan.json" in lines[4]
    assert lines[5].startswith("FAIL T-02.json  bad case") and lines[6] == "3 passed, 3 failed"
    assert json.loads((tmp_path / "dumps" / "T-01-base" / "meta.json").read_text())["home_region"] == "us-east-1"
    assert main([*common, "--only", "T-01[same", str(tmp_path / "T-01.json")]) == 0
    assert capsys.readouterr().out.splitlines() == ["ok   T-01[same]", "1 passed, 0 failed"]


def test_the_command_is_run_in_the_project(tmp_path, monkeypatch, capsys):
    (tmp_path / "uv").write_text(f"#!/bin/sh\necho \"$@\" >> calls\ncat <<'END'\n{json.dumps(PLAN)}\nEND\n")
    (tmp_path / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (tmp_path / "T-01.json").write_text(json.dumps(CASE | {"args": ["--x"]}))
    assert main(["--project", str(tmp_path), str(tmp_path / "T-01.json")]) == 0
    assert capsys.readouterr().out == "ok   T-01\n1 passed, 0 failed\n"
    call = (tmp_path / "calls").read_text()
    assert call.startswith("run spillway plan --from ") and call.endswith("--output json --assign --x\n")


def test_wrong_usage_exits_2(tmp_path):
    for argv in (["--project", str(tmp_path / "none")], ["--call", "no_such_module:plan"]):
        with pytest.raises(SystemExit, match="2"):
            main(argv)


def test_a_plan_that_is_no_object_falls_short():
    assert judge(expand(CASE), (0, None, "not one JSON object"), {}, None) == ["not one JSON object"]
