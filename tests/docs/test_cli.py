"""docs/cli.md shows what the commands themselves say."""

import re
import shlex
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from pathlib import Path

import pytest

from spillway_local import cli

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
SHOWN = dict(re.findall(r"```console\n\$ spillway (.*?)\n(.*?)```", PAGE, re.DOTALL))


def commands(parser: ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for name, inner in action.choices.items():
                yield from commands(inner, (*path, name))


@pytest.mark.parametrize("path", list(commands(cli.parser())), ids=" ".join)
def test_the_page_shows_the_help_of_every_command(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main([*path, "--help"])
    shown = SHOWN[" ".join([*path, "--help"])]
    assert shown.split() == capsys.readouterr().out.split()


def test_the_page_shows_how_a_wrong_policy_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [(call, said)] = [(call, said) for call, said in SHOWN.items() if not call.endswith("--help")]
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text("scale_in: {budgets: [{nodes: 120%}]}\nmodes: run\n")
    assert cli.main(shlex.split(call)) == 2
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("code", ["0", "1", "2"])
def test_the_page_and_the_help_tell_the_same_exit_codes(code: str) -> None:
    told = re.search(rf"^\| {code} \| (.*) \|$", PAGE, re.MULTILINE).group(1)
    assert f"  {code}  {told}" in cli.EPILOG
