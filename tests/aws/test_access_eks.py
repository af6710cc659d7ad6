"""EKS by IAM: who we are is signed here and believed there; in our account, and in another through a role."""

import base64
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from urllib.parse import parse_qs, urlsplit

import pytest
from moto import mock_aws
from moto.eks.models import eks_backends
from moto.sts.models import sts_backends

from spillway import clock
from spillway.aws import clients, eks
from spillway.aws.access import access
from spillway.aws.table import settings
from spillway.env import Env, env
from spillway.errors import AccessError, AwsForbidden, AwsUnavailable, ClusterUnauthorized
from spillway.kube.session import Answer, Session, close, connect
from spillway_local.clock import VirtualClock
from spillway_local.kube_api import FakeCluster
from tests.kube.eks import CLUSTER, OURS, PEM, REGION, THEIRS, Eks, eks_door
from tests.kube.handlers import handlers_on
from tests.kube.objects import node

pytestmark = pytest.mark.feature("CS-01")

ENV = Env(CLUSTER, REGION, (REGION,), "spillway", "", "eks", ())
OUR_ROLE, THEIR_ROLE = f"arn:aws:iam::{OURS}:role/snapshot-cluster", f"arn:aws:iam::{THEIRS}:role/spillway"


@pytest.fixture
def api(aws_credentials: None) -> Iterator[FakeCluster]:
    with mock_aws(config={"core": {"mock_credentials": False}}), FakeCluster(VirtualClock(clock.utcnow())) as running:
        yield running
    close()


@pytest.fixture
def door(api: FakeCluster) -> Iterator[Eks]:
    """Our role has an access entry."""
    with eks_door(api) as opened:
        opened.entries[OUR_ROLE] = "spillway"
        opened.describe()
        api.allow(None)
        yield opened


def session(role: str = "") -> Session:
    return connect(partial(access, replace(ENV, cluster_role=role)))


def version(of: Session) -> Answer:
    return of.call("GET", "/version", ("get", "/version"))


def pass_s(door: Eks, seconds: float) -> None:
    time = door.api.clock
    assert isinstance(time, VirtualClock)
    time.call_in(seconds, lambda: None)
    time.run(limit_s=seconds)


def test_endpoint_and_ca_come_from_the_cluster_and_the_token_from_iam(door: Eks):
    found = access(ENV)

    assert (found.cluster, found.server, found.ca) == (CLUSTER, door.api.url, PEM)
    assert found.token.startswith("k8s-aws-v1.")


