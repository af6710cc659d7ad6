"""Prices as AWS is asked for them, and what a warm process need not ask again."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from spillway.aws import clients, definitions, market
from spillway.aws.kept import Kept
from spillway.errors import AwsUnavailable
from tests.aws.account import HOME, Account, open_account
from tests.aws.answers import NOW, group


@pytest.fixture
def account() -> Iterator[Account]:
    with open_account() as opened:
        yield opened


@pytest.fixture
def pricing(account: Account) -> Iterator[Stubber]:
    with Stubber(clients.client("pricing", market.PRICING_REGION)) as stub:
        yield stub
        stub.assert_no_pending_responses()


@pytest.fixture
def ec2(account: Account) -> Iterator[Stubber]:
    with Stubber(clients.client("ec2", HOME)) as stub:
        yield stub
        stub.assert_no_pending_responses()


def product(usd: str, name: str = "m5.large") -> str:
    """A price list item as the Pricing API documents it: JSON within a string."""
    dimension = {"unit": "Hrs", "pricePerUnit": {"USD": usd}}
    terms = {"OnDemand": {"SKU.TERM": {"priceDimensions": {"SKU.TERM.RATE": dimension}}}}
    about = {"sku": "SKU", "attributes": {"instanceType": name}}
    return json.dumps({"product": about, "serviceCode": "AmazonEC2", "terms": terms})


@pytest.mark.feature("FS-09")
def test_asks_the_pricing_api_for_linux_on_shared_hardware(pricing: Stubber) -> None:
    asked = {
        "regionCode": "eu-west-3", "operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA",
        "capacitystatus": "Used", "marketoption": "OnDemand", "instanceType": "m5.large",
    }  # fmt: skip
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in asked.items()]
    request = {"ServiceCode": "AmazonEC2", "Filters": filters}
    pricing.add_response("get_products", {"PriceList": [product("0.1120000000")]}, request)

    assert market.on_demand_prices("eu-west-3", ["m5.large"]) == {"m5.large": 0.112}


def test_a_price_is_asked_once_in_twelve_hours_and_kept_when_aws_fails(account: Account, pricing: Stubber) -> None:
    pricing.add_response("get_products", {"PriceList": [product("0.1")]})
    assert market.on_demand_prices(HOME, ["m5.large"]) == {"m5.large": 0.1}

    account.pass_s(11 * 3600)
    assert market.on_demand_prices(HOME, ["m5.large"]) == {"m5.large": 0.1}

    account.pass_s(3600)
    pricing.add_client_error("get_products", "InternalErrorException", http_status_code=400)
    kept = market.on_demand_prices(HOME, ["m5.large"])
    assert isinstance(kept, Kept)
    assert (kept.value, kept.as_of) == ({"m5.large": 0.1}, NOW)
    assert "pricing:GetProducts failed" in str(kept.error)


@pytest.mark.feature("FS-09")
def test_a_type_without_a_price_is_asked_for_again_after_an_hour(account: Account, pricing: Stubber) -> None:
    pricing.add_response("get_products", {"PriceList": []})
    pricing.add_response("get_products", {"PriceList": [product("0.1")]})

    assert market.on_demand_prices(HOME, ["m5.large"]) == {}
    account.pass_s(3599)
    assert market.on_demand_prices(HOME, ["m5.large"]) == {}
    account.pass_s(1)
    assert market.on_demand_prices(HOME, ["m5.large"]) == {"m5.large": 0.1}


@pytest.mark.feature("FS-09")
def test_prices_are_kept_where_aws_answers_otherwise_than_it_documents(
    account: Account, pricing: Stubber, ec2: Stubber
) -> None:
    spot = {"InstanceType": "m5.large", "AvailabilityZone": "us-east-1a", "SpotPrice": "0.03", "Timestamp": NOW}
    pricing.add_response("get_products", {"PriceList": [product("0.1")]})
    ec2.add_response("describe_spot_price_history", {"SpotPriceHistory": [spot]})
    market.on_demand_prices(HOME, ["m5.large"])
    market.spot_prices(HOME, ["m5.large"])
    account.pass_s(12 * 3600)
    pricing.add_response("get_products", {})
    ec2.add_response("describe_spot_price_history", {"SpotPriceHistory": [{}]})

    kept = market.on_demand_prices(HOME, ["m5.large"]), market.spot_prices(HOME, ["m5.large"])

    assert [(one.value, one.as_of) for one in kept if isinstance(one, Kept)] == [({"m5.large": 0.1}, NOW), ([spot], NOW)]


@pytest.mark.feature("FS-09")
@pytest.mark.parametrize("item", [product("NaN"), product("inf"), product("-1"), product("free"), "{", '{"product": {}}'])
def test_an_item_of_the_price_list_without_a_price_from_0_up_takes_no_other_with_it(pricing: Stubber, item: str) -> None:
    pricing.add_response("get_products", {"PriceList": [product("0.2", "c5.large")]})
    pricing.add_response("get_products", {"PriceList": [item]})

    assert market.on_demand_prices(HOME, ["c5.large", "m5.large"]) == {"c5.large": 0.2}


@pytest.mark.feature("FS-09")
def test_of_many_types_the_whole_list_of_the_region_is_read_in_pages(pricing: Stubber) -> None:
    names = [f"m{number}.large" for number in range(market.LISTED_FROM)]
    pages = [[product("0.1", name) for name in names[:-2]], [product("0.2", names[-2]), product("9", "x9.large")]]
    pricing.add_response("get_products", {"PriceList": pages[0], "NextToken": "more"})
    pricing.add_response("get_products", {"PriceList": pages[1]})

    assert market.on_demand_prices(HOME, names) == {**dict.fromkeys(names[:-2], 0.1), names[-2]: 0.2}


def test_without_any_old_price_the_error_is_told_after_one_call(pricing: Stubber) -> None:
    pricing.add_client_error("get_products", "InternalErrorException", http_status_code=400)

    with pytest.raises(AwsUnavailable, match="pricing:GetProducts"):
        market.on_demand_prices(HOME, ["m5.large", "c5.large"])


def test_no_types_are_no_calls(pricing: Stubber, ec2: Stubber) -> None:
    assert market.on_demand_prices(HOME, []) == {}
    assert market.spot_prices(HOME, []) == []
    assert definitions.instance_types(HOME, []) == []


def test_spot_prices_are_those_of_now_for_all_types_at_once(ec2: Stubber) -> None:
    request = {"InstanceTypes": ["c5.large", "m5.large"], "ProductDescriptions": ["Linux/UNIX"], "StartTime": NOW}
    item = {"InstanceType": "m5.large", "AvailabilityZone": "us-east-1a", "SpotPrice": "0.03", "Timestamp": NOW}
    ec2.add_response("describe_spot_price_history", {"SpotPriceHistory": [item]}, request)

    assert market.spot_prices(HOME, ["c5.large", "m5.large"]) == [item]


def test_eks_is_asked_about_its_own_groups_only(account: Account) -> None:
    tags = {"eks:cluster-name": "prod", "eks:nodegroup-name": "batch"}
    managed = {"nodegroupName": "batch", "labels": {}, "createdAt": NOW - timedelta(days=1)}
    with Stubber(clients.client("eks", HOME)) as eks:
        request = {"clusterName": "prod", "nodegroupName": "batch"}
        eks.add_response("describe_nodegroup", {"nodegroup": managed, "ResponseMetadata": {}}, request)

        others = [group("half", tags={"eks:cluster-name": "prod"}), group("own")]
        assert definitions.nodegroups(HOME, [group("eks-batch", tags=tags), *others]) == [{"nodegroup": managed}]


def test_an_eks_node_group_that_is_gone_leaves_the_others_alone(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    def managed(name: str) -> dict[str, Any]:
        return group(f"eks-{name}", tags={"eks:cluster-name": "prod", "eks:nodegroup-name": name})

    def ask(service: str, region: str, operation: str, **request: Any) -> dict[str, Any]:
        if request["nodegroupName"] == "gone":
            with clients.asking(region, "eks:DescribeNodegroup"):
                raise ClientError({"Error": {"Code": "ResourceNotFoundException", "Message": "No node group found"}}, operation)
        return {"nodegroup": {"nodegroupName": request["nodegroupName"]}}

    monkeypatch.setattr(clients, "ask", ask)

    assert definitions.nodegroups(HOME, [managed("gone"), managed("here")]) == [{"nodegroup": {"nodegroupName": "here"}}]


@pytest.mark.feature("FS-06")
def test_a_node_group_at_rest_is_asked_about_every_five_minutes_and_one_in_motion_at_each_read(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def ask(service: str, region: str, operation: str, **request: Any) -> dict[str, Any]:
        asked.append(request["nodegroupName"])
        return {"nodegroup": {"nodegroupName": request["nodegroupName"]}}

    monkeypatch.setattr(clients, "ask", ask)
    items = [group(name, tags={"eks:cluster-name": "prod", "eks:nodegroup-name": name}) for name in ("rests", "moves")]

    for _ in range(3):
        definitions.nodegroups(HOME, items, moving=["moves"])
        account.pass_s(60)

    assert sorted(asked) == ["moves", "moves", "moves", "rests"]


def test_launch_configurations_are_asked_fifty_at_a_time(account: Account) -> None:
    names = [f"lc{number:02}" for number in range(51)]
    with Stubber(clients.client("autoscaling", HOME)) as autoscaling:
        for part in (names[:50], names[50:]):
            common = {"InstanceType": "m5.large", "ImageId": "ami-1", "CreatedTime": NOW}
            found = [{"LaunchConfigurationName": name, **common} for name in part]
            answer = {"LaunchConfigurations": found}
            autoscaling.add_response("describe_launch_configurations", answer, {"LaunchConfigurationNames": part})

        items = [{"LaunchConfigurationName": name} for name in names]
        assert len(definitions.launch_configurations(HOME, items)) == 51
        assert len(definitions.launch_configurations(HOME, items)) == 51, "without a call"
