"""Every text that AWS is known to say means one class and reaches one scope, whatever names stand in it.

`failure_texts.json` holds texts as people saw them, each with its source and with what it means.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from spillway.aws.failure_general import GENERAL
from spillway.aws.failure_table import ROWS
from spillway.aws.failures import Failure, classify
from spillway.model.fleet import CapacityType, FailureClass, Scope

TEXTS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "failure_texts.json").read_text())
by_text = pytest.mark.parametrize("known", TEXTS, ids=lambda known: f"{known['failure']}: {known['text'][:50]}")


def meaning(known: dict[str, Any]) -> Failure:
    market = known.get("capacity_type")
    return Failure(
        FailureClass(known["failure"]),
        Scope(known["scope"]),
        known.get("zone", ""),
        known.get("instance_type", ""),
        CapacityType(market) if market else None,
    )


@pytest.mark.feature("FS-08")
@by_text
def test_a_real_text_has_its_class_and_scope(known: dict[str, Any]) -> None:
    assert classify(known["text"]) == meaning(known)


@pytest.mark.feature("FS-08")
@by_text
def test_neither_case_nor_what_auto_scaling_puts_around_it_changes_what_a_text_means(known: dict[str, Any]) -> None:
    around = f"Launching a new EC2 instance.  Status Reason: {known['text']} Launching EC2 instance failed."

    assert classify(around) == classify(known["text"].upper()) == classify(known["text"].lower()) == meaning(known)


@pytest.mark.feature("FS-08")
@pytest.mark.parametrize(
    "zone", ["us-west-2-lax-1a", "us-gov-west-1a", "cn-north-1b", "ap-southeast-3c", "us-east-1-wl1-bos-wlz-1"]
)
@pytest.mark.parametrize("kind", ["p5.48xlarge", "trn1n.32xlarge", "u-6tb1.metal", "mac2-m2pro.metal", "c7gd.metal"])
def test_any_zone_and_any_type_is_read(zone: str, kind: str) -> None:
    for known in TEXTS:
        if known.get("zone") and known.get("instance_type"):
            elsewhere = known["text"].replace(known["zone"] + ")", zone + ")").replace(known["instance_type"], kind)
            found = classify(elsewhere)
            assert (found.failure, found.zone, found.instance_type) == (meaning(known).failure, zone, kind)


@pytest.mark.feature("FS-08")
@by_text
def test_ids_in_a_text_say_nothing(known: dict[str, Any]) -> None:
    other = re.sub(r"\b(ami|sg|subnet|snap|vpc|i|cr)-[0-9a-f]{8,17}\b", r"\1-ffffffffffffffff0", known["text"])

    assert classify(other) == meaning(known)


WORDED_ANEW = {
    "Your account has reached the maximum number of vCPUs for Running On-Demand Standard instances": FailureClass.VCPU_QUOTA,
    "The limit of 32 vCPUs was exceeded by this request": FailureClass.VCPU_QUOTA,
    "All Standard Spot Instance Requests quota of 32 vCPUs exceeded": FailureClass.SPOT_QUOTA,
    "Quota exceeded for spot vCPUs": FailureClass.SPOT_QUOTA,
    "The maximum number of Spot Instances has been reached": FailureClass.SPOT_QUOTA,
    "The Spot price exceeds your maximum price": FailureClass.SPOT_PRICE,
    "The Spot Instance was terminated because there is no longer enough capacity": FailureClass.SPOT_FULFILMENT,
    "There is no longer enough m5.large capacity": FailureClass.CAPACITY,
    "Limit exceeded for gp3 volumes": FailureClass.VOLUME_LIMIT,
    "ImageId ami-0abc is not allowed by the Allowed AMIs setting of this account": FailureClass.IMAGE,
    "This image may not be used: it is not permitted in this account": FailureClass.IMAGE,
    "The account requires IMDSv2; set MetadataOptions HttpTokens to required": FailureClass.TEMPLATE,
    "HttpTokensEnforced: no": FailureClass.TEMPLATE,
    "The attribute ebsOptimized can only be set for EBS-backed images": FailureClass.TEMPLATE,
    "Could not find the specified version 5 of the launch template": FailureClass.TEMPLATE,
    "The spread placement group has reached its limit of seven running instances": FailureClass.PLACEMENT_GROUP,
    "You've exceeded your maximum total IOPS of 100000 for io1 volumes in this region": FailureClass.VOLUME_LIMIT,
    "There is no capacity left for an EBS volume of this type": FailureClass.ZONAL_CAPACITY,
    "You have exceeded the number of VPC security groups allowed per instance": FailureClass.SECURITY_GROUP,
    "You do not have permission to access the specified resource": FailureClass.ROLE,
    "No subnets found for the default VPC": FailureClass.NETWORK,
    "The specified keyId is not enabled in this region": FailureClass.ENCRYPTION_KEY,
    "The server is overloaded": FailureClass.SERVICE,
}


@pytest.mark.feature("FS-08")
@pytest.mark.parametrize("text", WORDED_ANEW)
def test_a_meaning_is_read_in_whatever_order_and_number_a_sentence_puts_it(text: str) -> None:
    """AWS rewords its texts: these were never seen, and say what seen ones say."""
    assert classify(text).failure is WORDED_ANEW[text]


VAGUE = {
    FailureClass.UNKNOWN, FailureClass.CAPACITY, FailureClass.ROLE, FailureClass.STARTUP, FailureClass.TEMPLATE,
    FailureClass.UNSUPPORTED,
}  # fmt: skip


@pytest.mark.feature("FS-08")
@by_text
def test_a_text_that_is_cut_off_is_known_less_well_but_never_as_something_else(known: dict[str, Any]) -> None:
    cut = classify(known["text"][: len(known["text"]) * 2 // 3])

    assert cut.failure in VAGUE | {meaning(known).failure}


@pytest.mark.feature("FS-08")
def test_letters_of_an_encoded_message_mean_nothing() -> None:
    text = "You are not authorized to perform this operation. Encoded authorization failure message: kms:VcpuLimitExceeded-Spot"

    assert classify(text) == Failure(FailureClass.ROLE, Scope.GROUP)


@pytest.mark.feature("FS-08")
@pytest.mark.parametrize("row", [row for row in (*ROWS, *GENERAL) if row.codes], ids=lambda row: f"{row.failure}-{row.scope}")
def test_a_code_alone_tells_its_class(row: Any) -> None:
    for code in row.codes:
        for written in (
            f"{code} - some words",
            f"An error occurred ({code}) when calling",
            f"Termination Reason: {code}: words",
        ):
            assert (classify(written).failure, classify(written).scope) == (row.failure, row.scope), written


@pytest.mark.feature("FS-08")
def test_every_class_but_those_that_are_no_text_has_a_real_text() -> None:
    said = {known["failure"] for known in TEXTS}

    assert {one.value for one in FailureClass} - said == {FailureClass.UNKNOWN, FailureClass.LATE, FailureClass.REJECTED}


def test_a_text_stands_once_and_names_its_source() -> None:
    assert len({known["text"] for known in TEXTS}) == len(TEXTS) >= 60
    assert all(known["source"] for known in TEXTS)
