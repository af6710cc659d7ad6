"""A real API server lets in who the page on access says, over TLS and without anything of ours between."""

import json
from collections.abc import Iterator
from functools import partial

import pytest
import yaml

from spillway import clock
from spillway.aws.access import access
from spillway.env import Env
from spillway.errors import ClusterForbidden, ClusterUnauthorized, ClusterUnavailable
from spillway.kube import session
from spillway.kube.read import read
from spillway.kube.session import Session, connect
from spillway_local.clock import VirtualClock
from spillway_local.control_plane import ControlPlane
from spillway_local.control_plane.client import Client
from spillway_local.control_plane.cluster import RealCluster
from tests.docs.test_cluster_access import BLOCKS, ROLE
from tests.kube.objects import node

pytestmark = [pytest.mark.cluster, pytest.mark.feature("CS-02")]


@pytest.fixture
def api(plane: ControlPlane) -> Iterator[RealCluster]:
    with RealCluster(plane, VirtualClock(clock.utcnow())) as cluster:
        cluster.add(node("n1"))
        yield cluster
    session.close()


def reached(plane: ControlPlane, token: str, ca: str | None = None) -> Session:
    """By a document as it is kept in a secret."""
    document = {"server": plane.url, "ca": plane.ca_file.read_text() if ca is None else ca, "token": token}
    return connect(partial(access, Env("prod", "us-east-1", ("us-east-1",), "", "", f"json:{json.dumps(document)}", ())))


def test_the_token_of_the_service_account_reads_the_cluster(api: RealCluster, plane: ControlPlane):
    """The objects are those of the page; the token is one that the server signs for the account."""
    (text,) = [text for _, language, text in BLOCKS if language == "yaml"]
    account, _, binding = yaml.safe_load_all(text)
    api.add(account)
    client = Client(plane.url, plane.ca_file, plane.token)
    path = f"/api/v1/namespaces/kube-system/serviceaccounts/{account['metadata']['name']}/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = client.ask("POST", path, asked)["status"]["token"]
    client.close()

    with pytest.raises(ClusterForbidden, match="list nodes"):
        read(reached(plane, token))
    api.add(ROLE)
    api.add(binding)
    assert [one.name for one in read(reached(plane, token)).snapshot.nodes] == ["n1"]


def test_a_wrong_token_and_a_wrong_ca_are_told_apart(api: RealCluster, plane: ControlPlane, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("spillway.kube.retry.sleep", lambda seconds: None)
    with pytest.raises(ClusterUnauthorized):
        read(reached(plane, "nobody's"))
    with pytest.raises(ClusterUnavailable, match="certificate verify failed"):
        read(reached(plane, plane.token, ca=""))
