"""Errors are sentences that name the thing, and class names that the workflow can match."""

import inspect
import pickle

import pytest

from spillway import errors

EXAMPLES = [
    errors.PolicyError("policy.yaml", (("scale_in.idle_s", "must be a whole number"),)),
    errors.DumpError("fleet/us-east-1/x.json", "AutoScalingGrups", "unknown key"),
    errors.EventError("plan", (("cluster", "missing"),)),
    errors.AccessError("SPILLWAY_ACCESS", "must be eks, file:, json: or the ARN of a secret"),
    errors.ClusterUnauthorized("prod", "https://api"),
    errors.ClusterForbidden("prod", "list", "pods"),
    errors.ClusterUnavailable("prod", "https://api", "timed out after 10 s"),
    errors.ClusterSlow("prod", "https://api", "list pods", 50.0),
    errors.ClusterEmpty("prod"),
    errors.ClusterStale("prod", "2026-01-01T00:00:00+00:00", "200 s ago by our clock"),
    errors.AwsForbidden("us-west-2", "autoscaling:DescribeAutoScalingGroups"),
    errors.AwsUnavailable("us-west-2", "autoscaling:SetDesiredCapacity", "Throttling"),
    errors.NotFound("plan", "abc"),
    errors.PlanStale("abc", 400, 180),
    errors.SnapshotTooNew("prod", 3, 2),
    errors.Stopped("abc", "the stop switch was thrown by alice"),
    errors.LeaseHeld("group us-east-1/gpu", "plan abc"),
]


def test_every_error_has_an_example_here() -> None:
    ours = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.SpillwayError)]
    concrete = {kind for kind in ours if not any(issubclass(other, kind) for other in ours if other is not kind)}
    assert concrete == {type(error) for error in EXAMPLES}


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_is_one_sentence_that_names_every_field_it_carries(error: errors.SpillwayError) -> None:
    text = str(error)
    assert "\n" not in text
    for value in vars(error).values():
        if isinstance(value, str):
            assert value in text


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_survives_a_process_boundary(error: errors.SpillwayError) -> None:
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_wrong_input_is_told_from_failure_by_its_exit_code() -> None:
    assert errors.PolicyError("p", ()).exit_code == 2
    assert errors.ClusterEmpty("c").exit_code == 1
