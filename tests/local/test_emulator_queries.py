"""DynamoDB's Query answers the same with and without our patch on moto, and the patch is really called."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.dynamodb.models.table import Table

from spillway_local.emulator.patching import patched
from spillway_local.emulator.queries import narrow_queries

KEYS = {"KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]}
TYPES = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")]


@pytest.fixture
def dynamodb(aws_credentials: None) -> Iterator[Any]:
    with mock_aws(config={"core": {"reset_boto3_session": False}}):
        client = boto3.client("dynamodb", "us-east-1")
        client.create_table(TableName="t", AttributeDefinitions=TYPES, BillingMode="PAY_PER_REQUEST", **KEYS)  # type: ignore[arg-type]
        for pk in ("a", "b"):
            for sk in ("NODE#1", "NODE#2", "NODE#10", "PLAN#1"):
                client.put_item(TableName="t", Item={"pk": {"S": pk}, "sk": {"S": sk}, "body": {"S": pk + sk}})
        yield client


def where(condition: str, **values: str) -> dict[str, Any]:
    return {
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": {f":{name}": {"S": value} for name, value in values.items()},
    }


PREFIX = where("pk = :pk AND begins_with(sk, :sk)", pk="a", sk="NODE#")
ALL = where("pk = :pk", pk="b")
QUERIES = {
    "a prefix": PREFIX,
    "from a key on": where("pk = :pk AND sk > :sk", pk="a", sk="NODE#1"),
    "backwards": ALL | {"ScanIndexForward": False},
    "a page": ALL | {"Limit": 2},
    "nobody": where("pk = :pk", pk="nobody"),
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_query_answers_what_stock_moto_answers(dynamodb: Any, query: dict[str, Any]) -> None:
    stock = dynamodb.query(TableName="t", **query)
    with patched([narrow_queries()]):
        ours = dynamodb.query(TableName="t", **query)
    for key in ("Items", "Count", "LastEvaluatedKey"):
        assert ours.get(key) == stock.get(key)


def test_a_page_goes_on_where_the_one_before_ended(dynamodb: Any) -> None:
    with patched([narrow_queries()]):
        first = dynamodb.query(TableName="t", **QUERIES["a page"])
        second = dynamodb.query(TableName="t", ExclusiveStartKey=first["LastEvaluatedKey"], **ALL)
    assert [item["sk"]["S"] for item in first["Items"] + second["Items"]] == ["NODE#1", "NODE#10", "NODE#2", "PLAN#1"]


def test_the_stock_code_sees_only_what_the_query_can_match(dynamodb: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    stock = Table.all_items

    def all_items(self: Table) -> Any:
        seen.append(len(stock(self)))
        return stock(self)

    monkeypatch.setattr(Table, "all_items", all_items)
    with patched([narrow_queries()]):
        dynamodb.query(TableName="t", **PREFIX)
    assert seen == [3]
