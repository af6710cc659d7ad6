"""What must survive: one DynamoDB table, and the only package that talks to DynamoDB.

One module per kind of item: snapshots, plans, memory, requests, leases, outcomes, settings, ticks, events, waits.
Keys are built in `keys`, calls are made in `store`. Where two writers could meet, a write carries a condition.
"""

from spillway.aws.table.store import Table

__all__ = ["Table"]
