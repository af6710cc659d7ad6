"""Which EKS node group an Auto Scaling group is of, and what EKS said of it. Pure."""

from collections.abc import Iterable, Mapping

from spillway.aws import labels, shapes
from spillway.errors import AwsError
from spillway.model.group_state import ManagedNodeGroup


def named_by(tags: Mapping[str, str]) -> tuple[str, str] | None:
    """Cluster and name, by the tags that EKS puts on the group; None of one that is not EKS's."""
    cluster, name = tags.get("eks:cluster-name"), tags.get("eks:nodegroup-name")
    return (cluster, name) if cluster and name else None


class Nodegroups:
    """Of one region. `before` are those of the last snapshot, by name of the Auto Scaling group.

    `missing` says by `cluster/name` why EKS did not tell of one, `problem` why of none.
    """

    def __init__(
        self,
        told: Iterable[shapes.Nodegroup] = (),
        before: Mapping[str, ManagedNodeGroup] | None = None,
        missing: Mapping[str, AwsError] | None = None,
        problem: str = "",
    ) -> None:
        self._before, self._missing, self._problem = before or {}, missing or {}, problem
        self._by_name, self._by_group = dict[tuple[str, str], ManagedNodeGroup](), dict[str, ManagedNodeGroup]()
        for one in told:
            managed = _managed(one)
            self._by_name[one.cluster_name, one.nodegroup_name] = managed
            self._by_group |= {group.name: managed for group in one.resources.auto_scaling_groups}

    def of(self, group: str, tags: Mapping[str, str]) -> tuple[ManagedNodeGroup | None, str]:
        """That of an Auto Scaling group, and why EKS did not tell of it: then it is as before, None if it was not known either.

        One that is being created names no Auto Scaling group yet; only the tags do.
        """
        named = named_by(tags)
        told = self._by_group.get(group) or (self._by_name.get(named) if named else None)
        if told or not named:
            return told, ""
        why = str(self._missing.get("/".join(named)) or self._problem)
        known = self._before.get(group)
        # without labels an older version of us stored it, which kept neither these nor taints
        return (known if why and known and known.labels else None), why


def _managed(told: shapes.Nodegroup) -> ManagedNodeGroup:
    marked, tainted = labels.of_nodegroup(told)
    return ManagedNodeGroup(
        name=told.nodegroup_name,
        status=told.status,
        issues=tuple(f"{issue.code}: {issue.message}" for issue in told.health.issues),
        ami_type=told.ami_type,
        labels=marked,
        taints=tainted,
    )
