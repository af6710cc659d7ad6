"""Commands and their output as the examples' READMEs show them.

`python -m tests.docs.readmes` runs them again and writes what they print now into the pages.
"""

import contextlib
import io
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from spillway_local import cli

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "examples").rglob("README.md"))
_BLOCK = re.compile(r"```console\n\$ (?:uv run )?spillway (?P<call>.*)\n(?P<shown>(?:.*\n)*?)```")


def shown() -> Iterator[tuple[Path, str, str]]:
    """(page, arguments of `spillway`, what the page says that it prints)."""
    for page in PAGES:
        for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
            yield page, block["call"], block["shown"]


def printed(call: str) -> str:
    """What `spillway <call>` prints in the project's folder, without the blanks that fill lines."""
    out = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(out):
        cli.main(shlex.split(call))
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def main() -> None:
    os.environ.pop("COLUMNS", None)
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(_BLOCK.sub(_renewed, text), encoding="utf-8")


def _renewed(block: re.Match[str]) -> str:
    return block[0][: block.start("shown") - block.start()] + printed(block["call"]) + "```"


if __name__ == "__main__":
    main()
