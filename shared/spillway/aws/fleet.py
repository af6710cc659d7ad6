"""AWS's answers to the fleet snapshot: pure decoding, the same for live answers and for files of a dump."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from spillway.aws import ceilings, groups, history, labels, launch, prices, requirements, shapes, state, templates, weights
from spillway.aws.documented import ODD
from spillway.aws.kept import Kept
from spillway.aws.nodegroups import Nodegroups
from spillway.aws.partial import Partial
from spillway.errors import AwsError, AwsForbidden
from spillway.model.fleet import FailureClass, FleetSnapshot, Instance, NodeGroup, RegionView
from spillway.model.group_state import ManagedNodeGroup
from spillway.model.market import Ceiling
from spillway.model.policy import Policy
from spillway.model.reason import Code, Reason

_DEFAULTS = Policy()

Answers = Mapping[str, Any]
"""One region's answers by top-level key (CONTRACTS section 2). In place of a list there may stand the error,
or a sentence, of the call that failed, what was answered before (`kept.Kept`), or what of it came (`partial.Partial`)."""


def reduce(
    cluster: str,
    home_region: str,
    taken_at: datetime,
    answers: Mapping[str, Answers | Exception | str],
    group_names: Iterable[str] = (),
    previous: FleetSnapshot | None = None,
    policy: Policy = _DEFAULTS,
) -> FleetSnapshot:
    """The groups with both discovery tags, and those named `region/name` in `group_names`. `policy` says of their kubelets
    what nobody else tells.

    A region whose answers, or whose AutoScalingGroups, are an error is unknown: of it remain the groups of
    `previous`, as of then. Nothing that one group or item lacks stops the others; it becomes a warning, as does a name
    that leads to no group.
    """
    named = frozenset(group_names)
    regions: list[RegionView] = []
    found: list[NodeGroup] = []
    warnings: list[Reason] = []
    bounds: list[Ceiling] = []
    ended: list[str] = []
    for region in sorted(answers):
        answer = answers[region]
        problem = str(answer) if isinstance(answer, Exception | str) else _problem(answer, "AutoScalingGroups")
        if problem or isinstance(answer, Exception | str):
            view = _unknown(region, problem, previous)
            regions.append(view)
            found += [group for group in previous.groups if group.region == region] if previous else []
            age = (
                f"what is known of it is {(taken_at - view.as_of).total_seconds():.0f} s old"
                if view.as_of
                else "nothing is known of it"
            )
            warnings.append(Reason(code=Code.REGION_SILENT, text=f"region {region} did not answer, {age}: {problem}"))
            continue
        regions.append(RegionView(name=region, known=True, as_of=taken_at))
        here, bounded, gone, troubles = _region(region, cluster, taken_at, answer, named, previous, policy)
        found += here
        ended += gone
        bounds += bounded
        warnings += troubles
    warnings += _not_found(named, answers)
    return FleetSnapshot(
        cluster=cluster,
        home_region=home_region,
        taken_at=taken_at,
        regions=tuple(regions),
        groups=tuple(sorted(found, key=lambda group: (group.region, group.name))),
        warnings=tuple(warnings),
        ceilings=tuple(bounds),
        ended=tuple(sorted(set(ended).difference(one.id for group in found for one in group.instances))),
    )


def _not_found(named: Iterable[str], answers: Mapping[str, Answers | Exception | str]) -> Iterator[Reason]:
    """Names that lead to no group, but those in a region that did not answer."""
    for name in sorted(named):
        region, _, group = name.partition("/")
        answer = answers.get(region)
        why = ""
        if answer is None:
            why = "it is in none of the regions that are read; names are `region/name`"
        elif isinstance(answer, Mapping) and not _problem(answer, "AutoScalingGroups"):
            items = _items(answer, "AutoScalingGroups")
            is_there = any(isinstance(item, Mapping) and item.get("AutoScalingGroupName") == group for item in items)
            why = "" if is_there else "its region has no Auto Scaling group of that name"
        if why:
            yield Reason(code=Code.GROUP_UNREADABLE, text=f"group {name} is asked for by name: {why}")


def _unknown(region: str, problem: str, previous: FleetSnapshot | None) -> RegionView:
    before = next((view for view in previous.regions if view.name == region), None) if previous else None
    return RegionView(name=region, known=False, as_of=before.as_of if before else None, problem=problem)


def _region(
    region: str,
    cluster: str,
    now: datetime,
    answers: Answers,
    named: frozenset[str],
    previous: FleetSnapshot | None,
    policy: Policy,
) -> tuple[list[NodeGroup], list[Ceiling], list[str], list[Reason]]:
    """Groups, what bounds them, ids of instances that EC2 has ended, and warnings."""
    before = {group.name: group for group in previous.groups if group.region == region} if previous else {}
    catalogue, problems = _catalogue(region, answers, policy, before)
    machines, more = _machines(answers)
    impaired, unclear = _impaired(answers)
    goings_on, others = _state(answers)
    bounds, rest = _ceilings(region, answers, previous)
    warnings = [
        Reason(code=_code(key, answers[key]), text=f"region {region}: {key} is not known: {text}")
        for key in sorted(answers)
        if (text := _problem(answers, key))
    ]
    warnings += [
        Reason(code=Code.PRICE_OLD, text=f"region {region}: {answers[key].sentence(key, now)}")
        for key in sorted(answers)
        if isinstance(answers[key], Kept)
    ]
    warnings += [
        Reason(code=Code.OBJECT_UNREADABLE, text=f"region {region}: {text}")
        for text in problems + more + unclear + others + rest
    ]
    past = history.by_group(_items(answers, "Activities"), now) or _cursors(region, answers, previous)
    found: list[NodeGroup] = []
    for number, item in enumerate(_items(answers, "AutoScalingGroups")):
        try:
            if not _is_ours(item, region, cluster, named):
                continue
            group, troubles = _group(region, item, catalogue, machines, past, goings_on, bounds)
            group = _with_checks(goings_on.added(group, item, before.get(group.name)), impaired)
        except ODD as error:
            name = item.get("AutoScalingGroupName") if isinstance(item, Mapping) else None
            text = f"group {region}/{name or f'AutoScalingGroups[{number}]'} is not as AWS documents it: {error}"
            warnings.append(Reason(code=Code.GROUP_UNREADABLE, text=text))
            continue
        found.append(group)
        warnings += [Reason(code=Code.GROUP_UNREADABLE, text=f"group {group.key}: {text}") for text in troubles]
        warnings += _unknown_failures(group)
    warnings += [Reason(code=Code.OBJECT_UNREADABLE, text=f"region {region}: {text}") for text in bounds.unlisted()]
    return found, bounds.drawn_on(), _ended(machines), warnings


def _cursors(region: str, answers: Answers, previous: FleetSnapshot | None) -> dict[str, history.Past]:
    """Where activities could not be read: the ids that the next read has to follow are those of before."""
    if previous is None or not _problem(answers, "Activities"):
        return {}
    return {one.name: history.Past(launching_ids=one.launching_ids) for one in previous.groups if one.region == region}


def _code(key: str, problem: object) -> Code:
    if isinstance(problem, AwsForbidden):
        return Code.PERMISSION
    return Code.PRICE_UNKNOWN if key in ("OnDemandPrices", "SpotPriceHistory") else Code.OBJECT_UNREADABLE


def _unknown_failures(group: NodeGroup) -> list[Reason]:
    """Each text that the table of failures lacks, once: people must see it, since we could only guess what it means."""
    texts = dict.fromkeys(failure.text for failure in group.failures if failure.failure is FailureClass.UNKNOWN)
    return [
        Reason(code=Code.UNKNOWN_FAILURE, text=f"group {group.key}: a launch was refused for a reason we do not know: {text}")
        for text in texts
    ]


def _is_ours(item: Mapping[str, Any], region: str, cluster: str, named: frozenset[str]) -> bool:
    return f"{region}/{item['AutoScalingGroupName']}" in named or groups.belongs(item, cluster)


def _group(
    region: str,
    item: Mapping[str, Any],
    catalogue: templates.Catalogue,
    machines: Mapping[str, shapes.Ec2Instance],
    past: Mapping[str, history.Past],
    goings_on: state.State,
    bounds: ceilings.Ceilings,
) -> tuple[NodeGroup, list[str]]:
    """A group and a sentence for each thing about it that could not be read."""
    group = shapes.read(item, shapes.Group)
    mine = past.get(group.auto_scaling_group_name, history.Past())
    tags = groups.tags(item)
    managed, problem, troubles = _managed(group, tags, catalogue)
    template = None
    found = launch.Launch(options=(), capacity_type=launch.market(group))
    try:
        found = launch.of_group(group, catalogue.definitions)
        template, others = templates.of_launch(found, group, tags, catalogue)
        problem = problem or found.problem
        troubles += [*others, *([found.problem] if found.problem else [])]
    except launch.Unreadable as error:
        problem = str(error)
        troubles += [problem]
    by_type = {choice.instance_type: choice.weight for choice in template.choices} if template else {}
    warm = (*group.instances, *goings_on.warm.get(group.auto_scaling_group_name, ()))
    return NodeGroup(
        region=region,
        name=group.auto_scaling_group_name,
        min_size=group.min_size,
        max_size=group.max_size,
        desired=group.desired_capacity,
        zones=tuple(sorted(group.availability_zones)),
        capacity_type=found.capacity_type,
        weighted=launch.is_weighted(group),
        instances=_instances(group.instances, machines, by_type, mine.left_pool),
        warm=_instances(warm, machines, by_type, {}, warm=True),
        template=template,
        problem=problem,
        suspended=tuple(sorted(process.process_name for process in group.suspended_processes)),
        launching=mine.launching,
        launching_since=mine.launching_since,
        launching_ids=mine.launching_ids,
        failures=mine.failures,
        options=labels.options_of_tags(tags),
        managed=managed,
        offerings=catalogue.prices.offerings(found, group.availability_zones, catalogue.types),
        on_demand_share=found.on_demand_share,
        takes_cheapest=found.takes_cheapest,
        draws=bounds.draws(group, found, catalogue.types),
    ), troubles


def _managed(
    group: shapes.Group, tags: Mapping[str, str], catalogue: templates.Catalogue
) -> tuple[ManagedNodeGroup | None, str, list[str]]:
    """Its EKS node group, why no node may be launched where that is not known, and a sentence where it is that of before."""
    managed, why = catalogue.nodegroups.of(group.auto_scaling_group_name, tags)
    if not why:
        return managed, "", []
    if managed:
        return managed, "", [f"EKS node group {managed.name} is as it was when EKS last told of it: {why}"]
    problem = f"its EKS node group is not known, nor are its labels and taints: {why}"
    return None, problem, [problem]


def _instances(
    members: Iterable[shapes.Member],
    machines: Mapping[str, shapes.Ec2Instance],
    by_type: Mapping[str, int],
    left_pool: Mapping[str, datetime],
    warm: bool = False,
) -> tuple[Instance, ...]:
    """Of a group, or those of its warm pool, by id. `left_pool` says when members left that."""
    found = (_instance(member, machines, by_type, left_pool) for member in sorted(members, key=lambda one: one.instance_id))
    return tuple(instance for instance in found if instance.is_warm == warm)


def _instance(
    member: shapes.Member,
    machines: Mapping[str, shapes.Ec2Instance],
    by_type: Mapping[str, int],
    left_pool: Mapping[str, datetime],
) -> Instance:
    machine = machines.get(member.instance_id, shapes.Ec2Instance(instance_id=member.instance_id))
    instance_type = member.instance_type or machine.instance_type
    began = (machine.launch_time, left_pool.get(member.instance_id))
    return Instance(
        id=member.instance_id,
        zone=member.availability_zone,
        instance_type=instance_type,
        definition=launch.definition_of(member),
        lifecycle=member.lifecycle_state,
        launched_at=max((moment for moment in began if moment), default=None),
        state=machine.state.name,
        protected=member.protected_from_scale_in,
        healthy=member.health_status.lower() == "healthy",
        private_dns=machine.private_dns_name,
        reservation=machine.capacity_reservation_id,
        weight=weights.of_member(member.weighted_capacity, instance_type, by_type),
    )


def _catalogue(
    region: str, answers: Answers, policy: Policy, before: Mapping[str, NodeGroup]
) -> tuple[templates.Catalogue, list[str]]:
    versions, p1 = shapes.read_all(
        _items(answers, "LaunchTemplateVersions"), shapes.LaunchTemplateVersion, "LaunchTemplateVersions"
    )
    configurations, p2 = shapes.read_all(
        _items(answers, "LaunchConfigurations"), shapes.LaunchConfiguration, "LaunchConfigurations"
    )
    kinds, p3 = shapes.read_all(_items(answers, "InstanceTypes"), shapes.InstanceType, "InstanceTypes")
    told, p4 = shapes.read_all(_items(answers, "Nodegroups"), shapes.NodegroupAnswer, "Nodegroups")
    fixed = _answer(answers, "OnDemandPrices", {})
    images, p6 = shapes.read_all(_items(answers, "Images"), shapes.Image, "Images")
    met, p7 = shapes.read_all(_items(answers, requirements.KEY), shapes.RequirementsAnswer, requirements.KEY)
    known, p5 = prices.read(fixed if isinstance(fixed, Mapping) else {}, _items(answers, "SpotPriceHistory"))
    return templates.Catalogue(
        region=region,
        definitions=launch.Definitions(
            versions=tuple(versions),
            configurations={one.launch_configuration_name: one for one in configurations},
            images={image.image_id: image for image in images},
            types_of=requirements.types_of(met),
            versions_problem=_problem(answers, "LaunchTemplateVersions"),
            versions_missing=_missing(answers, "LaunchTemplateVersions"),
            configurations_problem=_problem(answers, "LaunchConfigurations"),
        ),
        prices=known,
        types={kind.instance_type: kind for kind in kinds},
        nodegroups=Nodegroups(
            (answer.nodegroup for answer in told),
            before={name: group.managed for name, group in before.items() if group.managed},
            missing=_missing(answers, "Nodegroups"),
            problem=_problem(answers, "Nodegroups"),
        ),
        types_problem=_problem(answers, "InstanceTypes"),
        policy=policy,
    ), [*p1, *p2, *p3, *p4, *p5, *p6, *p7]


def _state(answers: Answers) -> tuple[state.State, list[str]]:
    pools = answers.get("WarmPools", {})
    return state.read(
        pools if isinstance(pools, Mapping) else {},
        _items_or_none(answers, "InstanceRefreshes"),
        _items_or_none(answers, "ScalingPolicies"),
        _items_or_none(answers, "ScheduledUpdateGroupActions"),
    )


def _ceilings(region: str, answers: Answers, previous: FleetSnapshot | None) -> tuple[ceilings.Ceilings, list[str]]:
    before = [one for one in previous.ceilings if one.region == region] if previous else []
    members = answers.get("CapacityReservationGroups", {})
    return ceilings.read(
        region,
        _items_or_none(answers, "Quotas") if "Quotas" in answers else None,  # a dump may lack it
        _items_or_none(answers, "MetricDataResults"),
        None if _problem(answers, "CapacityReservations") else answers.get("CapacityReservations"),
        members if isinstance(members, Mapping) else {},
        before,
    )


def _machines(answers: Answers) -> tuple[dict[str, shapes.Ec2Instance], list[str]]:
    found, problems = shapes.read_all(_items(answers, "Reservations"), shapes.Reservation, "Reservations")
    inner = [machine for reservation in found for machine in reservation.instances]
    machines, more = shapes.read_all(inner, shapes.Ec2Instance, "Reservations[].Instances")
    return {machine.instance_id: machine for machine in machines}, problems + more


def _impaired(answers: Answers) -> tuple[dict[str, str], list[str]]:
    """By instance id, what EC2's status checks find wrong."""
    found, problems = shapes.read_all(_items(answers, "InstanceStatuses"), shapes.InstanceStatus, "InstanceStatuses")
    checks = {one.instance_id: (("system", one.system_status), ("instance", one.instance_status)) for one in found}
    failed = {key: [name for name, check in both if check.status == "impaired"] for key, both in checks.items()}
    return {key: f"{' and '.join(names)} status check" for key, names in failed.items() if names}, problems


