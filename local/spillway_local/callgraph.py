"""What a handler can reach in the source: nothing is imported, nothing runs.

A call graph by name: a function reaches every function, class or method of this project that its body names, however
it is named (called, handed over, kept in a table), and what its modules do when imported. The receiver of `x.method`
is known from annotations, constructors and return types; where it is not, every method of that name in a module that
the handler imports is reached, which may find too much and never too little.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from spillway_local.cloudformation import ROOT


@dataclass(eq=False)
class Module:
    """`names`: what each imported name stands for, as a dotted name. `bodies`: functions by qualified name, "" is the rest."""

    name: str
    path: Path
    names: dict[str, str] = field(default_factory=dict)
    bodies: dict[str, ast.AST] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)


@cache
def project() -> Mapping[str, Module]:
    """All modules that are deployed, by dotted name; handlers are `functions.<name>.app`."""
    files = {path: path.relative_to(ROOT / "shared") for path in (ROOT / "shared" / "spillway").rglob("*.py")}
    files |= {path: path.relative_to(ROOT) for path in (ROOT / "functions").glob("*/*.py")}
    return {module.name: module for module in (_read(path, short) for path, short in sorted(files.items()))}


def _read(path: Path, short: Path) -> Module:
    parts = short.with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return parse(name, path, ast.parse(path.read_text(encoding="utf-8"), str(path)))


def parse(name: str, path: Path, tree: ast.Module) -> Module:
    """A module of this dotted name from its syntax tree."""
    module = Module(name, path)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            module.names |= {item.asname or item.name.partition(".")[0]: item.name for item in node.names}
        elif isinstance(node, ast.ImportFrom):
            module.names |= {item.asname or item.name: f"{node.module}.{item.name}" for item in node.names}
    rest: list[ast.stmt] = []
    for item in tree.body:
        if isinstance(item, ast.FunctionDef):
            module.bodies[item.name] = item
        elif isinstance(item, ast.ClassDef):
            module.classes[item.name] = item
            module.bodies |= {f"{item.name}.{inner.name}": inner for inner in item.body if isinstance(inner, ast.FunctionDef)}
        else:
            rest.append(item)
    module.bodies[""] = ast.Module(body=rest, type_ignores=[])
    return module


Node = tuple[str, str]  # module, qualified name


def reachable(handler: str) -> Iterator[tuple[Module, ast.AST]]:
    """Bodies of code that `handler` of `functions/<handler>/app.py` reaches, each once, with their modules."""
    visible = imported(handler)
    seen: set[Node] = set()
    todo: list[Node] = [(f"functions.{handler}.app", "handler")]
    while todo:
        node = todo.pop(0)
        if node in seen:
            continue
        seen.add(node)
        module = project()[node[0]]
        body = module.bodies[node[1]]
        yield module, body
        todo += [(node[0], ""), *(target for target in _targets(module, node[1], body) if target[0] in visible)]


def imported(handler: str) -> set[str]:
    """Modules that run in the process of a handler: an object of a class of any other module cannot be met."""
    seen: set[str] = set()
    todo = [f"functions.{handler}.app"]
    while todo:
        name = todo.pop()
        if name in project() and name not in seen:
            seen.add(name)
            for dotted in project()[name].names.values():
                parts = dotted.split(".")
                todo += [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
    return seen


@cache
def nodes(body: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of a syntax tree."""
    return tuple(ast.walk(body))


# ---- names ----


def resolve(dotted: str) -> Iterator[Node]:
    """The function, or the special methods of the class, that a dotted name stands for; nothing for names of others."""
    owner, _, name = dotted.rpartition(".")
    if dotted in project():
        yield (dotted, "")
    module = project().get(owner)
    if module is None:
        return
    if name in module.bodies:
        yield (owner, name)
    elif name in module.classes:
        yield from ((owner, key) for key in module.bodies if key.startswith(f"{name}.__"))
    elif name in module.names and module.names[name] != dotted:
        yield from resolve(module.names[name])  # re-exported


