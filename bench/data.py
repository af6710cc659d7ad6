"""Where the workloads lie, those that ship with the project and an optional data folder beside it, and their reading."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.figure import Seconds, timed
from spillway.kube.reduce import reduce as whole
from spillway_local import dump

ROOT = Path(__file__).resolve().parent.parent
OPTIONAL = ROOT.parent / "shared" / "data"
SHIPPED = {"burst_300": ROOT / "examples" / "burst_300"}


class Missing(Exception):
    """Data that is not on this machine; the figure is skipped and says so."""


@dataclass(frozen=True)
class Reading:
    """A dump in memory. `grouping`, which `reading` includes, went from decoded objects to counts of pods by shape."""

    world: dump.Dump
    reading: Seconds = field(default_factory=Seconds)
    grouping: Seconds = field(default_factory=Seconds)


def folder(name: str) -> Path:
    """The folder of a dump by its name; raises Missing."""
    places = [SHIPPED[name]] if name in SHIPPED else [OPTIONAL / "bursts" / name, OPTIONAL / "peers" / name]
    for place in places:
        if place.is_dir():
            return place
    raise Missing(f"no dump {name} in {' nor '.join(os.path.relpath(place, ROOT) for place in places)}")


@contextmanager
def large(fat: bool = False) -> Iterator[Path]:
    """150,000 pods on 5,000 nodes, written anew by the generator of the optional data folder; raises Missing.

    `fat`: with managed fields and environment, about 5 KB a pod.
    """
    generator = OPTIONAL / "make_large.py"
    if not generator.is_file():
        raise Missing(f"no generator {os.path.relpath(generator, ROOT)}")
    with tempfile.TemporaryDirectory() as scratch:
        more = ["--fat"] if fat else []
        subprocess.run([sys.executable, str(generator), scratch, *more], check=True, stdout=subprocess.DEVNULL)
        yield Path(scratch)


def read(path: Path) -> Reading:
    """Decodes a dump with the decoders that read the live APIs."""
    reading, grouping = Seconds(), Seconds()

    def reduce(*args: Any, **options: Any) -> Any:
        with timed(grouping):
            return whole(*args, **options)

    with patch.object(dump, "reduce", reduce), timed(reading):
        world = dump.read(path)
    return Reading(world, reading, grouping)
