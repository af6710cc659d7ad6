"""From SPILLWAY_ACCESS to what a connection to the API server needs. Tokens and keys stay in memory.

eks                         endpoint and CA of the EKS cluster of that name in the home region, token from IAM
arn:…:secretsmanager:…      a secret: {"server", "ca", and "token" or "certificate" and "key"}, or a kubeconfig as JSON
json:{…}                    the same, written out: for a laptop, where the environment is one's own
file:PATH                   the same in a file, in JSON or YAML: any kubeconfig, whose own files are read, too
"""

import base64
from functools import cache
from pathlib import Path

import boto3
import msgspec
from botocore.signers import RequestSigner

from spillway import clock
from spillway.aws import clients, kubeconfig
from spillway.env import Env
from spillway.errors import AccessError
from spillway.model.access import Access

_TOKEN_PREFIX = "k8s-aws-v1."  # noqa: S105
_URL_S = 60  # EKS takes the token for 15 minutes, whatever the URL says: aws-iam-authenticator, pkg/token/token.go
_SECRET_S = 300  # how long a secret is kept: a rotated one is seen within five minutes


class _Secret(msgspec.Struct, forbid_unknown_fields=True):
    server: str
    ca: str = ""
    token: str = ""
    certificate: str = ""
    key: str = ""
    proxy: str = ""


def access(env: Env) -> Access:
    """Made anew at every run: tokens end. Raises AccessError, AwsForbidden and AwsUnavailable."""
    form = env.access
    if form == "eks":
        server, ca = _eks(env.cluster, env.home_region)
        return Access(env.cluster, server, ca, token=eks_token(env.cluster, env.home_region))
    if form.startswith("arn:"):
        return _read(env.cluster, _secret(form, int(clock.utcnow().timestamp()) // _SECRET_S), "secret")
    if form.startswith("json:"):
        return _read(env.cluster, form.removeprefix("json:"), "SPILLWAY_ACCESS")
    if form.startswith("file:"):
        return _of_file(env.cluster, Path(form.removeprefix("file:")).expanduser())
    raise AccessError("SPILLWAY_ACCESS", "it is neither `eks`, nor a secret's ARN, nor `json:{…}`, nor `file:PATH`")


def eks_token(cluster: str, region: str) -> str:
    """A presigned GetCallerIdentity, which EKS calls to learn who we are. Local work, no call."""
    sts = clients.client("sts", region)
    session = boto3.Session()
    credentials = session.get_credentials()
    if credentials is None:
        raise AccessError("SPILLWAY_ACCESS", "`eks` needs AWS credentials, and there are none")
    signer = RequestSigner(sts.meta.service_model.service_id, region, "sts", "v4", credentials, session.events)
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


@cache
def _eks(cluster: str, region: str) -> tuple[str, str]:
    """Endpoint and CA, which an EKS cluster keeps for life."""
    found = clients.ask("eks", region, "describe_cluster", name=cluster)["cluster"]
    if not found.get("endpoint"):
        raise AccessError("SPILLWAY_ACCESS", f"the EKS cluster {cluster} has no endpoint yet; it is {found.get('status')}")
    return found["endpoint"], kubeconfig.pem(
        found["certificateAuthority"], "data", f"EKS cluster {cluster}, certificateAuthority"
    )


@cache
def _secret(arn: str, _period: int) -> str:
    region = arn.split(":")[3]
    return str(clients.ask("secretsmanager", region, "get_secret_value", SecretId=arn).get("SecretString", ""))


def _of_file(cluster: str, path: Path) -> Access:
    import yaml  # comes with kubernetes; no function needs it

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AccessError(str(path), f"it cannot be read: {error}") from error
    try:
        return _read(cluster, text, str(path), path.parent)
    except _NoJson:
        pass
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:  # its text would show the line, which may hold a token
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 1
        raise AccessError(str(path), f"it cannot be read: line {line} is neither JSON nor YAML") from None
    return _of(cluster, document, str(path), path.parent)


class _NoJson(AccessError):
    """What was to be JSON is none."""


def _read(cluster: str, text: str, source: str, folder: Path | None = None) -> Access:
    try:
        document = msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise _NoJson(source, 'it is no JSON object {"server", "ca", "token"}, nor a kubeconfig as JSON') from None
    return _of(cluster, document, source, folder)


def _of(cluster: str, document: object, source: str, folder: Path | None) -> Access:
    if not isinstance(document, dict):
        raise AccessError(source, 'it is no kubeconfig, nor a JSON object {"server", "ca", "token"}')
    if "clusters" in document:
        return kubeconfig.read(cluster, document, source, folder)
    try:
        fields = msgspec.convert(document, _Secret)
    except msgspec.ValidationError as error:
        raise AccessError(source, str(error)) from None
    if not fields.token and not (fields.certificate and fields.key):
        raise AccessError(source, "it has neither a token, nor a certificate and a key")
    parts = {name: kubeconfig.pem({name: getattr(fields, name)}, name, source) for name in ("ca", "certificate", "key")}
    return Access(cluster, fields.server, token=fields.token, proxy=fields.proxy, **parts)
