"""Tokens, certificates and keys as a document holds them, to what a connection takes. No error shows any of them."""

import base64
import binascii
import re

from spillway.errors import AccessError

_TOKEN = re.compile(r"[\x21-\x7e]+")  # what a header may hold, without spaces


def token(text: str, field: str, source: str) -> str:
    """Without the line's end that a file or an editor adds; "" when absent. Raises AccessError."""
    found = text.strip()
    if found and not _TOKEN.fullmatch(found):
        raise AccessError(source, f"{field} holds a space, a line's end or a letter that no token has; give the token alone")
    return found


def pem(text: str, field: str, source: str) -> str:
    """A certificate or key: PEM as it is, or in base64 as a kubeconfig has it; "" when absent. Raises AccessError."""
    if not text or text.lstrip().startswith("-----BEGIN"):
        return text
    try:
        decoded = base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):  # of what is no base64, no ASCII or no text
        decoded = ""
    if not decoded.startswith("-----BEGIN"):
        raise AccessError(source, f"{field} is neither PEM nor PEM in base64")
    return decoded
