"""The fields of Kubernetes objects that Spillway reads, and no others.

msgspec skips the rest of an object without building it, which is where the speed comes from
(docs/adr/0002). Parts that thousands of pods share byte for byte stay `Raw`: equal bytes are decoded once.
Names follow k8s.io/api; `null` and absent mean the same.
"""

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Raw, field

ABSENT = Raw()
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises: also for a string that is no UTF-8, and for what is nested a thousand deep."""
Amounts = dict[str, str | int | float]
Time = Annotated[datetime, msgspec.Meta(tz=True)]
"""RFC 3339 with its zone, as the API always writes it: one without could not be put in order with the others."""
NEVER = datetime.min.replace(tzinfo=UTC)
"""In place of a time that is not told, before all that are."""


_LONGEST_NAME = 253  # of a DNS subdomain, the longest name that the API takes for anything


LONGEST_NOTE = 100
"""Characters of an annotation's value that are kept: what a rule knows is shorter, what the API takes is up to 256 KiB."""


def number(text: str | None) -> int | None:
    """A count that is written in a label or an annotation, None for none; the API's counts have 32 bits."""
    return int(text) if text and len(text) <= 10 and text.isascii() and text.isdigit() else None


def is_name(text: str) -> bool:
    """Whether an object could be called so, or be in no namespace, ""; a dump, unlike the API, may say anything."""
    return len(text) <= _LONGEST_NAME and text.isprintable() and "/" not in text


def as_name(text: str) -> str:
    """The text itself where it is a name, and what comes nearest to it elsewhere."""
    if is_name(text):
        return text
    return "".join(one if one.isprintable() and one != "/" else "\N{REPLACEMENT CHARACTER}" for one in text[:_LONGEST_NAME])


class Part(msgspec.Struct, rename="camel", gc=False):
    """A part of an API object; unknown fields are skipped."""


class Kind(Part):
    kind: str = ""


class Typed(Kind):
    api_version: str = ""


class ListMeta(Part):
    resource_version: str | None = None
    next_page: str | None = field(default=None, name="continue")


class Listed(Typed):
    """A page of a list; what its items are says the subclass. None of them is no list: the API server writes `[]` for an empty
    one (k8s.io/apiserver, pkg/storage/etcd3/store.go)."""

    metadata: ListMeta | None = None
    items: list[Any] | None = None

    @property
    def next_page(self) -> str:
        """The token of the next one, "" after the last."""
        return (self.metadata.next_page or "") if self.metadata else ""

    @property
    def version(self) -> str:
        """The list's resourceVersion."""
        return (self.metadata.resource_version or "") if self.metadata else ""


class Envelope(Listed):
    """A single object, or a list with its items unread."""

    items: list[Raw] | None = None


class OwnerReference(Part):
    kind: str = ""
    api_version: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class PodAnnotations(Part, rename=None):
    """Those that a rule reads: Cluster Autoscaler's, Karpenter's, and those of gangs."""

    mirror: str | None = field(default=None, name="kubernetes.io/config.mirror")
    source: str | None = field(default=None, name="kubernetes.io/config.source")
    daemon: str | None = field(default=None, name="cluster-autoscaler.kubernetes.io/daemonset-pod")
    safe_to_evict: str | None = field(default=None, name="cluster-autoscaler.kubernetes.io/safe-to-evict")
    safe_volumes: str | None = field(default=None, name="cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes")
    scale_up_delay: str | None = field(default=None, name="cluster-autoscaler.kubernetes.io/pod-scale-up-delay")
    daemon_eviction: str | None = field(default=None, name="cluster-autoscaler.kubernetes.io/enable-ds-eviction")
    do_not_disrupt: str | None = field(default=None, name="karpenter.sh/do-not-disrupt")
    volcano_group: str | None = field(default=None, name="scheduling.k8s.io/group-name")
    volcano_group_too: str | None = field(default=None, name="scheduling.volcano.sh/group-name")
    kueue_total: str | None = field(default=None, name="kueue.x-k8s.io/pod-group-total-count")
    consumes: str | None = field(default=None, name="autoscaling.x-k8s.io/consume-provisioning-request")
    consumes_old: str | None = field(default=None, name="cluster-autoscaler.kubernetes.io/consume-provisioning-request")


