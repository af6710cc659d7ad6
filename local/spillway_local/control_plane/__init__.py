"""A real Kubernetes control plane for tests: nothing of it is faked, and nothing of it leaves the machine."""

from spillway_local.control_plane.plane import DISRUPTION, WORKLOADS, ControlPlane

__all__ = ["DISRUPTION", "WORKLOADS", "ControlPlane"]
