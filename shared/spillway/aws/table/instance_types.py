"""What EC2 told of instance types, by region and type: a new process asks EC2 for none of them again."""

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from spillway import clock
from spillway.aws.table import keys
from spillway.aws.table.store import Table, expiry

_KEEP_S = 30 * 86400  # figures of a type change seldom: network cards and devices that EC2 told of later


@dataclass(frozen=True)
class TypeShelf:
    """Items of DescribeInstanceTypes as they came. Raises AwsForbidden and AwsUnavailable."""

    table: Table

    def get(self, region: str, names: Iterable[str]) -> dict[str, Mapping[str, Any]]:
        """By name; those that are not there, or too old, are left out."""
        wanted = {(self.table.pk, keys.instance_type(region, name)): name for name in names}
        now = clock.utcnow().timestamp()
        found = self.table.get_many(list(wanted))
        return {
            wanted[key]: msgspec.json.decode(zlib.decompress(item["body"]))
            for key, item in found.items()
            if item[keys.TTL] > now
        }

    def put(self, region: str, items: Iterable[Mapping[str, Any]]) -> None:
        self.table.put_many(
            (
                keys.instance_type(region, item["InstanceType"]),
                {"body": zlib.compress(msgspec.json.encode(item)), keys.TTL: expiry(_KEEP_S)},
            )
            for item in items
        )
