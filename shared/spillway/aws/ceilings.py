"""What bounds the growth of a region's groups, out of AWS's answers: vCPU quotas, capacity reservations, capacity blocks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spillway.aws import shapes
from spillway.aws.launch import Launch
from spillway.model.fleet import CapacityType
from spillway.model.market import WHOLE, Ceiling, CeilingKind, Draw
from spillway.model.quotas import quota_code

_BLOCK = "capacity-block"


class Ceilings:
    """Of one region. `reservations` are None where AWS was not asked, or did not answer: then none of them bounds a group.

    `members` are ids of reservations by the ARN of their resource group. `are_listed`: Service Quotas answered now, so that a
    quota which is not among its own is unknown to it.
    """

    def __init__(
        self,
        region: str,
        quotas: Mapping[str, Ceiling],
        reservations: Iterable[shapes.CapacityReservation] | None,
        members: Mapping[str, Iterable[str]],
        are_listed: bool = False,
    ) -> None:
        self._region, self._quotas, self._members = region, quotas, members
        self._reservations = None if reservations is None else list(reservations)
        self._drawn: dict[str, Ceiling] = {}
        self._are_listed, self._unlisted = are_listed, set[str]()

    def drawn_on(self) -> list[Ceiling]:
        """The ceilings that the draws so far name."""
        return [self._drawn[key] for key in sorted(self._drawn)]

    def unlisted(self) -> list[str]:
        """A sentence for each quota that the draws so far count against and that AWS did not list."""
        return [
            f"ListServiceQuotas does not list {code}, a vCPU quota that launches of groups count against: it is no ceiling"
            for code in sorted(self._unlisted)
        ]

    def draws(self, group: shapes.Group, launch: Launch, types: Mapping[str, shapes.InstanceType]) -> tuple[Draw, ...]:
        """What one more node takes; nothing where nobody knows what bounds it."""
        if launch.capacity_type is CapacityType.RESERVED:
            # Reservations count against the On-Demand quota also while unused: a launch into one takes nothing more of it.
            found = self._of_reservations(group, launch)
            return () if found is None else (self._draw(dict.fromkeys(found, WHOLE)),)
        vcpus = (self._of_quotas(launch, types, spot) for spot in (False, True))
        return tuple(self._draw(found) for found in vcpus if found)

    def _draw(self, amounts: Mapping[Ceiling, int]) -> Draw:
        self._drawn |= {ceiling.key: ceiling for ceiling in amounts}
        return {ceiling.key: amount for ceiling, amount in amounts.items()}

    def _of_quotas(self, launch: Launch, types: Mapping[str, shapes.InstanceType], spot: bool) -> dict[Ceiling, int]:
        """The least that a launch in this market takes of each class, so that nothing is refused that AWS might grant.

        Nothing where a type has no quota: Auto Scaling can always launch that one.
        """
        share = round(WHOLE * (1 - launch.on_demand_share if spot else launch.on_demand_share))
        found: dict[Ceiling, int] = {}
        codes = {code for name in launch.types if (code := quota_code(name, spot))}
        if self._are_listed and share:
            self._unlisted |= codes - self._quotas.keys()
        for name in launch.types:
            quota = self._quotas.get(quota_code(name, spot))
            if quota is None or name not in types or launch.questions or not share:
                return {}
            vcpus = types[name].v_cpu_info.default_v_cpus * share
            found[quota] = min(found.get(quota, vcpus), vcpus)
        return found

    def _of_reservations(self, group: shapes.Group, launch: Launch) -> list[Ceiling] | None:
        """Those that the group may launch into, or a closed one where there are none; None where that is not known."""
        target = _target(group, launch)
        if self._reservations is None or any(arn not in self._members for arn in target.group_arns):
            return None
        named = {*target.ids, *(one for arn in target.group_arns for one in self._members[arn])}
        is_open = not target.ids and not target.group_arns
        found = [
            self._ceiling(one)
            for one in self._reservations
            if one.instance_type in launch.types
            and one.availability_zone in group.availability_zones
            and (one.instance_match_criteria == "open" if is_open else one.capacity_reservation_id in named)
        ]
        return found or [self._nothing(group, target)]

    def _ceiling(self, one: shapes.CapacityReservation) -> Ceiling:
        return Ceiling(
            region=self._region,
            key=one.capacity_reservation_id,
            kind=CeilingKind.BLOCK if one.reservation_type == _BLOCK else CeilingKind.RESERVATION,
            name=f"{one.capacity_reservation_id} ({one.instance_type} in {one.availability_zone})",
            limit=one.total_instance_count,
            used=one.total_instance_count - one.available_instance_count,
            starts=one.start_date,
            ends=one.end_date,
            open=one.state == "active",
        )

    def _nothing(self, group: shapes.Group, target: shapes.ReservationTarget) -> Ceiling:
        wanted = ", ".join((*target.ids, *target.group_arns)) or "any open one"
        return Ceiling(
            region=self._region,
            key=f"none of {group.auto_scaling_group_name}",
            kind=CeilingKind.RESERVATION,
            name=f"for the type and zones of {group.auto_scaling_group_name} ({wanted})",
            limit=0,
            used=0,
            open=False,
        )


def _target(group: shapes.Group, launch: Launch) -> shapes.ReservationTarget:
    """The group's own, else its template's."""
    own = group.capacity_reservation_specification.capacity_reservation_target
    return own if own.ids or own.group_arns else launch.data.capacity_reservation_specification.capacity_reservation_target


def read(
    region: str,
    quotas: Sequence[Any] | None,
    usage: Iterable[Any] | None,
    reservations: Iterable[Any] | None,
    members: Mapping[str, Iterable[str]],
    before: Iterable[Ceiling],
) -> tuple[Ceilings, list[str]]:
    """Answers by the values of their keys, None where AWS gave none, and a sentence for each item that cannot be read.

    `before` are the region's of the last snapshot: what AWS does not tell of quotas now is as it was then, with its age.
    """
    limits, problems = _quotas(region, quotas, usage, before)
    found, more = shapes.read_all(reservations or (), shapes.CapacityReservation, "CapacityReservations")
    return Ceilings(region, limits, None if reservations is None else found, members, quotas is not None), problems + more


def metric_id(code: str) -> str:
    """`l_1216c47a` of `L-1216C47A`: CloudWatch wants a lower-case letter first, and no hyphen."""
    return code.lower().replace("-", "_")


def _quotas(
    region: str, listed: Iterable[Any] | None, usage: Iterable[Any] | None, before: Iterable[Ceiling]
) -> tuple[dict[str, Ceiling], list[str]]:
    """By code."""
    found, problems = shapes.read_all(listed or (), shapes.ServiceQuota, "Quotas")
    metrics, more = shapes.read_all(usage or (), shapes.MetricData, "MetricDataResults")
    newest = {one.id: max(zip(one.timestamps, one.values, strict=False)) for one in metrics if one.timestamps and one.values}
    known = {one.key: one for one in before if one.kind is CeilingKind.QUOTA}
    limits = {one.quota_code: (one.quota_name or one.quota_code, int(one.value)) for one in found}
    if listed is None:
        limits = {one.key: (one.name, one.limit) for one in known.values()}
    ceilings = {}
    for code, (name, limit) in limits.items():
        as_of, used = newest.get(metric_id(code), (None, None))
        if (listed is None or usage is None) and code in known:
            as_of, used = known[code].as_of, known[code].used
        ceilings[code] = Ceiling(
            region=region,
            key=code,
            kind=CeilingKind.QUOTA,
            name=name,
            limit=limit,
            used=None if used is None else round(used),
            as_of=as_of,
        )
    return ceilings, problems + more