def test_the_token_is_a_presigned_question_who_we_are_bound_to_the_cluster(door: Eks):
    token = eks.token(CLUSTER, REGION).removeprefix("k8s-aws-v1.")
    url = urlsplit(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
    asked = {name: values[0] for name, values in parse_qs(url.query).items()}

    assert (url.scheme, url.hostname, url.path) == ("https", "sts.us-east-1.amazonaws.com", "/")
    assert asked["Action"] == "GetCallerIdentity"
    assert asked["X-Amz-SignedHeaders"] == "host;x-k8s-aws-id"
    assert asked["X-Amz-Expires"] == "60"


def test_the_cluster_lets_us_in_by_the_signature(door: Eks):
    version(session())
    assert door.taken == [OUR_ROLE]


def test_a_token_of_another_cluster_is_worth_nothing(door: Eks):
    found = access(ENV)
    with pytest.raises(ClusterUnauthorized):
        version(Session(replace(found, token=eks.token("another", REGION))))


def test_a_role_without_an_access_entry_is_told_what_is_missing(door: Eks):
    door.entries.clear()
    with pytest.raises(ClusterUnauthorized, match="create the EKS access entry"):
        version(session())


def test_a_token_is_renewed_before_it_ends(door: Eks):
    """A function may work for 15 minutes; watch mode does for hours in one process."""
    long = session()
    for _ in range(4):
        version(long)
        pass_s(door, 10 * 60)
    version(long)

    assert (door.taken, door.refused) == ([OUR_ROLE] * 5, 0)


@pytest.mark.parametrize(("age_s", "is_kept"), [(13 * 60 + 59, True), (14 * 60, False)])
def test_that_is_a_minute_before_it_ends(door: Eks, age_s: int, is_kept: bool):
    """EKS takes it for 15 minutes, and a request is on its way for a moment."""
    running = session()
    first = running.access.token
    pass_s(door, age_s)
    version(running)

    assert (running.access.token == first) == is_kept
    assert door.refused == 0


def test_a_token_that_is_refused_all_the_same_is_renewed_once(door: Eks):
    """As when our clock runs behind."""
    running = session()
    version(running)
    door.revoked.add(running.access.token)
    pass_s(door, 2)

    version(running)
    door.entries.clear()
    with pytest.raises(ClusterUnauthorized):
        version(running)


def test_another_account_lets_us_in_by_a_role_of_its_own(door: Eks):
    door.describe(account=THEIRS)
    eks_backends[OURS][REGION].clusters.clear()  # so it was asked in the other account
    door.entries = {THEIR_ROLE: "spillway"}

    version(session(THEIR_ROLE))

    assert door.taken == [THEIR_ROLE]
    assert [role.session_name for role in sts_backends[THEIRS]["aws"].assumed_roles] == ["spillway"]


def test_the_role_is_assumed_again_before_its_credentials_end_and_not_at_each_run(door: Eks):
    """They live an hour; a token that outlives its credentials would be refused."""
    door.describe(account=THEIRS)
    door.entries = {THEIR_ROLE: "spillway"}
    assumed = sts_backends[THEIRS]["aws"].assumed_roles

    for minute in range(0, 120, 5):
        version(session(THEIR_ROLE))
        assert len(assumed) == minute // 45 + 1
        pass_s(door, 5 * 60)


def test_a_role_that_we_may_not_assume_is_named(door: Eks, monkeypatch: pytest.MonkeyPatch):
    answer = {"Error": {"Code": "AccessDenied", "Message": f"not authorized to perform: sts:AssumeRole on {THEIR_ROLE}"}}
    client = clients.client("sts", REGION)
    monkeypatch.setattr(client, "assume_role", refusing(client, answer))

    with pytest.raises(AwsForbidden, match=rf"sts:AssumeRole.*{THEIR_ROLE}"):
        session(THEIR_ROLE)


def refusing(client: object, answer: dict[str, dict[str, str]]) -> object:
    def refuse(**_: str) -> None:
        raise client.exceptions.ClientError(answer, "AssumeRole")  # type: ignore[attr-defined]

    return refuse


def test_a_cluster_that_is_not_there_is_an_error_of_that_call(door: Eks):
    eks_backends[OURS][REGION].clusters.clear()
    with pytest.raises(AwsUnavailable, match=r"us-east-1: eks:DescribeCluster.*prod"):
        access(ENV)


def test_a_cluster_that_is_still_made_says_so(door: Eks):
    made = eks_backends[OURS][REGION].clusters[CLUSTER]
    made.endpoint, made.status = "", "CREATING"
    with pytest.raises(AccessError, match="has no endpoint yet; it is CREATING"):
        access(ENV)


@pytest.mark.parametrize("role", ["", THEIR_ROLE], ids=["our account", "another"])
def test_the_function_stores_what_the_cluster_shows(aws_credentials: None, monkeypatch: pytest.MonkeyPatch, role: str):
    """From the stack's settings to the stored view, while the token ends between two lists."""
    with FakeCluster(VirtualClock(clock.utcnow())) as api, handlers_on(api) as world, eks_door(api) as door:
        door.describe(account=THEIRS if role else OURS)
        door.entries = {role or OUR_ROLE: "tester"}
        monkeypatch.setenv("SPILLWAY_ACCESS", "eks")
        monkeypatch.setenv("SPILLWAY_CLUSTER_ROLE_ARN", role)
        env.cache_clear()
        api.add(node("n1"))
        settings.put_policy(world.table, {"max_snapshot_age_s": 3600}, by="test")  # else so slow a read were worth nothing
        call = Session.call

        def slowly(session: Session, method: str, path: str, what: tuple[str, str], *more, **named) -> Answer:
            if what == ("list", "pods"):
                world.pass_s(16 * 60)
            return call(session, method, path, what, *more, **named)

        monkeypatch.setattr(Session, "call", slowly)

        assert world.call("snapshot_cluster")["nodes"] == 1
        assert set(door.taken) == {role or OUR_ROLE}
