"""JSON that does not decode, taken apart: what is nested deeper than Python's stack, or is no JSON in one place, is one member
or one element of something larger, of which all else may be sound.

Only strings and brackets are told apart, by loops. Raises msgspec.DecodeError where even these do not fit.
"""

import re
from collections.abc import Collection, Iterator

import msgspec

_STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"?'  # one without an end goes to the end of all, so that none is looked at twice
_OUTER = re.compile(_STRING + rb"|[\[\]{},:]", re.DOTALL)
_INNER = re.compile(_STRING + rb"|[\[\]{}]", re.DOTALL)
_OPEN, _CLOSED = b"[{", b"]}"
_STRINGS = {
    b"metadata": (b"name", b"namespace", b"resourceVersion"),
    b"spec": (b"nodeName", b"providerID"),
    b"status": (b"phase",),
}
KIND, NAME, PLACE = (b"kind", b"apiVersion"), (b"metadata",), (*_STRINGS,)
"""What `outline` is asked for."""


def members(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The keys of an object, as they are written, and their values."""
    for part in _parts(raw, b"{"):
        key = _OUTER.match(part)
        value = part[key.end() :].lstrip() if key else b""
        if key is None or value[:1] != b":":
            raise msgspec.DecodeError("a member has no key")
        yield key.group()[1:-1], value[1:].strip()


def elements(raw: bytes) -> Iterator[bytes]:
    """Of an array."""
    return _parts(raw, b"[")


def outline(raw: bytes, wanted: Collection[bytes]) -> bytes:
    """Of an object of the API what it is, which, and where, as far as these are strings; read no further than to the last."""
    left, found = set(wanted), []
    for key, value in members(raw):
        if key in left:
            left.remove(key)
            if key in _STRINGS:
                value = _strings(value, _STRINGS[key]) if value.startswith(b"{") else b"{}"
            found.append(b'"%b":%b' % (key, value))
        if not left:
            break
    return b"{%b}" % b",".join(found)


def _strings(raw: bytes, names: tuple[bytes, ...]) -> bytes:
    strings = (b'"%b":%b' % (name, value) for name, value in members(raw) if name in names and value.startswith(b'"'))
    return b"{%b}" % b",".join(strings)


def _parts(raw: bytes, opening: bytes) -> Iterator[bytes]:
    """What is between the commas of the outermost brackets."""
    raw = raw.strip()
    if raw[:1] != opening:
        raise msgspec.DecodeError(f"it does not begin with {opening.decode()}")
    start = at = 1
    mark = b""
    while mark != b"]" and mark != b"}" and (token := _OUTER.search(raw, at)):
        at, mark = token.end(), token.group()
        if mark in _OPEN:
            at = _end_of(raw, at)
        elif mark == b"," or mark in _CLOSED:
            if part := raw[start : token.start()].strip():
                yield part
            start = at
    if start != len(raw):
        raise msgspec.DecodeError("it does not end where its brackets do")


def _end_of(raw: bytes, at: int) -> int:
    """Behind the bracket that closes the one before `at`."""
    depth = 1
    for token in _INNER.finditer(raw, at):
        mark = raw[token.start()]
        if mark in _OPEN:
            depth += 1
        elif mark in _CLOSED:
            depth -= 1
            if not depth:
                return token.end()
    raise msgspec.DecodeError("a bracket is not closed")
