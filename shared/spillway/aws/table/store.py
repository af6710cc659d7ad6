"""The handful of DynamoDB calls that all items are made of.

Attributes are strings, numbers, booleans and bytes; documents are JSON text in `body`, which a person can read
in the console, or compressed bytes where they may be large. Every read is consistent: a task that writes
re-reads the world first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from itertools import islice
from typing import Any

from boto3.dynamodb.types import Binary, TypeDeserializer, TypeSerializer
from botocore.exceptions import ClientError

from spillway import clock
from spillway.aws import clients
from spillway.aws.table import keys
from spillway.env import env

Item = dict[str, Any]
_LAST = "\U0010ffff"  # sorts behind whatever follows a prefix
_PAGE_OF_WRITES = 25  # BatchWriteItem takes no more
_PAGE_OF_READS = 100  # nor BatchGetItem


class Conflict(Exception):
    """A condition did not hold: another writer was first."""


@dataclass(frozen=True)
class Condition:
    """A condition expression; `values` by placeholder without its colon. Attributes have names that are not reserved."""

    expression: str
    values: Mapping[str, Any]


def condition(expression: str, **values: Any) -> Condition:
    return Condition(expression, values)


ABSENT = condition("attribute_not_exists(pk)")


@dataclass(frozen=True)
class Put:
    sk: str
    attributes: Mapping[str, Any]
    when: Condition


@dataclass(frozen=True)
class Table:
    """One cluster's share of the table `name`, which lives in the home region."""

    name: str
    cluster: str
    region: str = ""

    @contextmanager
    def _client(self, action: str) -> Iterator[Any]:
        """Errors of the calls within are Conflict, AwsForbidden or AwsUnavailable."""
        region = self.region or env().home_region
        with clients.asking(region, f"dynamodb:{action}"):
            try:
                yield clients.client("dynamodb", region)
            except ClientError as error:
                if _is_conflict(error):
                    raise Conflict from error
                raise

    @property
    def pk(self) -> str:
        return keys.cluster(self.cluster)

    def get(self, sk: str, pk: str = "") -> Item | None:
        with self._client("GetItem") as dynamodb:
            answer = dynamodb.get_item(TableName=self.name, Key=self._key(sk, pk), ConsistentRead=True)
        return _item(answer["Item"]) if "Item" in answer else None

    def get_many(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Item]:
        """Items by (pk, sk); absent ones are left out."""
        found: dict[tuple[str, str], Item] = {}
        for page in _pages(pairs, _PAGE_OF_READS):
            wanted: Any = {self.name: {"Keys": [self._key(sk, pk) for pk, sk in page], "ConsistentRead": True}}
            while wanted:
                with self._client("BatchGetItem") as dynamodb:
                    answer = dynamodb.batch_get_item(RequestItems=wanted)
                items = map(_item, answer["Responses"].get(self.name, []))
                found |= {(item["pk"], item["sk"]): item for item in items}
                wanted = answer.get("UnprocessedKeys")
        return found

    def query(self, prefix: str, newest_first: bool = False, limit: int | None = None, since: str = "") -> Iterator[Item]:
        """The cluster's items whose `sk` begins with `prefix`, in the order of `sk`, from `prefix` + `since` on."""
        with self._client("Query") as dynamodb:
            pages = dynamodb.get_paginator("query").paginate(
                TableName=self.name,
                KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
                ExpressionAttributeValues=_plain({":pk": self.pk, ":first": prefix + since, ":last": prefix + _LAST}),
                ConsistentRead=True,
                ScanIndexForward=not newest_first,
                PaginationConfig={"MaxItems": limit} if limit else {},
            )
            for page in pages:
                yield from map(_item, page["Items"])

    def put(self, sk: str, attributes: Mapping[str, Any], when: Condition | None = None, pk: str = "") -> None:
        """Raises Conflict when the condition does not hold."""
        with self._client("PutItem") as dynamodb:
            dynamodb.put_item(TableName=self.name, Item=self._key(sk, pk) | _plain(attributes), **_condition(when))

    def put_many(self, items: Iterable[tuple[str, Mapping[str, Any]]], gone: Iterable[str] = ()) -> None:
        """Writes (sk, attributes) and deletes `gone`, without conditions: for items that have one writer."""
        writes: list[Any] = [{"PutRequest": {"Item": self._key(sk) | _plain(attributes)}} for sk, attributes in items]
        writes += [{"DeleteRequest": {"Key": self._key(sk)}} for sk in gone]
        for page in _pages(writes, _PAGE_OF_WRITES):
            left: Any = {self.name: page}
            while left:
                with self._client("BatchWriteItem") as dynamodb:
                    left = dynamodb.batch_write_item(RequestItems=left).get("UnprocessedItems")

    def update(self, sk: str, expression: str, when: Condition | None = None, **values: Any) -> Item:
        """The item after the update; raises Conflict. `values` by placeholder without its colon."""
        both = Condition(when.expression if when else "", {**(when.values if when else {}), **values})
        names: Any = {"ExpressionAttributeNames": {"#ttl": keys.TTL}} if "#ttl" in expression else {}
        with self._client("UpdateItem") as dynamodb:
            answer = dynamodb.update_item(
                TableName=self.name,
                Key=self._key(sk),
                UpdateExpression=expression,
                ReturnValues="ALL_NEW",
                **_condition(both),
                **names,
            )
        return _item(answer["Attributes"])

    def delete(self, sk: str, when: Condition | None = None) -> None:
        """Raises Conflict; without a condition, deleting what is not there is no error."""
        with self._client("DeleteItem") as dynamodb:
            dynamodb.delete_item(TableName=self.name, Key=self._key(sk), **_condition(when))

    def put_together(self, puts: Iterable[Put], fence: tuple[str, Condition] | None = None) -> None:
        """All puts or none, and only while `fence`, the condition of another item (a lease), holds; raises Conflict."""
        items: list[Any] = [
            {"Put": {"TableName": self.name, "Item": self._key(put.sk) | _plain(put.attributes), **_condition(put.when)}}
            for put in puts
        ]
        if fence is not None:
            sk, held = fence
            items.append({"ConditionCheck": {"TableName": self.name, "Key": self._key(sk), **_condition(held)}})
        with self._client("TransactWriteItems") as dynamodb:
            dynamodb.transact_write_items(TransactItems=items)

    def _key(self, sk: str, pk: str = "") -> dict[str, Any]:
        key: dict[str, Any] = _plain({"pk": pk or self.pk, "sk": sk})
        return key


