"""A group's template with what its nodes, and those of other groups, have shown (`learned.py`)."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from spillway.model import quantity
from spillway.model.base import Labels
from spillway.model.cluster import Taint
from spillway.model.fleet import Choice, NodeGroup, Variant
from spillway.model.memory import LearnedTemplate
from spillway.model.selector import UNTOLD

Key = tuple[str, str, str]
"""Region, group, instance type."""


def applied(group: NodeGroup, known: Mapping[Key, LearnedTemplate], overheads: Mapping[str, int]) -> NodeGroup:
    """The group with what is `known` of its types in its template; `overheads` in bytes by type, of any group."""
    template = group.template
    if template is None or not template.choices:
        return group
    records = {
        choice.instance_type: record
        for choice in template.choices
        if (record := known.get((group.region, group.name, choice.instance_type)))
        and record.fingerprint == template.fingerprint
    }
    if not records and not overheads.keys() & set(template.instance_types):
        return group
    choices = tuple(
        _taught(choice, records.get(choice.instance_type), template.stated, overheads) for choice in template.choices
    )
    is_whole = not template.others and all(choice.instance_type in records for choice in template.choices)
    everywhere = list(records.values()) if is_whole else []
    untold = [template.allocatable] if template.others else []
    labels = {**shared_labels([one.labels for one in everywhere]), **template.labels}
    taints = _with(template.taints, shared_taints([one.taints for one in everywhere]))
    return msgspec.structs.replace(
        group,
        template=msgspec.structs.replace(
            template,
            choices=tuple(
                msgspec.structs.replace(choice, own=_own(choice.own, records.get(choice.instance_type), labels, taints))
                for choice in choices
            ),
            allocatable=quantity.smallest(*(choice.allocatable for choice in choices), *untold),
            labels=dict(sorted(labels.items())),
            taints=taints,
        ),
    )


def _own(own: Variant, record: LearnedTemplate | None, labels: Labels, taints: tuple[Taint, ...]) -> Variant:
    """What AWS's answers say of the type, and where they do not know what its nodes have shown, less what all have."""
    shown = record.labels if record else {}
    told = {key: value for key, value in own.labels.items() if value != UNTOLD or key not in shown}
    known = {(taint.key, taint.effect) for taint in taints}
    mine = _with(own.taints, record.taints if record else ())
    return Variant(
        labels=dict(sorted((key, value) for key, value in {**shown, **told}.items() if key not in labels)),
        taints=tuple(taint for taint in mine if (taint.key, taint.effect) not in known),
    )


def overheads(templates: Iterable[LearnedTemplate]) -> dict[str, int]:
    """The most that was seen, in bytes by type."""
    found: dict[str, int] = {}
    for one in templates:
        if one.overhead_bytes is not None:
            found[one.instance_type] = max(one.overhead_bytes, found.get(one.instance_type, 0))
    return found


def _taught(choice: Choice, record: LearnedTemplate | None, stated: tuple[str, ...], overheads: Mapping[str, int]) -> Choice:
    fixed = {name: choice.allocatable[name] for name in stated}
    if record is not None:
        return msgspec.structs.replace(
            choice, allocatable=dict(sorted({**choice.allocatable, **record.allocatable, **fixed}.items()))
        )
    known = overheads.get(choice.instance_type)
    if known is None or "memory" in fixed or not choice.overhead_bytes:
        return choice
    memory = max(0, choice.allocatable["memory"] + choice.overhead_bytes - known)
    return msgspec.structs.replace(choice, allocatable={**choice.allocatable, "memory": memory}, overhead_bytes=known)


def shared_labels(each: Sequence[Labels]) -> dict[str, str]:
    first, *others = each or [{}]
    return {key: value for key, value in first.items() if all(other.get(key) == value for other in others)}


def shared_taints(each: Sequence[tuple[Taint, ...]]) -> tuple[Taint, ...]:
    first, *others = each or [()]
    return tuple(taint for taint in first if all(taint in other for other in others))


def _with(own: Iterable[Taint], taints: Iterable[Taint]) -> tuple[Taint, ...]:
    """Those of AWS's answers, which say more of a key and effect, and those that nodes have beside them."""
    found = {(taint.key, taint.effect): taint for taint in (*taints, *own)}
    return tuple(found[key] for key in sorted(found))
