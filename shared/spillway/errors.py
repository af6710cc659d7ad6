"""Every error Spillway raises on purpose.

Step Functions tells errors apart by class name, so a name here is an API: the workflow's `ErrorEquals`
lists may name only these, and a test says so.

    SpillwayError
    ├── InputError                 what was handed in is wrong; the sender mends it
    │   ├── PolicyError            fields of the policy document
    │   ├── DumpError              a file of a dump
    │   ├── EventError             the event of a handler
    │   └── AccessError            how to reach the API server: SPILLWAY_ACCESS, or the secret it names
    ├── ClusterError               the API server cannot be used
    │   ├── ClusterUnauthorized    401: the credentials are not accepted
    │   ├── ClusterForbidden       403: RBAC lacks a verb on a resource
    │   ├── ClusterUnavailable     no answer, a broken one, 429 or 5xx after all retries
    │   ├── ClusterSlow            answers, but not all of them within the function's time
    │   ├── ClusterEmpty           an answer without nodes, which the policy does not allow, or without one that reads
    │   └── ClusterStale           an answer of a time that is too far from ours to plan from, most often too old
    ├── AwsError                   a regional AWS API cannot be used
    │   ├── AwsForbidden           IAM lacks an action
    │   └── AwsUnavailable         no answer, throttling or 5xx after all retries
    ├── NotFound                   a plan, step or snapshot that the table does not hold
    ├── SnapshotTooNew             a newer version stored it than reads it
    ├── PlanStale                  the plan is too old to act on
    ├── Stopped                    the switch or the policy's mode forbids it
    └── LeaseHeld                  somebody else is writing to the same group or node

They are dataclasses, but not frozen: contextlib sets `__traceback__` on an exception that passes through it.
"""

from dataclasses import dataclass


class SpillwayError(Exception):
    """`str(error)` is one sentence that names the thing and says what to do."""

    exit_code = 1

    def __str__(self) -> str:
        raise NotImplementedError


class InputError(SpillwayError):
    exit_code = 2


@dataclass(eq=False)
class PolicyError(InputError):
    """`problems` are (path of the field, what is wrong with it)."""

    source: str
    problems: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        lines = "; ".join(f"{field}: {problem}" for field, problem in self.problems)
        return f"policy {self.source}: {lines}. Mend these fields; docs/schema/policy.json lists all of them"


@dataclass(eq=False)
class DumpError(InputError):
    """`key` is the top-level key or the object, "" for the file as a whole."""

    file: str
    key: str
    problem: str

    def __str__(self) -> str:
        return f"dump file {self.file}{f', key {self.key}' if self.key else ''}: {self.problem}"


@dataclass(eq=False)
class EventError(InputError):
    function: str
    problems: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        lines = "; ".join(f"{field}: {problem}" for field, problem in self.problems)
        return f"event of {self.function}: {lines}. Compare with events/{self.function}.*.json"


@dataclass(eq=False)
class AccessError(InputError):
    """`field` is of the secret, or `SPILLWAY_ACCESS` itself; never the value of a token or key."""

    field: str
    problem: str

    def __str__(self) -> str:
        return f"access to the cluster, {self.field}: {self.problem}. docs/cluster-access.md has the forms"


class ClusterError(SpillwayError):
    pass


@dataclass(eq=False)
class ClusterUnauthorized(ClusterError):
    cluster: str
    server: str

    def __str__(self) -> str:
        return (
            f"cluster {self.cluster}: the API server {self.server} does not accept our credentials (401). "
            "Renew the token, or create the EKS access entry for this function's role, or for the role that it assumes"
        )


@dataclass(eq=False)
class ClusterForbidden(ClusterError):
    cluster: str
    verb: str
    resource: str
    message: str = ""

    def __str__(self) -> str:
        return (
            f"cluster {self.cluster}: RBAC does not allow to {self.verb} {self.resource} (403). "
            f"Apply deploy/rbac.yaml. The server says: {self.message}"
        )