def _with_checks(group: NodeGroup, impaired: Mapping[str, str]) -> NodeGroup:
    if impaired.keys().isdisjoint(one.id for one in group.instances):
        return group
    members = (msgspec.structs.replace(one, impaired=impaired.get(one.id, "")) for one in group.instances)
    return msgspec.structs.replace(group, instances=tuple(members))


def _ended(machines: Mapping[str, shapes.Ec2Instance]) -> list[str]:
    """Instances that EC2 has ended and still speaks of, which it does for about an hour."""
    return [id_ for id_, machine in machines.items() if machine.state.name == "terminated"]


def _items(answers: Answers, key: str) -> list[Any]:
    found = _answer(answers, key, ())
    return list(found) if isinstance(found, list | tuple) else []


def _items_or_none(answers: Answers, key: str) -> list[Any] | None:
    """None where the call failed."""
    return None if _problem(answers, key) else _items(answers, key)


def _answer(answers: Answers, key: str, default: object) -> Any:
    found = answers.get(key, default)
    return found.value if isinstance(found, Kept | Partial) else found


def _missing(answers: Answers, key: str) -> Mapping[str, AwsError]:
    """Why parts of the answer did not come."""
    found = answers.get(key)
    return found.missing if isinstance(found, Partial) else {}


def _problem(answers: Answers, key: str) -> str:
    found = answers.get(key)
    return str(found) if isinstance(found, Exception | str) else ""