class BareMeta(Part):
    name: str
    namespace: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Of an object that is in a namespace: in `default` where a file does not say."""
        return self.namespace or "default", self.name


class Meta(BareMeta):
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None


class PodMeta(Meta):
    uid: str = ""
    labels: Raw = ABSENT
    annotations: PodAnnotations | None = None
    owner_references: list[OwnerReference] | None = None


class ContainerPort(Part):
    container_port: int | None = None
    host_port: int | None = None
    protocol: str | None = None
    host_ip: str | None = field(default=None, name="hostIP")


class Container(Part):
    name: str = ""
    resources: Raw = ABSENT
    ports: list[ContainerPort] | None = None
    restart_policy: str | None = None


class Claim(Part):
    claim_name: str = ""


class EmptyDir(Part):
    medium: str | None = None


class InlineDisk(Part):
    volume_id: str = field(default="", name="volumeID")


class EphemeralClaimSpec(Part):
    storage_class_name: str | None = None


class EphemeralClaim(Part):
    spec: EphemeralClaimSpec | None = None


class EphemeralVolume(Part):
    volume_claim_template: EphemeralClaim | None = None

    @property
    def storage_class(self) -> str:
        """As its template names it; "" for the cluster's default."""
        spec = self.volume_claim_template.spec if self.volume_claim_template else None
        return spec.storage_class_name or "" if spec else ""


class Volume(Part):
    name: str = ""
    persistent_volume_claim: Claim | None = None
    ephemeral: EphemeralVolume | None = None
    empty_dir: EmptyDir | None = None
    host_path: Part | None = None
    aws_elastic_block_store: InlineDisk | None = None


class ResourceClaim(Part):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class SchedulingGroup(Part):
    """Of Kubernetes 1.36 and later."""

    pod_group_name: str | None = None


class WorkloadReference(Part):
    """Of Kubernetes 1.35 alone: a group of a Workload, and which copy of it."""

    name: str = ""
    pod_group: str = ""
    pod_group_replica_key: str | None = None


class PodSpec(Part):
    containers: list[Container]
    init_containers: list[Container] | None = None
    node_name: str | None = None
    node_selector: Raw = ABSENT
    affinity: Raw = ABSENT
    tolerations: Raw = ABSENT
    topology_spread_constraints: Raw = ABSENT
    overhead: Raw = ABSENT
    resources: Raw = ABSENT
    volumes: list[Volume] | None = None
    resource_claims: list[ResourceClaim] | None = None
    scheduling_gates: list[Kind] | None = None
    scheduler_name: str | None = None
    host_network: bool | None = None
    scheduling_group: SchedulingGroup | None = None
    workload_ref: WorkloadReference | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    termination_grace_period_seconds: int | None = None


class Condition(Part):
    type: str = ""
    status: str = ""
    reason: str | None = None
    last_transition_time: Time | None = None


class PodCondition(Part):
    type: str = ""
    status: str = ""
    reason: str | None = None


class ContainerStatus(Part):
    name: str = ""
    resources: Raw = ABSENT
    allocated_resources: Raw = ABSENT


class PodStatus(Part):
    phase: str | None = None
    conditions: list[PodCondition] | None = None
    nominated_node_name: str | None = None
    start_time: Time | None = None
    resources: Raw = ABSENT
    allocated_resources: Raw = ABSENT
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None


class Pod(Part):
    metadata: PodMeta
    spec: PodSpec
    status: PodStatus | None = None


class TemplateMeta(Part):
    labels: Raw = ABSENT
    annotations: PodAnnotations | None = None


class PodPage(Listed):
    """A page of a PodList, if all in it decodes."""

    items: list[Pod] | None = None


class PodTemplateSpec(Part):
    """Of what pods are made."""

    spec: PodSpec
    metadata: TemplateMeta | None = None


class BareSpec(Part):
    node_name: str | None = None


class BareStatus(Part):
    phase: str | None = None


class Named(Part):
    """What is to be known of an object that cannot be read otherwise: which it is."""

    metadata: BareMeta


class BarePod(Named):
    """… and of a pod where it is."""

    spec: BareSpec | None = None
    status: BareStatus | None = None


class NodeMeta(Meta):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    managed_fields: Raw = ABSENT  # long, and read of cordoned nodes only


class NodeTaint(Part):
    key: str
    effect: str
    value: str | None = None


class NodeSpec(Part):
    provider_id: str | None = field(default=None, name="providerID")
    unschedulable: bool | None = None
    taints: list[NodeTaint] | None = None


class NodeAddress(Part):
    type: str = ""
    address: str = ""


class NodeStatus(Part):
    allocatable: Amounts | None = None
    capacity: Amounts | None = None
    conditions: list[Condition] | None = None
    addresses: list[NodeAddress] | None = None


class Node(Part):
    metadata: NodeMeta
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class SelectorExpression(Part):
    key: str
    operator: str
    values: list[str] | None = None


class LabelSelector(Part):
    match_labels: dict[str, str] | None = None
    match_expressions: list[SelectorExpression] | None = None
