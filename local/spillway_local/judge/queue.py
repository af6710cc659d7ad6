"""What the scheduler itself says of its queue: nothing of its rest is guessed from silence."""

import re
import ssl

import urllib3

from spillway_local.control_plane import ControlPlane

_COUNT = re.compile(r'^scheduler_pending_pods\{queue="(\w+)"\} (\S+)$', re.MULTILINE)
_BUSY = ("active", "backoff")


class Queue:
    """The scheduler's metrics page, some 100 KB: ask it seldom."""

    def __init__(self, plane: ControlPlane) -> None:
        self._url = f"{plane.scheduler_url}/metrics"
        context = ssl.create_default_context(cafile=str(plane.ca_file))
        self._pool = urllib3.PoolManager(ssl_context=context, timeout=10.0)

    def set_aside(self) -> int | None:
        """How many pods it has tried in vain and put away until something changes; None while it has any to try."""
        page = self._pool.request("GET", self._url).data.decode()
        counts = {name: int(float(count)) for name, count in _COUNT.findall(page)}
        if any(counts[name] for name in _BUSY):
            return None
        return sum(counts.values())

    def close(self) -> None:
        self._pool.clear()
