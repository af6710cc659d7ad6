"""The real handlers, loaded from functions/<name>/app.py as Lambda loads them: each on its own, at first use."""

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
Handler = Callable[[dict[str, Any], Any], Any]


class Handlers(Mapping[str, Handler]):
    """Handler by function name; a function is a folder under `functions/` with an app.py."""

    def __init__(self) -> None:
        self._folder = ROOT / "functions"
        self._loaded: dict[str, Handler] = {}

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(sorted(path.parent.name for path in self._folder.glob("*/app.py")))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> Handler:
        if name not in self._loaded:
            self._loaded[name] = _load(self._folder / name / "app.py", name)
        return self._loaded[name]


def _load(file: Path, name: str) -> Handler:
    if not file.exists():
        raise KeyError(name)
    spec = importlib.util.spec_from_file_location(f"spillway_functions_{name}", file)
    if spec is None or spec.loader is None:
        raise KeyError(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    handler: Handler = module.handler
    return handler
