"""The examples do what their READMEs show."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from spillway_local import schema
from tests.docs import readmes

EXAMPLES = sorted(path.parent for path in (readmes.ROOT / "examples").glob("*/meta.json"))


@pytest.mark.parametrize(("page", "call", "shown"), list(readmes.shown()))
def test_a_readme_shows_what_its_command_prints(page: Path, call: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert readmes.printed(call) == shown, "run `python -m tests.docs.readmes`"


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda path: path.name)
def test_the_plan_of_an_example_is_as_the_schema_says(folder: Path) -> None:
    plan = json.loads(readmes.printed(f"plan --from {folder} --output json --assign"))
    published = json.loads((schema.FOLDER / "plan.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(published).validate(plan)
    assert plan.keys() == published["properties"].keys()


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda path: path.name)
def test_every_example_has_a_readme_that_the_list_names(folder: Path) -> None:
    assert (folder / "README.md").is_file()
    assert f"({folder.name}/README.md)" in (folder.parent / "README.md").read_text(encoding="utf-8")


def test_the_300_pods_are_all_served() -> None:
    plan = json.loads(readmes.printed("plan --from examples/burst_300 --output json"))
    assert plan["summary"]["pods_pending"] == 300
    assert plan["unserved"] == []


@pytest.mark.parametrize(
    "page", [*readmes.PAGES, *(readmes.ROOT / "docs").glob("*.md")], ids=lambda path: path.parent.name + "/" + path.name
)
def test_a_link_of_a_page_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
