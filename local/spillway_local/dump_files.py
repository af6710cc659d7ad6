"""The files of a dump: found, unpacked, and refused by name where they are no JSON."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from spillway.errors import DumpError
from spillway.kube.fields import UNREADABLE


def files(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Files in the order of their names, unpacked; hidden ones are left out."""
    for file in sorted(folder.iterdir()):
        if file.name.startswith(".") or file.is_dir():
            continue
        if not file.name.endswith((".json", ".json.gz")):
            raise DumpError(str(file), "", "it is neither .json nor .json.gz; a file that is read by nobody would mislead")
        raw = file.read_bytes()
        if file.name.endswith(".gz"):
            try:
                raw = gzip.decompress(raw)
            except (OSError, EOFError, zlib.error) as error:
                raise DumpError(str(file), "", f"it cannot be unpacked: {error}") from error
        yield file, raw


def top_level(file: Path, raw: bytes) -> dict[str, msgspec.Raw]:
    """Its top-level keys, the values unread."""
    try:
        return msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError as error:
        raise DumpError(str(file), "", "it holds no JSON object") from error
    except UNREADABLE as error:
        raise DumpError(str(file), "", no_json(error)) from error


def no_json(error: Exception) -> str:
    return f"it is no JSON: {error}"


def field(error: msgspec.ValidationError) -> tuple[str, str]:
    """(path of the field, what is wrong with it), out of `… - at `$.nodes[0].node``."""
    problem, _, place = str(error).partition(" - at `$")
    return place.strip("`.").removeprefix("."), problem