def _class(module: Module, annotation: ast.AST | None) -> str | None:
    """The dotted class that an annotation names: "" for one that is not ours, None where there is none."""
    if annotation is None:
        return None
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    if isinstance(annotation, ast.BinOp):  # X | None
        return _class(module, annotation.left) or _class(module, annotation.right)
    if isinstance(annotation, ast.Name | ast.Attribute):
        dotted = dotted_name(module, annotation)
        if dotted.rpartition(".")[2] in ("Any", "Self"):
            return None
        owner, _, name = dotted.rpartition(".")
        while owner in project() and name not in project()[owner].classes and name in project()[owner].names:
            owner, _, name = project()[owner].names[name].rpartition(".")
        return f"{owner}.{name}" if owner in project() and name in project()[owner].classes else ""
    return ""


def dotted_name(module: Module, node: ast.AST) -> str:
    """`plans.get` as `spillway.aws.table.plans.get`; "" for anything but names and attributes of names."""
    if isinstance(node, ast.Name):
        return module.names.get(node.id, f"{module.name}.{node.id}")
    if isinstance(node, ast.Attribute):
        base = dotted_name(module, node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""


@cache
def _targets(module: Module, qualified: str, body: ast.AST) -> tuple[Node, ...]:
    return tuple(dict.fromkeys(_named(module, qualified, body)))


def _named(module: Module, qualified: str, body: ast.AST) -> Iterator[Node]:
    types = _types(module, qualified, body)
    for node in nodes(body):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield from resolve(dotted_name(module, node))
        elif isinstance(node, ast.Attribute):
            targets = list(resolve(dotted_name(module, node)))
            yield from targets or _methods(module, node, types)


def _types(module: Module, qualified: str, body: ast.AST) -> dict[str, str | None]:
    """Classes of local names, as far as annotations, constructors and return types tell."""
    types: dict[str, str | None] = {}
    if "." in qualified:
        types["self"] = f"{module.name}.{qualified.partition('.')[0]}"
    for node in nodes(body):
        if isinstance(node, ast.arg) and node.annotation:
            types[node.arg] = _class(module, node.annotation)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            types[node.target.id] = _class(module, node.annotation)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            types.setdefault(node.targets[0].id, _type(module, node.value, types))
    return types


def _type(module: Module, value: ast.AST, types: Mapping[str, str | None]) -> str | None:
    """The class of an expression: "" where it is none of ours, None where it is not known."""
    if isinstance(value, ast.Name):
        return types.get(value.id)
    if isinstance(
        value, ast.Dict | ast.List | ast.Set | ast.Constant | ast.JoinedStr | ast.DictComp | ast.ListComp | ast.SetComp
    ):
        return ""
    if isinstance(value, ast.Call):
        return _made(module, value, types)
    if isinstance(value, ast.Attribute) and (owner_class := _type(module, value.value, types)):
        place, _, name = owner_class.rpartition(".")
        for item in project()[place].classes[name].body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.target.id == value.attr:
                return _class(project()[place], item.annotation)
    return None


def _made(module: Module, value: ast.Call, types: Mapping[str, str | None]) -> str | None:
    """The class of what a call gives."""
    if isinstance(value.func, ast.Name) and value.func.id == "super":
        return _base(types.get("self") or "")
    dotted = dotted_name(module, value.func)
    owner = dotted.rpartition(".")[0]
    if named := _class(module, value.func):
        return named
    for place, key in resolve(dotted):
        made = project()[place].bodies.get(key)
        if isinstance(made, ast.FunctionDef):
            return _class(project()[place], made.returns)
    return "" if owner and owner not in project() and module.names.get(dotted.partition(".")[0]) else None


def _base(dotted: str) -> str | None:
    """The class that a class of ours stands on: "" where none of its bases is ours, None where several are."""
    owner, _, name = dotted.rpartition(".")
    bases = project()[owner].classes[name].bases if owner in project() else []
    ours = [base for base in (_class(project()[owner], one) for one in bases) if base]
    return None if len(ours) > 1 else next(iter(ours), "")


def _lineage(dotted: str) -> Iterator[str]:
    """A class of ours and those that it stands on, the next first."""
    while dotted:
        yield dotted
        dotted = _base(dotted) or ""


def _methods(module: Module, node: ast.Attribute, types: Mapping[str, str | None]) -> Iterator[Node]:
    """Methods and properties that `receiver.name` may mean."""
    owner = _type(module, node.value, types)
    of = None if owner is None else set(_lineage(owner))
    for place in project().values():
        for name in place.classes:
            key = f"{name}.{node.attr}"
            if key in place.bodies and (of is None or f"{place.name}.{name}" in of):
                yield (place.name, key)
