"""Keys of the table. `pk` is the cluster, or one part of a snapshot; `sk` is the kind of item and its name.

The stream of the table carries keys only, and the plan function's filter reads `sk`: HEAD_CLUSTER and
the prefix EVENT start a plan, nothing else does.
"""

HEAD_CLUSTER = "HEAD#cluster"
HEAD_FLEET = "HEAD#fleet"
LATEST_PLAN = "PLAN#latest"
SWITCH = "SWITCH"

NODE = "NODE#"
UNAVAILABLE = "UNAVAILABLE#"
REQUEST = "REQUEST#"
OUTCOME = "OUTCOME#"
EVENT = "EVENT#"
POLICY = "POLICY#"
GROUP_LEASE = "LEASE#group#"
NODE_LEASE = "LEASE#node#"
WATCH_LEASE = "LEASE#watch"
WAIT = "WAIT#"
TEMPLATE = "TEMPLATE#"
NOTICE = "NOTICE#"
REMOVAL = "REMOVAL#"

TTL = "ttl"
"""The attribute that DynamoDB's time to live reads, in epoch seconds; in expressions `#ttl`, since the word is reserved."""


def cluster(name: str) -> str:
    return f"CLUSTER#{name}"


def snapshot(name: str, part: str) -> str:
    """Partition of one part or manifest: parts spread over partitions, and equal parts share one."""
    return f"CLUSTER#{name}#SNAPSHOT#{part}"


def plan(plan_id: str) -> str:
    return f"PLAN#{plan_id}"


def request(request_id: str) -> str:
    """`request_id` is `<plan>#<step>#<hop>`."""
    return f"{REQUEST}{request_id}"


def outcome(plan_id: str, step: int, hop: int) -> str:
    return f"{OUTCOME}{plan_id}#{step}#{hop}"


def node(name: str) -> str:
    return f"{NODE}{name}"


def unavailable(scope: str, key: str) -> str:
    return f"{UNAVAILABLE}{scope}#{key}"


def group_lease(region: str, group: str) -> str:
    return f"{GROUP_LEASE}{region}/{group}"


def node_lease(name: str) -> str:
    return f"{NODE_LEASE}{name}"


def event(event_id: str) -> str:
    return f"{EVENT}{event_id}"


def seen(event_id: str) -> str:
    return f"SEEN#{event_id}"


def tick(trigger: str) -> str:
    return f"TICK#{trigger}"


def instance_type(region: str, name: str) -> str:
    return f"TYPE#{region}#{name}"


def prices(region: str, market: str) -> str:
    return f"PRICE#{region}#{market}"


def template(region: str, group: str, instance_type: str) -> str:
    """A group's name may hold any character but a colon."""
    return f"{TEMPLATE}{region}/{group}:{instance_type}"


def notice(region: str, subject: str) -> str:
    return f"{NOTICE}{region}#{subject}"


def removal(moment: str, plan_id: str, step: int) -> str:
    """`moment` is the plan's, in ISO format: what was planned an hour ago is found without reading what is older."""
    return f"{REMOVAL}{moment}#{plan_id}#{step}"


def policy(version: str) -> str:
    return f"{POLICY}{version}"


def wait(plan_id: str, region: str) -> str:
    return f"{WAIT}{plan_id}#{region}"


def news(region: str) -> str:
    return f"NEWS#{region}"
