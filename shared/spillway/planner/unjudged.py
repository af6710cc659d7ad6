"""What people ask for and the planner does not judge yet: said in a warning, never passed over in silence."""

from collections.abc import Iterable

from spillway.model.cluster import ClusterSnapshot
from spillway.model.policy import Policy
from spillway.model.reason import Code, Reason
from spillway.planner.view import View


def warnings(view: View) -> Iterable[Reason]:
    if asked := list(_asked(view.cluster)):
        text = f"the cluster asks for what is not planned yet: {', '.join(asked)}"
        yield Reason(code=Code.RULES_NOT_JUDGED, text=text)
    if fields := list(_fields(view.policy)):
        text = f"the policy sets fields that are not judged yet and change nothing: {', '.join(fields)}"
        yield Reason(code=Code.RULES_NOT_JUDGED, text=text)


def _asked(cluster: ClusterSnapshot) -> Iterable[str]:
    unknown = {gang.id for gang in cluster.gangs if gang.problem}  # whose pods are not planned at all
    if gangs := len({pods.gang for pods in cluster.pods if pods.gang and pods.gang not in unknown and not pods.node}):
        yield f"{gangs} {'gang' if gangs == 1 else 'gangs'} to start together (their pods are planned one by one)"
    if buffers := sum(one.pods > 0 for one in cluster.buffers):
        yield f"{buffers} {'CapacityBuffer' if buffers == 1 else 'CapacityBuffers'}"
    if requests := sum(bool(one.pod_sets) for one in cluster.provisioning_requests):
        yield f"{requests} {'ProvisioningRequest' if requests == 1 else 'ProvisioningRequests'}"


def _fields(policy: Policy) -> Iterable[str]:
    out, into = policy.scale_out, policy.scale_in
    if not isinstance(out.objective, str):
        yield "scale_out.objective (expanders; the least cost is taken)"
    if any(out.headroom.percent.values()) or out.headroom.fixed or out.headroom.spare_nodes_per_group:
        yield "scale_out.headroom"
    if into.max_age_s is not None:
        yield "scale_in.max_age_s"
    if into.drift:
        yield "scale_in.drift"
