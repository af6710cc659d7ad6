"""A real API server lets in who the page on access says, over TLS and without anything of ours between."""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import closing
from functools import partial

import msgspec
import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

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
from tests.docs.test_cluster_access import BINDING, BLOCKS, ROLE, commands
from tests.kube.objects import node

pytestmark = [pytest.mark.cluster, pytest.mark.feature("CS-02")]


@pytest.fixture
def api(plane: ControlPlane) -> Iterator[RealCluster]:
    with RealCluster(plane, VirtualClock(clock.utcnow())) as cluster:
        cluster.add(node("n1"))
        yield cluster
    session.close()


def reached(plane: ControlPlane, **fields: str) -> Session:
    """By a document as it is kept in a secret."""
    document = {"server": plane.url, "ca": plane.ca_file.read_text(), **fields}
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
        read(reached(plane, token=token))
    api.add(ROLE)
    api.add(binding)
    assert [one.name for one in read(reached(plane, token=token)).snapshot.nodes] == ["n1"]


@pytest.fixture
def signing() -> Iterator[ControlPlane]:
    """A plane of its own, with the controller that signs certificates."""
    with ControlPlane(("certificatesigningrequest-signing-controller",), scheduler=False) as plane:
        yield plane
    session.close()


def signed(client: Client, request: bytes) -> str:
    """The certificate that the cluster makes of a request: the objects are those of the page, `approve` is kubectl's."""
    (words,) = [words for words in commands("jq") if "--rawfile" in words and "csr" in words]
    signer, usage = re.findall(r'(?:signerName: |usages: \[)"([^"]+)"', words[-1])
    spec = {"request": base64.b64encode(request).decode(), "signerName": signer, "usages": [usage]}
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    head = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "spillway"}}
    made = client.ask("POST", path, {**head, "spec": spec})
    approved = {"type": "Approved", "status": "True", "reason": "KubectlApprove"}
    client.ask("PUT", f"{path}/spillway/approval", {**made, "status": {"conditions": [approved]}})
    with closing(client.stream(f"{path}?watch=true&fieldSelector=metadata.name=spillway")) as stream:
        found = (msgspec.json.decode(line)["object"] for line in stream)
        return next(one["status"]["certificate"] for one in found if one.get("status", {}).get("certificate"))


def test_the_certificate_that_the_cluster_signs_is_of_the_group_that_the_role_is_bound_to(signing: ControlPlane):
    (request,) = [words for words in commands("openssl") if words[1] == "req"]
    subject = [part.partition("=")[::2] for part in request[request.index("-subj") + 1].strip("/").split("/")]
    oids = {"O": NameOID.ORGANIZATION_NAME, "CN": NameOID.COMMON_NAME}
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(oids[short], value) for short, value in subject])
    asked = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    client = Client(signing.url, signing.ca_file, signing.token)
    certificate = signed(client, asked.public_bytes(serialization.Encoding.PEM))
    client.close()
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    ours = {"certificate": certificate, "key": key.private_bytes(*form).decode()}

    with RealCluster(signing, VirtualClock(clock.utcnow())) as api:
        api.add(node("n1"))
        with pytest.raises(ClusterForbidden, match=r'list nodes.*User "spillway"'):
            read(reached(signing, **ours))
        api.add(ROLE)
        api.add(BINDING)
        assert [one.name for one in read(reached(signing, **ours)).snapshot.nodes] == ["n1"]


def test_a_wrong_token_and_a_wrong_ca_are_told_apart(api: RealCluster, plane: ControlPlane, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("spillway.kube.retry.sleep", lambda seconds: None)
    with pytest.raises(ClusterUnauthorized):
        read(reached(plane, token="nobody's"))
    with pytest.raises(ClusterUnavailable, match="certificate verify failed"):
        read(reached(plane, token=plane.token, ca=""))
