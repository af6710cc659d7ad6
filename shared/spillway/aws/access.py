"""From SPILLWAY_ACCESS to what a connection to the API server needs. Tokens and keys stay in memory.

eks                         endpoint and CA of the EKS cluster of that name in the home region, token from IAM (aws/eks.py)
arn:…:secretsmanager:…      a secret: {"server", "ca", and "token" or "certificate" and "key"}, or a kubeconfig as JSON
json:{…}                    the same, written out: for a laptop, where the environment is one's own
file:PATH                   the same in a file, in JSON or YAML: any kubeconfig, whose own files are read, too
"""

from functools import cache
from pathlib import Path

import msgspec

from spillway import clock
from spillway.aws import clients, credentials, eks, kubeconfig
from spillway.env import Env
from spillway.errors import AccessError
from spillway.model.access import Access

_SECRET_S = 300  # how long a secret is kept: a rotated one is seen within five minutes


class _Secret(msgspec.Struct, forbid_unknown_fields=True):
    server: str
    ca: str = ""
    token: str = ""
    certificate: str = ""
    key: str = ""
    proxy: str = ""


def access(env: Env, anew: bool = False) -> Access:
    """Made at every run: tokens end. `anew`: out of nothing that is remembered of AWS's answers.

    Raises AccessError, AwsForbidden and AwsUnavailable.
    """
    form = env.access
    if anew:
        eks.forget()
        _secret.cache_clear()
    if form == "eks":
        return eks.access(env.cluster, env.home_region, env.cluster_role)
    if form.startswith("arn:"):
        return _read(env.cluster, _secret(form, int(clock.utcnow().timestamp()) // _SECRET_S), "secret")
    if form.startswith("json:"):
        return _read(env.cluster, form.removeprefix("json:"), "SPILLWAY_ACCESS")
    if form.startswith("file:"):
        return _of_file(env.cluster, Path(form.removeprefix("file:")).expanduser())
    raise AccessError("SPILLWAY_ACCESS", "it is neither `eks`, nor a secret's ARN, nor `json:{…}`, nor `file:PATH`")


@cache
def _secret(arn: str, _period: int) -> str:
    region = arn.split(":")[3]
    return str(clients.ask("secretsmanager", region, "get_secret_value", SecretId=arn).get("SecretString", ""))


def _of_file(cluster: str, path: Path) -> Access:
    import yaml  # comes with kubernetes; no function needs it

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:  # the latter keeps all of the file, so it is not chained
        raise AccessError(str(path), f"it cannot be read: {error}") from None
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
    token = credentials.token(fields.token, "token", source)
    if not token and not (fields.certificate and fields.key):
        raise AccessError(source, "it has neither a token, nor a certificate and a key")
    given = msgspec.structs.asdict(fields)
    ca, certificate, key = (credentials.pem(given[name], name, source) for name in ("ca", "certificate", "key"))
    return Access(cluster, fields.server, ca, token, certificate, key, fields.proxy)
