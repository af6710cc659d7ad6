"""Faults on demand: wrong answers, no answers, cut connections."""

import threading
from dataclasses import dataclass
from typing import Literal

from spillway_local.kube_api.requests import Ask


@dataclass
class Fault:
    """`verb` and `resource` as RBAC writes them, `*` for any; the first `after` matching requests go well."""

    what: Literal["answer", "hang", "drop"]
    verb: str
    resource: str
    code: int = 0
    retry_after_s: int | None = None
    name: str | None = None
    after: int = 0
    times: int = 1

    def concerns(self, ask: Ask) -> bool:
        return (
            self.verb in ("*", ask.verb)
            and self.resource in ("*", ask.resource)
            and (self.name is None or self.name == ask.name)
        )


class Faults:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> None:
        with self._lock:
            self._faults.append(fault)

    def clear(self) -> None:
        with self._lock:
            self._faults.clear()

    def take(self, ask: Ask) -> Fault | None:
        """The fault that this request meets; it counts as used."""
        with self._lock:
            for fault in self._faults:
                if not fault.concerns(ask):
                    continue
                if fault.after > 0:
                    fault.after -= 1
                    continue
                fault.times -= 1
                if fault.times <= 0:
                    self._faults.remove(fault)
                return fault
        return None
