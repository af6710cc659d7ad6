"""The policy document: every field optional, every mistake named."""

import pytest
from pydantic import ValidationError

from spillway.model.policy import ImageFamily, Mode, Policy, RegionMode


def wrong_fields(document: dict[str, object]) -> set[str]:
    with pytest.raises(ValidationError) as caught:
        Policy.model_validate(document)
    return {".".join(map(str, error["loc"])) for error in caught.value.errors()}


def test_an_empty_document_is_the_defaults_of_the_contract() -> None:
    policy = Policy.model_validate({})
    assert policy.region_mode is RegionMode.IN_ORDER
    assert policy.mode is Mode.RUN
    assert policy.pods.priority_cutoff == -10
    assert policy.max_snapshot_age_s == 180
    assert policy.scale_out.provision_time_s == 900
    assert (policy.scale_in.idle_s, policy.scale_in.unneeded_s, policy.scale_in.utilisation_threshold) == (600, 600, 0.5)
    assert [budget.nodes for budget in policy.scale_in.budgets] == ["10%"]
    assert (policy.drain.settle_s, policy.drain.max_grace_s, policy.drain.deadline_s) == (5, 600, 3600)


def test_every_wrong_field_is_named_at_once() -> None:
    document = {
        "region_mode": "nearest",
        "scale_out": {"limits": {"cpu": "many"}, "provision_time_s": -1},
        "scale_in": {"budgets": [{"nodes": "110%"}]},
        "grups": {},
    }
    assert wrong_fields(document) == {
        "region_mode",
        "scale_out.limits.cpu",
        "scale_out.provision_time_s",
        "scale_in.budgets.0.nodes",
        "grups",
    }


@pytest.mark.feature("FS-09")
@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_a_number_without_end_or_without_a_value_is_a_wrong_field(number: float) -> None:
    """YAML has both, as `.inf` and `.nan`."""
    document: dict[str, object] = {
        "prices": {"on_demand": {"m5.large": number}, "discount_percent": {"m5.*": number}},
        "scale_out": {"headroom": {"percent": {"cpu": number}}},
        "scale_in": {"utilisation_threshold": number},
        "drain": {"settle_s": number},
    }
    assert wrong_fields(document) == {
        "prices.on_demand.m5.large",
        "prices.discount_percent.m5.*",
        "scale_out.headroom.percent.cpu",
        "scale_in.utilisation_threshold",
        "drain.settle_s",
    }


def test_a_misspelt_field_of_a_group_is_found_when_the_policy_is_read_and_not_when_the_group_is_met() -> None:
    assert wrong_fields({"groups": {"gpu-*": {"scale_in": {"idle": 60}}}}) == {"groups.gpu-*.scale_in.idle"}


def test_a_group_takes_globs_first_and_its_own_name_last() -> None:
    policy = Policy.model_validate(
        {
            "scale_in": {"idle_s": 60},
            "groups": {
                "gpu-a": {"max": 5},
                "gpu-*": {"min": 1, "max": 9, "scale_in": {"utilisation_threshold": 0.2}},
            },
        }
    )
    gpu_a, other = policy.for_group("gpu-a"), policy.for_group("cpu")
    assert (gpu_a.min, gpu_a.max, gpu_a.scale_in.idle_s, gpu_a.scale_in.utilisation_threshold) == (1, 5, 60, 0.2)
    assert (other.min, other.max, other.scale_in.utilisation_threshold) == (None, None, 0.5)


def test_an_override_deep_in_a_section_leaves_its_neighbours() -> None:
    policy = Policy.model_validate(
        {"scale_out": {"backoff": {"max_s": 900}}, "groups": {"g": {"scale_out": {"backoff": {"first_s": 60}}}}}
    )
    backoff = policy.for_group("g").scale_out.backoff
    assert (backoff.first_s, backoff.max_s) == (60, 900)


@pytest.mark.feature("FS-03")
def test_what_kubelets_keep_is_said_for_all_groups_or_some_and_checked_when_it_is_read() -> None:
    policy = Policy.model_validate(
        {
            "kubelet": {"image": "custom", "system_reserved": {"cpu": "500m"}},
            "groups": {"gpu-*": {"kubelet": {"max_pods": 50, "eviction_hard": {"memory.available": "5%"}}}},
        }
    )
    gpu = policy.for_group("gpu-a").kubelet

    assert (gpu.image, gpu.max_pods, gpu.system_reserved) == (ImageFamily.CUSTOM, 50, {"cpu": "500m"})
    assert policy.for_group("web").kubelet.max_pods is None
    assert wrong_fields({"groups": {"a": {"kubelet": {"eviction_hard": {"memory.available": "101%"}}}}}) == {
        "groups.a.kubelet.eviction_hard.memory.available"
    }
    assert wrong_fields({"kubelet": {"image": "windows", "kube_reserved": {"cpu": "lots"}, "max_pods": 0}}) == {
        "kubelet.image", "kubelet.kube_reserved.cpu", "kubelet.max_pods"
    }  # fmt: skip
