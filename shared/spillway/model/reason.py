"""Why: a code that programs read and a sentence that people read."""

from enum import StrEnum

from msgspec.structs import force_setattr

from spillway.model.base import Model

_LONGEST = 1000  # characters: a text may quote what anybody wrote into a cluster


class Code(StrEnum):
    """Every reason a plan can give. A code is added here, never reused for another meaning."""

    # scale out
    UNSCHEDULABLE_PODS = "unschedulable_pods"
    BELOW_MIN = "below_min"
    # a group cannot serve a pod
    TOO_SMALL = "too_small"
    SELECTOR = "selector"
    AFFINITY = "affinity"
    TAINT = "taint"
    ZONE = "zone"
    VOLUME = "volume"
    AT_MAX = "at_max"
    LIMIT = "limit"
    QUOTA = "quota"
    RESERVATION = "reservation"
    UNAVAILABLE = "unavailable"
    SUSPENDED = "suspended"
    CHANGING = "changing"
    REGION_UNKNOWN = "region_unknown"
    REGION_EXCLUDED = "region_excluded"
    NO_TEMPLATE = "no_template"
    IGNORED = "ignored"
    SINGLE_REGION = "single_region"
    NO_GROUPS = "no_groups"
    NOT_JUDGED = "not_judged"
    GPU_RESERVED = "gpu_reserved"
    POD_AFFINITY = "pod_affinity"
    POD_ANTI_AFFINITY = "pod_anti_affinity"
    TOPOLOGY_SPREAD = "topology_spread"
    DOMAIN = "domain"
    # scale in
    EMPTY = "empty"
    UNDERUTILISED = "underutilised"
    DEAD = "dead"
    NEVER_JOINED = "never_joined"
    NOT_IDLE_YET = "not_idle_yet"
    NOT_UNNEEDED_YET = "not_unneeded_yet"
    BUSY = "busy"
    NO_PLACE = "no_place"
    RECEIVES_PODS = "receives_pods"
    SPARE = "spare"
    WINDOW = "window"
    MANY_SILENT = "many_silent"
    DETACHED = "detached"
    AT_MIN = "at_min"
    PENDING_PODS = "pending_pods"
    NOT_OURS = "not_ours"
    NOT_READY = "not_ready"
    STARTING = "starting"
    CORDONED_BY_HUMAN = "cordoned_by_human"
    GIVEN_BACK = "given_back"
    DRAINING = "draining"
    LEAVING = "leaving"
    BUDGET = "budget"
    REMOVAL_LIMIT = "removal_limit"
    STALE_VIEW = "stale_view"
    DISABLED = "disabled"
    PROTECTED = "protected"
    ANNOTATED = "annotated"
    # a pod keeps its node
    NO_OWNER = "no_owner"
    MIN_REPLICAS = "min_replicas"
    DO_NOT_DISRUPT = "do_not_disrupt"
    DO_NOT_DRAIN = "do_not_drain"
    YOUNG_POD = "young_pod"
    BATCH = "batch"
    SYSTEM_POD = "system_pod"
    NOT_SAFE = "not_safe"
    LOCAL_STORAGE = "local_storage"
    DISRUPTION_BUDGET = "disruption_budget"
    # give back
    NOTHING_COMES = "nothing_comes"
    # warnings
    REGION_SILENT = "region_silent"
    PRICE_UNKNOWN = "price_unknown"
    PRICE_OLD = "price_old"
    PRICE_SHIPPED = "price_shipped"
    QUOTA_USE_UNKNOWN = "quota_use_unknown"
    GROUP_UNREADABLE = "group_unreadable"
    OBJECT_UNREADABLE = "object_unreadable"
    LIST_UNREADABLE = "list_unreadable"
    PERMISSION = "permission"
    RULES_NOT_JUDGED = "rules_not_judged"
    NODES_VANISH = "nodes_vanish"
    UNKNOWN_FAILURE = "unknown_failure"
    OTHER_OWNER = "other_owner"
    OUT_OF_BOUNDS = "out_of_bounds"
    DEGRADED = "degraded"
    NO_PROVIDER_ID = "no_provider_id"
    CLOCK_SKEW = "clock_skew"
    GANG_UNKNOWN = "gang_unknown"
    MACHINE_UNCLEAR = "machine_unclear"


class Reason(Model, frozen=True):
    """`text` is one sentence with the figures in it; it names the group, node or pod it speaks of.

    What it quotes may come from anybody: it is cut to 1,000 characters, and none of them controls a terminal or a log.
    """

    code: Code
    text: str

    def __post_init__(self) -> None:
        if len(self.text) > _LONGEST or not self.text.isprintable():
            force_setattr(self, "text", readable(self.text))


def readable(text: str) -> str:
    """Cut to length, with a replacement for each character that does not print: line ends, escapes, marks of direction."""
    cut = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in cut)