@dataclass(eq=False)
class ClusterUnavailable(ClusterError):
    cluster: str
    server: str
    problem: str

    def __str__(self) -> str:
        return (
            f"cluster {self.cluster}: no usable answer from {self.server}: {self.problem}. "
            "Check that the API server runs and that this function can reach it (VPC, security group)"
        )


@dataclass(eq=False)
class ClusterSlow(ClusterError):
    """`doing` is what was under way, `after_s` how long the function had been at it."""

    cluster: str
    server: str
    doing: str
    after_s: float

    def __str__(self) -> str:
        return (
            f"cluster {self.cluster}: {self.server} was not read to its end within the function's time: after "
            f"{self.after_s:.0f} s it was at `{self.doing}`, and nothing is stored of a part. Look at how long the API server "
            "takes for a page of that list, at the network to it, and at the function's memory, which is its speed, too"
        )


@dataclass(eq=False)
class ClusterEmpty(ClusterError):
    """`unread` nodes are there, of which `example` says of one what is wrong."""

    cluster: str
    unread: int = 0
    example: str = ""

    def __str__(self) -> str:
        if self.unread:
            return (
                f"cluster {self.cluster}: of {self.unread} nodes that the API server lists none reads, so there is nothing to "
                f"plan with: {self.example}. Look at what writes to these Node objects, or update Spillway"
            )
        return (
            f"cluster {self.cluster}: the API server lists no nodes, which is taken for a failed read. "
            "If the cluster may be empty, set `may_be_empty: true` in the policy"
        )


@dataclass(eq=False)
class ClusterStale(ClusterError):
    cluster: str
    taken_at: str
    problem: str

    def __str__(self) -> str:
        return (
            f"cluster {self.cluster}: what the API server answers is of {self.taken_at}, {self.problem}; no plan would be made "
            "of it. Mend the clock of the API server's machine, or the proxy that answers from its memory"
        )


class AwsError(SpillwayError):
    pass


@dataclass(eq=False)
class AwsForbidden(AwsError):
    region: str
    action: str
    message: str = ""

    def __str__(self) -> str:
        return (
            f"region {self.region}: IAM does not allow {self.action}. Add it to the function's role. AWS says: {self.message}"
        )


@dataclass(eq=False)
class AwsUnavailable(AwsError):
    region: str
    action: str
    problem: str

    def __str__(self) -> str:
        return f"region {self.region}: {self.action} failed: {self.problem}. It is tried again at the next tick"


@dataclass(eq=False)
class NotFound(SpillwayError):
    what: str
    name: str

    def __str__(self) -> str:
        return f"{self.what} {self.name} is not in the table: it expired, or never was"


@dataclass(eq=False)
class SnapshotTooNew(SpillwayError):
    """`version` is its schema's, `ours` the newest that this code reads."""

    cluster: str
    version: int
    ours: int

    def __str__(self) -> str:
        return (
            f"the snapshot of cluster {self.cluster} has schema version {self.version}, and this function reads up to "
            f"{self.ours}: whoever stored it is newer. Deploy the newer planner first, then what feeds it"
        )


@dataclass(eq=False)
class PlanStale(SpillwayError):
    plan_id: str
    age_s: int
    limit_s: int

    def __str__(self) -> str:
        return (
            f"plan {self.plan_id} is {self.age_s} s old, {self.limit_s} s are allowed; "
            "nothing was done, the next tick plans anew"
        )


@dataclass(eq=False)
class Stopped(SpillwayError):
    plan_id: str
    by: str

    def __str__(self) -> str:
        return f"plan {self.plan_id} was not carried on: {self.by}. `spillway resume` lets it go on with a new plan"


@dataclass(eq=False)
class LeaseHeld(SpillwayError):
    what: str
    holder: str

    def __str__(self) -> str:
        return f"{self.what} is being written by {self.holder}; try again in a moment"
