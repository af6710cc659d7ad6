"""Volumes that one pod alone may have (ReadWriteOncePod): of all that wait for one, the first of the queue gets it.

Source: plugin volumerestrictions of kube-scheduler; KEP-2485. One that a pod has already is a `problem` of those that wait.
"""

from collections.abc import Sequence

from spillway.planner.demand import Lot


def limit(lots: Sequence[Lot]) -> None:
    """Sets how many pods of each lot may have a place."""
    held: set[str] = set()
    for lot in lots:
        wanted = {need.shared for need in lot.shape.volumes if need.exclusive and need.shared and not need.problem}
        if wanted:
            lot.refused = "waits for a volume that one pod alone may have, and another pod comes first"
            lot.limit = 1 if held.isdisjoint(wanted) else 0
            held |= wanted
