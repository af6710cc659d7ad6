"""A kubeconfig as it comes from `kubectl config view --raw --minify --flatten -o json`, to a connection.

Source: k8s.io/client-go/tools/clientcmd/api/v1/types.go. Flattened, it holds its certificates and names no files,
which a function could not read; on a laptop they are read. Credentials that a program has to fetch cannot be used, and
what would change the connection and is not done is refused by its name.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from spillway.aws import credentials
from spillway.errors import AccessError
from spillway.model.access import Access

_FILES = {"certificate-authority": "certificate-authority-data", "client-certificate": "client-certificate-data",
          "client-key": "client-key-data", "tokenFile": "token"}  # fmt: skip

_IAM_PROGRAMS = ("aws", "aws-iam-authenticator")
_BY_IAM = "the access `eks` makes the same token by itself"
_REFUSED = {
    "insecure-skip-tls-verify": "TLS is always verified; give the CA instead",
    "as": "nobody is impersonated; give a credential of that user itself",
    "as-uid": "nobody is impersonated; give a credential of that user itself",
    "as-groups": "nobody is impersonated; give a credential in these groups itself",
    "as-user-extra": "nobody is impersonated; give a credential of that user itself",
    "username": "no API server takes a password any more; give the token of a service account",
    "password": "no API server takes a password any more; give the token of a service account",
}


class _Config(msgspec.Struct, rename="kebab"):
    clusters: list[Any] | None = None
    users: list[Any] | None = None
    contexts: list[Any] | None = None
    current_context: str | None = None


class _Context(msgspec.Struct):
    cluster: str
    user: str


class _Cluster(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """Files are in place of their names; `disable-compression` would only make answers longer."""

    server: str
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    tls_server_name: str | None = None
    proxy_url: str | None = None
    disable_compression: bool | None = None
    extensions: Any = None


class _User(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    token: str | None = None
    token_file: str | None = msgspec.field(default=None, name="tokenFile")
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    exec: Any = None
    auth_provider: Any = None
    extensions: Any = None


_Part = TypeVar("_Part", bound=msgspec.Struct)


def read(cluster: str, document: Mapping[str, Any], source: str, folder: Path | None = None) -> Access:
    """The current context, or the only one. `source` names the document in errors; names of files in it are of `folder`,
    None where there are none to read. Raises AccessError.
    """
    config = _converted(document, _Config, source)
    contexts = _by_name(config.contexts, "contexts", "context", source)
    current = config.current_context or (next(iter(contexts)) if len(contexts) == 1 else "")
    if current not in contexts:
        raise AccessError(source, "its current-context names none of its contexts")
    context = _converted(contexts[current], _Context, f"{source}, contexts, {current}")
    server = _named(config.clusters, "clusters", "cluster", context.cluster, source, folder, _Cluster)
    user = _named(config.users, "users", "user", context.user, source, folder, _User)
    token = credentials.token(user.token or "", "token", source)
    certificate = credentials.pem(user.client_certificate_data or "", "client-certificate-data", source)
    key = credentials.pem(user.client_key_data or "", "client-key-data", source)
    if not token and not (certificate and key):
        raise AccessError(source, _no_credentials(user))
    return Access(
        cluster=cluster,
        server=server.server,
        ca=credentials.pem(server.certificate_authority_data or "", "certificate-authority-data", source),
        token=token,
        certificate=certificate,
        key=key,
        proxy=server.proxy_url or "",
        tls_server_name=server.tls_server_name or "",
    )


def _no_credentials(user: _User) -> str:
    """Why, and what to do instead. Arguments of a program are not told, as they may hold a secret."""
    program = user.exec or user.auth_provider
    if not isinstance(program, Mapping):
        return "its user has neither a token nor a client certificate and its key"
    name = str(program.get("command") or program.get("name") or "a program").rpartition("/")[2]
    instead = _BY_IAM if name in _IAM_PROGRAMS else "give the token of a service account"
    return f"its user logs in by the program {name}, which is not there and is never run; {instead}"


def _named(
    entries: list[Any] | None, field: str, inner: str, name: str, source: str, folder: Path | None, form: type[_Part]
) -> _Part:
    found = _by_name(entries, field, inner, source)
    if name not in found:
        raise AccessError(source, f"its context names a {inner} that {field} has not")
    fields, where = found[name], f"{source}, {field}, {name}"
    if not isinstance(fields, Mapping):
        raise AccessError(where, f"{inner} is no object")
    for refused in _REFUSED.keys() & fields.keys():
        if fields[refused]:
            raise AccessError(where, f"{refused} is set: {_REFUSED[refused]}")
    asked = {key: value for key, value in fields.items() if key not in _REFUSED}
    return _converted(_with_files(asked, where, folder), form, where)


def _with_files(fields: Mapping[str, Any], source: str, folder: Path | None) -> Mapping[str, Any]:
    """The fields with the files' contents in their place; what is written out goes before a file, as in kubectl."""
    found = dict(fields)
    for name, inline in _FILES.items():
        if not fields.get(name) or fields.get(inline):
            continue
        if folder is None:
            raise AccessError(source, f"{name} is a file; `kubectl config view --raw --minify --flatten` puts it in")
        try:
            found[inline] = (folder / str(fields[name])).read_text(encoding="utf-8").strip() + "\n"
        except (OSError, UnicodeDecodeError) as error:  # the latter keeps all of the file, so it is not chained
            raise AccessError(source, f"{name} cannot be read: {error}") from None
    return found


def _by_name(entries: list[Any] | None, field: str, inner: str, source: str) -> dict[str, Any]:
    try:
        return {str(one["name"]): one.get(inner) or {} for one in entries or ()}
    except (AttributeError, KeyError, TypeError):
        raise AccessError(source, f"{field} is no list of named entries, as a kubeconfig has it") from None


def _converted(document: object, form: type[_Part], source: str) -> _Part:
    try:
        return msgspec.convert(document, form)
    except msgspec.ValidationError as error:
        raise AccessError(source, str(error)) from None
