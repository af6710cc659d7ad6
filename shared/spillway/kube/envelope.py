"""What the API server sends, to lists, items and names, also where a part of it does not decode."""

import msgspec
from msgspec import Raw

from spillway.kube import scan
from spillway.kube.fields import UNREADABLE, BareMeta, Envelope, Named

_envelope = msgspec.json.Decoder(Envelope)
_named = msgspec.json.Decoder(Named)


def envelope_of(raw: bytes) -> Envelope:
    """Also of a list of which some items do not decode. Raises one of `fields.UNREADABLE` when `raw` is no JSON object, or ends
    too soon."""
    try:
        return _envelope.decode(raw)
    except UNREADABLE:
        parts = dict(scan.members(raw))
        if not parts.get(b"items", b"").startswith(b"["):
            raise  # the first error names the field
        items = [Raw(item) for item in scan.elements(parts.pop(b"items"))]
        envelope = _envelope.decode(b"{%b}" % b",".join(b'"%b":%b' % part for part in parts.items()))
        envelope.items = items
        return envelope


def named_of(kind: str, raw: Raw | bytes) -> tuple[Raw | bytes, BareMeta]:
    """What names the object, and of the object what decodes. Raises one of `fields.UNREADABLE`."""
    try:
        return raw, _named.decode(raw).metadata
    except UNREADABLE:
        part = scan.outline(bytes(raw), scan.PLACE if kind in ("Pod", "Node") else scan.NAME)
        return part, _named.decode(part).metadata
