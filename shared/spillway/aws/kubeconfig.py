"""A kubeconfig as it comes from `kubectl config view --raw --minify --flatten -o json`, to a connection.

Source: k8s.io/client-go/tools/clientcmd/api/v1/types.go. Flattened, it holds its certificates and names no files,
which a function could not read; on a laptop they are read. Credentials that a program has to fetch cannot be used.
"""

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spillway.errors import AccessError
from spillway.model.access import Access

_FILES = {"certificate-authority": "certificate-authority-data", "client-certificate": "client-certificate-data",
          "client-key": "client-key-data", "tokenFile": "token"}  # fmt: skip

_IAM_PROGRAMS = ("aws", "aws-iam-authenticator")
_BY_IAM = "the access `eks` makes the same token by itself"


def read(cluster: str, document: Mapping[str, Any], source: str, folder: Path | None = None) -> Access:
    """The current context, or the only one. `source` names the document in errors; names of files in it are of `folder`,
    None where there are none to read. Raises AccessError.
    """
    contexts = _by_name(document, "contexts", "context", source)
    current = document.get("current-context") or (next(iter(contexts)) if len(contexts) == 1 else "")
    if current not in contexts:
        raise AccessError(source, "its current-context names none of its contexts")
    context = contexts[current]
    server = _named(document, "clusters", "cluster", context, source)
    user = _named(document, "users", "user", context, source)
    if server.get("insecure-skip-tls-verify"):
        raise AccessError(source, "insecure-skip-tls-verify is set, and TLS is always verified; give the CA instead")
    server, user = _with_files(server, source, folder), _with_files(user, source, folder)
    token, certificate, key = (
        str(user.get("token") or "").strip(),
        pem(user, "client-certificate-data", source),
        pem(user, "client-key-data", source),
    )
    if not token and not (certificate and key):
        raise AccessError(source, _no_credentials(user))
    return Access(
        cluster=cluster,
        server=server.get("server", ""),
        ca=pem(server, "certificate-authority-data", source),
        token=token,
        certificate=certificate,
        key=key,
        proxy=server.get("proxy-url", ""),
    )


def _no_credentials(user: Mapping[str, Any]) -> str:
    """Why, and what to do instead. Arguments of a program are not told, as they may hold a secret."""
    program = user.get("exec") or user.get("auth-provider")
    if not isinstance(program, Mapping):
        return "its user has neither a token nor a client certificate and its key"
    name = str(program.get("command") or program.get("name") or "a program").rpartition("/")[2]
    instead = _BY_IAM if name in _IAM_PROGRAMS else "give the token of a service account"
    return f"its user logs in by the program {name}, which is not there and is never run; {instead}"


def pem(fields: Mapping[str, Any], name: str, source: str) -> str:
    """A certificate or key: PEM as it is, or in base64 as a kubeconfig has it; "" when absent. Raises AccessError."""
    text = str(fields.get(name) or "")
    if not text or text.lstrip().startswith("-----BEGIN"):
        return text
    try:
        decoded = base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        decoded = ""
    if not decoded.startswith("-----BEGIN"):
        raise AccessError(source, f"{name} is neither PEM nor PEM in base64")
    return decoded


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
        except (OSError, UnicodeDecodeError) as error:
            raise AccessError(source, f"{name} cannot be read: {error}") from error
    return found


def _named(document: Mapping[str, Any], field: str, inner: str, context: Mapping[str, Any], source: str) -> Mapping[str, Any]:
    found = _by_name(document, field, inner, source)
    if context.get(inner) not in found:
        raise AccessError(source, f"its context names a {inner} that {field} has not")
    return found[context[inner]]


def _by_name(document: Mapping[str, Any], field: str, inner: str, source: str) -> dict[str, Mapping[str, Any]]:
    try:
        return {one["name"]: one.get(inner) or {} for one in document.get(field) or ()}
    except (AttributeError, KeyError, TypeError):
        raise AccessError(source, f"{field} is no list of named entries, as a kubeconfig has it") from None
