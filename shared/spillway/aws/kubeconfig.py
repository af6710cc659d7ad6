"""A kubeconfig as it comes from `kubectl config view --raw --minify --flatten -o json`, to a connection.

Source: k8s.io/client-go/tools/clientcmd/api/v1/types.go. Flattened, it holds its certificates and names no files,
which a function could not read; credentials that a program has to fetch cannot be used either.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from spillway.errors import AccessError
from spillway.model.access import Access

_FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


def read(cluster: str, document: Mapping[str, Any], source: str) -> Access:
    """The current context, or the only one. `source` names the document in errors. Raises AccessError."""
    contexts = _by_name(document, "contexts", "context", source)
    current = document.get("current-context") or (next(iter(contexts)) if len(contexts) == 1 else "")
    if current not in contexts:
        raise AccessError(source, "its current-context names none of its contexts")
    context = contexts[current]
    server = _named(document, "clusters", "cluster", context, source)
    user = _named(document, "users", "user", context, source)
    if server.get("insecure-skip-tls-verify"):
        raise AccessError(source, "insecure-skip-tls-verify is set, and TLS is always verified; give the CA instead")
    for name in _FILES:
        if name in server or name in user:
            raise AccessError(source, f"{name} is a file; `kubectl config view --raw --minify --flatten` puts it in")
    token, certificate, key = (
        user.get("token", ""),
        pem(user, "client-certificate-data", source),
        pem(user, "client-key-data", source),
    )
    if not token and not (certificate and key):
        raise AccessError(source, "its user has neither a token nor a client certificate; other ways to log in need a program")
    return Access(
        cluster=cluster,
        server=server.get("server", ""),
        ca=pem(server, "certificate-authority-data", source),
        token=token,
        certificate=certificate,
        key=key,
    )


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
