"""Which AWS operations a handler can reach, read from literals in the source.

`client("ec2", region).describe_…`, `get_paginator("…")`, `ask("ec2", region, "describe_…")`, `pages(…)`, and calls of
functions that do `getattr(client("ec2", region), operation)`. One without literals is an UnreadableCall.
"""

import ast
from collections.abc import Iterator
from functools import cache

from spillway_local.callgraph import Module, dotted_name, nodes, project, reachable, resolve
from spillway_local.cloudformation import ROOT
from spillway_local.operations import operations

_CLIENTS = "spillway.aws.clients"  # its own bodies are the wrappers, and hold no literals
_WRAPPERS = ("ask", "pages")


class UnreadableCall(Exception):
    """An AWS call whose service or operation is no literal: this reader cannot tell which permission it needs."""


def called(handler: str) -> dict[str, str]:
    """Operations, as in `ec2.describe_instances`, that `functions/<handler>/app.py` reaches, and the first place of each."""
    found: dict[str, str] = {}
    for module, body in reachable(handler):
        if module.name != _CLIENTS:
            for operation, line in _operations(module, body):
                found.setdefault(operation, f"{module.path.relative_to(ROOT)}:{line}")
    return found


@cache
def _operations(module: Module, body: ast.AST) -> tuple[tuple[str, int], ...]:
    return tuple(_read(module, body))


def _read(module: Module, body: ast.AST) -> Iterator[tuple[str, int]]:
    services = _services(module)
    for node in nodes(body):
        if not isinstance(node, ast.Call):
            continue
        dotted = dotted_name(module, node.func)
        owner, _, name = dotted.rpartition(".")
        _refuse_escape(module, node)
        if owner == _CLIENTS and name in _WRAPPERS:
            yield f"{_literal(module, node, 0)}.{_literal(module, node, 2)}", node.lineno
        elif wrapper := _wrapper(project()[owner], name) if owner in project() else None:
            yield f"{wrapper[0]}.{_literal(module, node, wrapper[1])}", node.lineno
        elif isinstance(node.func, ast.Attribute) and services and not list(resolve(dotted)):
            operation = node.func.attr
            if operation == "get_paginator":
                operation = _literal(module, node, 0)
            yield from ((f"{service}.{operation}", node.lineno) for service in services if operation in operations(service))


@cache
def _wrapper(module: Module, name: str) -> tuple[str, int] | None:
    """Service, and place of the parameter that names the operation, of `getattr(client("ec2", region), parameter)(…)`."""
    body = module.bodies.get(name)
    if isinstance(body, ast.FunctionDef):
        parameters = [one.arg for one in body.args.args]
        for node in nodes(body):
            if (
                isinstance(node, ast.Call)
                and dotted_name(module, node.func).endswith(".getattr")
                and _is_client(module, node.args[0])
            ):
                named = node.args[1]
                if isinstance(named, ast.Name) and named.id in parameters:
                    return next(_services_of(module, node)), parameters.index(named.id)
    return None


def _refuse_escape(module: Module, call: ast.Call) -> None:
    """A client that is handed to another function would be out of this reader's sight."""
    if any(_is_client(module, argument) for argument in call.args):
        is_wrapper = any(_wrapper(module, name) and call in nodes(body) for name, body in module.bodies.items())
        if not is_wrapper:
            raise UnreadableCall(f"{_place(module, call)}: a client is handed on; call its operation here")


def _is_client(module: Module, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and dotted_name(module, node.func) == f"{_CLIENTS}.client"


@cache
def _services(module: Module) -> frozenset[str]:
    """Services of which the module asks a client; any of its `x.operation()` may be on such a client."""
    return frozenset(service for body in module.bodies.values() for service in _services_of(module, body))


def _services_of(module: Module, body: ast.AST) -> Iterator[str]:
    return (_literal(module, node, 0) for node in nodes(body) if isinstance(node, ast.Call) and _is_client(module, node))


def _literal(module: Module, call: ast.Call, place: int) -> str:
    argument = call.args[place] if len(call.args) > place else None
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return argument.value
    raise UnreadableCall(f"{_place(module, call)}: argument {place + 1} of {ast.unparse(call.func)} must be a literal")


def _place(module: Module, call: ast.Call) -> str:
    return f"{module.path.relative_to(ROOT)}:{call.lineno}"
