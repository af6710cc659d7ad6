"""Host ports of a random pod: few, so that pods meet, over protocols and addresses of which some collide."""

from spillway_local.judge.scene import Dice, Object

PORTS = (8080, 8080, 8080, 9100)
ADDRESSES = ("", "0.0.0.0", "::", "127.0.0.1", "10.0.0.7")


def open_ports(dice: Dice, spec: Object) -> None:
    """On a container, or on a sidecar, which holds its port as long; an init container that ends holds none."""
    holders = [*spec["containers"], *spec.get("initContainers", ())]
    asked = {(dice.pick(PORTS), dice.pick(("TCP", "TCP", "UDP")), dice.pick(ADDRESSES)) for _ in range(dice.randint(1, 2))}
    holder = dice.pick(holders)
    holder["ports"] = [
        {"containerPort": port, "hostPort": port, "protocol": protocol} | ({"hostIP": address} if address else {})
        for port, protocol, address in sorted(asked)
    ]
