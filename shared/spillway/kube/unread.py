"""Optional lists that the server has and does not give, and what is not judged without each (docs/adr/0011)."""

from collections.abc import Iterator, Mapping

from spillway.kube import buffers, capacities, provisioning
from spillway.model.reason import Code, Reason

_GANGS = "the pods of its gangs buy no node"
_WITHOUT = {
    "PodTemplate": "buffers and requests that name one are not judged",
    capacities.KIND: "how much drivers have left is not looked at",
    "ResourceClaim": "pods with claims are judged no otherwise",
    buffers.KIND: "no room is kept free for them",
    provisioning.KIND: "nothing is planned for them, and pods that consume one buy no node",
    "Workload.kueue.x-k8s.io": f"{_GANGS}, nor do those of jobs, each of which may be one",
}


def warnings(unread: Mapping[str, str]) -> Iterator[Reason]:
    """`unread` are the problems by kind."""
    for kind, problem in unread.items():
        text = f"{problem}. Until it is read {_WITHOUT.get(kind, _GANGS)}; all else goes on"
        yield Reason(code=Code.LIST_UNREADABLE, text=text)
