"""policy.yaml as people write it."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from spillway.errors import PolicyError
from spillway.model.policy import Policy
from spillway.model.policy_document import parse


class _Loader(yaml.SafeLoader):
    """YAML with a key given twice refused: the first one would be lost without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the field {key.value} is given twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def load(text: str, source: str) -> object:
    """The document as plain values; raises PolicyError where it is no YAML."""
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        where = f"line {error.problem_mark.line + 1}" if error.problem_mark else "document"
        raise PolicyError(source, ((where, error.problem or "it is no YAML"),)) from error
    except yaml.YAMLError as error:
        raise PolicyError(source, (("document", f"it is no YAML: {error}"),)) from error


def load_policy(text: str, source: str) -> Policy:
    """The policy in `text`; raises PolicyError with every wrong field."""
    return parse(load(text, source), source)


def read_policy(file: Path) -> Policy:
    """The policy in `file`; raises PolicyError, also where the file cannot be read."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise PolicyError(str(file), (("file", f"it cannot be read: {error.strerror}"),)) from error
    except UnicodeDecodeError as error:
        raise PolicyError(str(file), (("file", f"it cannot be read: {error}"),)) from error
    return load_policy(text, str(file))
