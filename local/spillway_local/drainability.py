"""`make drainability`: the tables of docs/drainability.md, made from the rules themselves."""

from collections.abc import Iterator
from pathlib import Path

from spillway.model.policy import DrainablePolicy
from spillway.planner.scale_in import pods, rules

PAGE = Path(__file__).parents[2] / "docs" / "drainability.md"
HEADING = "## The rules for nodes\n\n"


def tables() -> str:
    """All from HEADING on."""
    return HEADING + "".join(f"{line}\n" for line in (*_nodes(), "", *_pods(), "", *_settings()))


def _nodes() -> Iterator[str]:
    yield "| | Rule | |"
    yield "|---|---|---|"
    for number, rule in enumerate(rules.RULES, 1):
        yield f"| {number} | {_name(rule)} | {rule.RULE} |"


def _pods() -> Iterator[str]:
    yield "## The rules for pods"
    yield ""
    yield "| | Rule | | Whose | Setting |"
    yield "|---|---|---|---|---|"
    for number, rule in enumerate(pods.RULES, 1):
        settings = ", ".join(f"`{one.strip()}`" for one in rule.SETTING.split(",") if one)
        yield f"| {number} | {_name(rule)} | {rule.RULE} | {rule.SOURCE} | {settings} |"


def _settings() -> Iterator[str]:
    yield "## The settings of `scale_in.drainable`"
    yield ""
    yield "| Field | Default | |"
    yield "|---|---|---|"
    for name, field in DrainablePolicy.model_fields.items():
        yield f"| `{name}` | `{field.default}` | {field.description} |"


def _name(rule: object) -> str:
    return str(getattr(rule, "__name__", "")).rpartition(".")[2].replace("_", " ")


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text[: text.index(HEADING)] + tables(), encoding="utf-8")


if __name__ == "__main__":
    main()
