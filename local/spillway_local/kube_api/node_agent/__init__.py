"""What machines do in a cluster, fake or real: they register as nodes and leave, and their kubelets run the pods bound to them.

It knows the cluster by its `Cluster` interface alone, and acts only in the timers of the cluster's clock.
"""

from spillway_local.kube_api.node_agent.agent import NodeAgent
from spillway_local.kube_api.node_agent.kubelets import DURATION, Timing

__all__ = ["DURATION", "NodeAgent", "Timing"]
