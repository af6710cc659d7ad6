"""What the kube-scheduler would refuse of a plan, pod by pod: slow, plain, and without any of the planner's code.

It takes Kubernetes objects as an API server lists them and knows the filters of Kubernetes 1.37 (pkg/scheduler/framework/
plugins), each under the name of its plugin. Preemption is none of its business: pods that are to give way are left out by
who asks. Resource claims (dynamicresources) are not judged.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tests.fit import amounts, node_filters, pod_filters, volume_filters
from tests.fit.state import Key, State, key_of

Object = Mapping[str, Any]

FILTERS: Mapping[str, Callable[[State, Object, Object], bool]] = {
    "NodeName": lambda state, pod, node: node_filters.is_named(pod, node),
    "NodeUnschedulable": lambda state, pod, node: node_filters.is_open(pod, node),
    "NodeAffinity": lambda state, pod, node: node_filters.is_selected(pod, node),
    "TaintToleration": lambda state, pod, node: node_filters.repels_none(pod, node),
    "NodeResourcesFit": lambda state, pod, node: amounts.has_room(node, _on(state, node), pod),
    "NodePorts": lambda state, pod, node: amounts.has_ports(_on(state, node), pod),
    "VolumeRestrictions": volume_filters.have_no_other_owner,
    "NodeVolumeLimits": volume_filters.can_be_attached,
    "VolumeBinding": volume_filters.are_to_be_had,
    "InterPodAffinity": lambda state, pod, node: (
        pod_filters.has_company(state, pod, node)
        and pod_filters.avoids_none(state, pod, node)
        and pod_filters.is_avoided_by_none(state, pod, node)
    ),
    "PodTopologySpread": pod_filters.is_spread,
}


def refused(objects: Iterable[Object], assignments: Iterable[tuple[Object, str]]) -> dict[Key, list[str]]:
    """The pods of `assignments` that do not come on their nodes, each with the plugins that keep it away.

    `objects` are nodes (new ones, too), pods that are there, and what they lean on; `assignments` are pods with the name of
    the node that each is meant for. As the scheduler does, it takes them in order and those that it refused again, as long as
    another pod has come since.
    """
    state = State(objects)
    left = list(assignments)
    while came := _come(state, left):
        left = [one for one in left if key_of(one[0]) not in came]
    return {key_of(pod): refusals(state, pod, node) for pod, node in left}


def _come(state: State, left: Sequence[tuple[Object, str]]) -> set[Key]:
    """Binds what fits, one after the other."""
    came = set()
    for pod, node in left:
        if not refusals(state, pod, node):
            volume_filters.take(state, pod, node)
            state.bind(pod, node)
            came.add(key_of(pod))
    return came


def left_over(
    objects: Iterable[Object], assignments: Iterable[tuple[Object, str]], unserved: Iterable[Object]
) -> dict[Key, list[str]]:
    """The pods of `unserved` for which there is room once all of `assignments` have come, each with the nodes that would do."""
    state = State(objects)
    for pod, node in assignments:
        volume_filters.take(state, pod, node)
        state.bind(pod, node)
    found = {key_of(pod): [node for node in state.nodes if not refusals(state, pod, node)] for pod in unserved}
    return {key: nodes for key, nodes in found.items() if nodes}


def refusals(state: State, pod: Object, node: str) -> list[str]:
    """Plugins that keep the pod off the node, by name; [] when it may go there.

    Pods that are nominated for the node hold their room against those that are no more important. Whatever they would
    allow, as somebody's company, they must not be needed for.
    """
    found = _refusals(state, pod, node)
    guests = state.nominated(node, pod)
    for guest in guests:
        state.bind(guest, node)
    found += [name for name in _refusals(state, pod, node) if guests and name not in found]
    for guest in guests:
        state.unbind(guest, node)
    return found


def _refusals(state: State, pod: Object, node: str) -> list[str]:
    return [name for name, passes in FILTERS.items() if not passes(state, pod, state.nodes[node])]


def _on(state: State, node: Object) -> Sequence[Object]:
    return state.pods[node["metadata"]["name"]]
