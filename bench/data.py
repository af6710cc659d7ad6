"""Where the workloads lie: those that ship with the project, and an optional data folder beside it."""

import gzip
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OPTIONAL = ROOT.parent / "shared" / "data"
SHIPPED = {"burst_300": ROOT / "examples" / "burst_300"}


class Missing(Exception):
    """Data that is not on this machine; the figure is skipped and says so."""


def dump(name: str) -> Path:
    """The folder of a dump by its name; raises Missing."""
    places = [SHIPPED[name]] if name in SHIPPED else [OPTIONAL / "bursts" / name, OPTIONAL / "peers" / name]
    for place in places:
        if place.is_dir():
            return place
    raise Missing(f"no dump {name} in {' nor '.join(str(place.relative_to(ROOT.parent)) for place in places)}")


@contextmanager
def large_dump() -> Iterator[Path]:
    """150,000 pods on 5,000 nodes, written anew: the generator lies in the optional data folder."""
    generator = OPTIONAL / "make_large.py"
    if not generator.is_file():
        raise Missing(f"no generator {generator.relative_to(ROOT.parent)}")
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([sys.executable, str(generator), scratch], check=True, stdout=subprocess.DEVNULL)
        yield Path(scratch)


def bytes_of(folder: Path) -> int:
    """Bytes of a dump's cluster files, unpacked."""
    total = 0
    for path in (folder / "cluster").iterdir():
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            total += len(file.read())
    return total
