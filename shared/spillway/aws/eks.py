"""EKS by IAM: endpoint and CA from DescribeCluster, a token from STS; through a role where the cluster is another account's.

The token is a GetCallerIdentity that is presigned here and called by EKS, which then knows who we are. Sources:
aws-iam-authenticator, pkg/token/token.go; IAM user guide, "Methods to assume a role".
"""

import base64
from datetime import datetime, timedelta
from functools import cache

import boto3
from botocore.credentials import Credentials
from botocore.signers import RequestSigner

from spillway import clock
from spillway.aws import clients
from spillway.aws.credentials import pem
from spillway.errors import AccessError
from spillway.model.access import Access

_TOKEN_PREFIX = "k8s-aws-v1."  # noqa: S105
_URL_S = 60  # EKS takes the token for 15 minutes after it was signed, whatever the URL says
_TOKEN_LIVES = timedelta(minutes=14)  # one less than that: a request is on its way for a moment
_ROLE_LEAST = timedelta(minutes=15)  # a token ends with the credentials that signed it
_SESSION = "spillway"

_assumed: dict[str, tuple[datetime, Credentials]] = {}  # by role: until when it is used


def access(cluster: str, region: str, role: str = "") -> Access:
    """`role` is the ARN of one in the cluster's account, "" for our own. Raises AccessError, AwsForbidden, AwsUnavailable."""
    now = clock.utcnow()
    credentials = _of_role(role, region, now) if role else None
    server, ca = _described(cluster, region, role)
    return Access(cluster, server, ca, token=token(cluster, region, credentials), ends=now + _TOKEN_LIVES)


def forget() -> None:
    """The next access is asked for anew, all of it."""
    _described.cache_clear()
    _assumed.clear()


def token(cluster: str, region: str, credentials: Credentials | None = None) -> str:
    """Of `credentials`, None: our own. Local work, no call."""
    sts = clients.client("sts", region)
    session = boto3.Session()
    signing = credentials or session.get_credentials()
    if signing is None:
        raise AccessError("SPILLWAY_ACCESS", "`eks` needs AWS credentials, and there are none")
    signer = RequestSigner(sts.meta.service_model.service_id, region, "sts", "v4", signing, session.events)
    request = {
        "method": "GET",
        "url": f"{sts.meta.endpoint_url}/?Action=GetCallerIdentity&Version=2011-06-15",
        "body": {},
        "headers": {"x-k8s-aws-id": cluster},
        "context": {},
    }
    with clients.asking(region, "sts:GetCallerIdentity"):
        url = signer.generate_presigned_url(request, region_name=region, expires_in=_URL_S, operation_name="")
    return _TOKEN_PREFIX + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")


def _of_role(role: str, region: str, now: datetime) -> Credentials:
    until, credentials = _assumed.get(role, (now, None))
    if credentials is None or now >= until:
        found = clients.ask("sts", region, "assume_role", RoleArn=role, RoleSessionName=_SESSION)["Credentials"]
        credentials = Credentials(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])
        _assumed[role] = (found["Expiration"] - _ROLE_LEAST, credentials)
    return credentials


@cache
def _described(cluster: str, region: str, role: str) -> tuple[str, str]:
    """Endpoint and CA, which an EKS cluster keeps for life."""
    credentials = _of_role(role, region, clock.utcnow()) if role else None
    eks = clients.client("eks", region, credentials)
    with clients.asking(region, "eks:DescribeCluster"):
        found = eks.describe_cluster(name=cluster)["cluster"]
    if not found.get("endpoint"):
        raise AccessError("SPILLWAY_ACCESS", f"the EKS cluster {cluster} has no endpoint yet; it is {found.get('status')}")
    ca = str(found["certificateAuthority"].get("data") or "")
    return found["endpoint"], pem(ca, "certificateAuthority", f"EKS cluster {cluster}")