def _is_conflict(error: ClientError) -> bool:
    code = error.response["Error"]["Code"]
    if code == "TransactionCanceledException":
        reasons: Any = error.response.get("CancellationReasons", ())
        return any(reason.get("Code") in ("ConditionalCheckFailed", "TransactionConflict") for reason in reasons)
    return code == "ConditionalCheckFailedException"


def expiry(seconds: float) -> int:
    """Epoch seconds at which DynamoDB may drop the item, `seconds` from now."""
    return int((clock.utcnow() + timedelta(seconds=seconds)).timestamp())


def _condition(when: Condition | None) -> Any:
    if when is None:
        return {}
    result: dict[str, Any] = {}
    if when.expression:
        result["ConditionExpression"] = when.expression
    if when.values:
        result["ExpressionAttributeValues"] = _plain({f":{name}": value for name, value in when.values.items()})
    return result


def _plain(attributes: Mapping[str, Any]) -> Any:
    serializer = TypeSerializer()
    return {name: serializer.serialize(value) for name, value in attributes.items()}


def _item(raw: Mapping[str, Any]) -> Item:
    deserializer = TypeDeserializer()
    return {name: _native(deserializer.deserialize(value)) for name, value in raw.items()}


def _native(value: Any) -> Any:
    if isinstance(value, Binary):
        return bytes(value.value)  # type: ignore[attr-defined]
    return int(value) if isinstance(value, Decimal) else value  # we write whole numbers only


def _pages(items: Sequence[Any], size: int) -> Iterator[list[Any]]:
    rest = iter(items)
    while page := list(islice(rest, size)):
        yield page
