"""A policy document as people write it: a mapping in, a Policy out, or every wrong field at once."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from spillway.errors import PolicyError
from spillway.model.policy import Policy

_SENTENCES = {  # where pydantic speaks of Python
    "extra_forbidden": "there is no such field",
    "tuple_type": "should be a list",
    "model_type": "should be a mapping of fields",
    "mapping_type": "should be a mapping",
}


def parse(document: object, source: str) -> Policy:
    """The policy of a parsed document; None, and a top-level section left empty, mean all defaults.

    Raises PolicyError with the path of each wrong field, as in `scale_in.budgets[0].nodes`.
    """
    if document is None:
        document = {}
    if not isinstance(document, Mapping):
        raise PolicyError(source, (("document", f"a mapping of fields is wanted, this is a {_kind(document)}"),))
    known = {key: value for key, value in document.items() if value is not None or key not in Policy.model_fields}
    try:
        return Policy.model_validate(known)
    except ValidationError as error:
        raise PolicyError(source, _merged(_problems(error, known))) from error


def _problems(error: ValidationError, document: object) -> Iterator[tuple[str, str]]:
    for detail in error.errors(include_url=False):
        path, value = _path(detail, document)
        cause = detail.get("ctx", {}).get("error")
        if isinstance(cause, ValidationError):  # an override under `groups`, checked against the section it overrides
            yield from ((_joined(path, inner), problem) for inner, problem in _problems(cause, value))
        else:
            yield path or "document", _sentence(detail)


def _path(detail: ErrorDetails, document: object) -> tuple[str, object]:
    """Where the error is, and the value there. Names of a union's members, which pydantic puts in `loc` too, are no keys."""
    path, value = "", document
    for part in detail["loc"]:
        if isinstance(value, Mapping) and part in value:
            path, value = _joined(path, str(part)), value[part]
        elif isinstance(value, Sequence) and not isinstance(value, str) and isinstance(part, int) and part < len(value):
            path, value = f"{path}[{part}]", value[part]
        elif detail["type"] == "missing" and part == detail["loc"][-1]:
            path, value = _joined(path, str(part)), None
    return path, value


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _sentence(detail: ErrorDetails) -> str:
    if detail["type"] in _SENTENCES:
        return _SENTENCES[detail["type"]]
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return message[0].lower() + message[1:]


def _merged(problems: Iterator[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """One entry a field: each member of a union complains for itself."""
    found: dict[str, list[str]] = {}
    for path, problem in problems:
        texts = found.setdefault(path, [])
        if problem not in texts:
            texts.append(problem)
    return tuple((path, " or ".join(texts)) for path, texts in found.items())


def _kind(value: object) -> str:
    return "list" if isinstance(value, list) else "text" if isinstance(value, str) else type(value).__name__
