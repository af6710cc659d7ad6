"""An EKS cluster: a fake API server that takes IAM's tokens, and DescribeCluster, which leads to it.

A token is judged as EKS does: the presigned GetCallerIdentity is put to STS, here by computing its signature anew (IAM user
guide, "Create a signed AWS API request"), and counts for 15 minutes (aws-iam-authenticator, pkg/token/token.go).
"""

import base64
import hashlib
import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from moto.eks.models import eks_backends
from moto.sts.models import sts_backends

from spillway import clock
from spillway.aws import clients, eks
from spillway_local.kube_api import FakeCluster
from spillway_local.kube_api.refusals import Refusal, unauthorized

CLUSTER, REGION = "prod", "us-east-1"
OURS, THEIRS = "123456789012", "222222222222"  # accounts; the first is moto's own
PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


@dataclass
class Eks:
    """`entries` maps an ARN to the user of the access entry; `taken` are the ARNs of requests that were let in."""

    api: FakeCluster
    entries: dict[str, str] = field(default_factory=dict)
    taken: list[str] = field(default_factory=list)
    revoked: set[str] = field(default_factory=set)
    refused: int = 0  # requests whose token ended, or was revoked, or is none of ours

    def describe(self, account: str = OURS) -> None:
        """DescribeCluster of that account leads here."""
        stored = eks_backends[account][REGION].clusters
        if CLUSTER not in stored:
            network = {"subnetIds": [], "securityGroupIds": []}
            eks_backends[account][REGION].create_cluster(CLUSTER, f"arn:aws:iam::{account}:role/eks", network)
        stored[CLUSTER].endpoint = self.api.url
        stored[CLUSTER].certificate_authority = {"data": base64.b64encode(PEM.encode()).decode()}

    def authenticate(self, authorization: str) -> str:
        """The user; raises Refusal 401."""
        try:
            return self._user(authorization)
        except Refusal:
            self.refused += 1
            raise

    def _user(self, authorization: str) -> str:
        token = authorization.removeprefix("Bearer ")
        if token in self.revoked or not token.startswith("k8s-aws-v1."):
            raise unauthorized()
        text = token.removeprefix("k8s-aws-v1.")
        arn = self._caller(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode())
        if arn not in self.entries:
            raise unauthorized()
        self.taken.append(arn)
        return self.entries[arn]

    def _caller(self, url: str) -> str:
        """What STS answers to the presigned URL, for this cluster and at this time."""
        parts = urlsplit(url)
        asked = dict(parse_qsl(parts.query, keep_blank_values=True))
        signature = asked.pop("X-Amz-Signature")
        key, *scope = asked["X-Amz-Credential"].split("/")
        signed = datetime.strptime(asked["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        if parts.hostname != f"sts.{REGION}.amazonaws.com" or asked["Action"] != "GetCallerIdentity":
            raise unauthorized()
        if not timedelta(0) <= self.api.clock.now() - signed < timedelta(minutes=15):
            raise unauthorized()
        secret, arn = _principal(key)
        query = "&".join(f"{quote(name, safe='')}={quote(asked[name], safe='')}" for name in sorted(asked))
        head = f"host:{parts.hostname}\nx-k8s-aws-id:{CLUSTER}\n\nhost;x-k8s-aws-id\n{hashlib.sha256(b'').hexdigest()}"
        canonical = hashlib.sha256(f"GET\n/\n{query}\n{head}".encode()).hexdigest()
        text = f"AWS4-HMAC-SHA256\n{asked['X-Amz-Date']}\n{'/'.join(scope)}\n{canonical}"
        for step in scope:
            secret = hmac.digest(secret if isinstance(secret, bytes) else f"AWS4{secret}".encode(), step.encode(), "sha256")
        if not hmac.compare_digest(hmac.digest(secret, text.encode(), "sha256").hex(), signature):
            raise unauthorized()
        return arn


def _principal(key: str) -> tuple[str | bytes, str]:
    """Secret key and ARN of an access key: our own function's, or one that AssumeRole gave."""
    if key == "testing":
        return "testing", f"arn:aws:iam::{OURS}:role/snapshot-cluster"
    for account in (OURS, THEIRS):
        if role := sts_backends[account]["aws"].get_assumed_role_from_access_key(key):
            return role.secret_access_key, role.role_arn
    raise unauthorized()


@contextmanager
def eks_door(api: FakeCluster) -> Iterator[Eks]:
    """Within a mocked account. AWS signs at the time of the cluster's clock."""
    with pytest.MonkeyPatch.context() as patch:
        door = Eks(api)
        patch.setattr(clock, "utcnow", api.clock.now)
        for aws in ("botocore.auth.get_current_datetime", "moto.sts.models.utcnow"):
            patch.setattr(aws, lambda: api.clock.now().replace(tzinfo=None))
        patch.setattr(api.access, "authenticate", door.authenticate)
        clients.clear()
        eks.forget()
        try:
            yield door
        finally:
            clients.clear()
            eks.forget()
