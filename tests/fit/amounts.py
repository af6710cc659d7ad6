"""What a pod asks for and what a node has: resources, pod slots, host ports.

Source: plugins noderesources and nodeports, k8s.io/component-helpers/resource/helpers.go.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Any

Object = Mapping[str, Any]

EVERY_ADDRESS = "0.0.0.0"
_SUFFIXES = (
    {"n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "": Decimal(1)}
    | {suffix: Decimal(1000**power) for power, suffix in enumerate("kMGTPE", 1)}
    | {f"{suffix}i": Decimal(1024**power) for power, suffix in enumerate("KMGTPE", 1)}
)


def amount(resource: str, written: Any) -> int:
    """Millicores of cpu, whole units of all else; parts count as one."""
    text = str(written)
    number = text.rstrip("numkKMGTPEi")
    factor = _SUFFIXES[text[len(number) :]] * (1000 if resource == "cpu" else 1)
    return int((Decimal(number) * factor).to_integral_value(ROUND_CEILING))


def listed(resources: Object | None) -> Counter[str]:
    return Counter({name: amount(name, written) for name, written in (resources or {}).items()})


def requests(pod: Object) -> Counter[str]:
    """Of the pod in all: containers and sidecars together, or an init container beside the sidecars before it."""
    spec = pod["spec"]
    running = sum((_asked(one) for one in spec["containers"]), Counter[str]())
    sidecars, most = Counter[str](), Counter[str]()
    for one in spec.get("initContainers") or ():
        if one.get("restartPolicy") == "Always":
            sidecars += _asked(one)
            most |= sidecars
        else:
            most |= sidecars + _asked(one)
    whole = listed((spec.get("resources") or {}).get("requests"))
    return Counter({**((running + sidecars) | most), **whole}) + listed(spec.get("overhead"))


def _asked(container: Object) -> Counter[str]:
    """The API server takes a limit for the request that is not there."""
    resources = container.get("resources") or {}
    return Counter({**listed(resources.get("limits")), **listed(resources.get("requests"))})


def has_room(node: Object, running: Iterable[Object], pod: Object) -> bool:
    have = listed(node["status"]["allocatable"])
    pods = list(running)
    used = sum((requests(one) for one in pods), Counter[str]())
    fits = all(have[name] - used[name] >= asked for name, asked in requests(pod).items() if asked)
    return fits and len(pods) < have["pods"]


def has_ports(running: Iterable[Object], pod: Object) -> bool:
    taken = [port for one in running for port in host_ports(one)]
    return not any(_collide(mine, other) for mine in host_ports(pod) for other in taken)


def host_ports(pod: Object) -> Iterator[tuple[str, int, str]]:
    """(protocol, port, address) of what runs as long as the pod; on the host's network a container's port is the host's."""
    spec = pod["spec"]
    sidecars = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    for port in (port for one in (*spec["containers"], *sidecars) for port in one.get("ports") or ()):
        number = port.get("hostPort") or (port["containerPort"] if spec.get("hostNetwork") else 0)
        if number:
            yield port.get("protocol") or "TCP", number, port.get("hostIP") or EVERY_ADDRESS


def _collide(mine: tuple[str, int, str], other: tuple[str, int, str]) -> bool:
    return mine[:2] == other[:2] and (mine[2] == other[2] or EVERY_ADDRESS in (mine[2], other[2]))
