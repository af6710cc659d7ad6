"""One kind followed from outside the server: a list, then its changes, then a new list when the server forgot them."""

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec
import urllib3

from spillway_local.control_plane.client import Client
from spillway_local.kube_api.kinds import Kind
from spillway_local.kube_api.protocol import Object, What
from spillway_local.kube_api.refusals import Refusal

_AGAIN_S = 0.1  # until the next try while the server is away


class Watching:
    """Tells `listener` what there is before the constructor returns, and of changes in a thread of its own, until `end`."""

    def __init__(self, client: Client, kind: Kind, listener: Callable[[What, Object], None]) -> None:
        self._client, self._kind, self._listener = client, kind, listener
        self._ended = threading.Event()
        self._seen: dict[str, Object] = {}  # by uid
        self._answer: urllib3.BaseHTTPResponse | None = None
        version = self._look()
        self._thread = threading.Thread(target=self._follow, args=(version,), name=f"watch {kind.plural}")
        self._thread.start()

    def end(self) -> None:
        """Returns when the listener is not, and will not be, called any more."""
        self._ended.set()
        if self._answer is not None:
            with suppress(OSError, ValueError):  # it may be at its end
                self._answer.shutdown()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _look(self) -> str:
        """Tells the difference between what was seen and what is there; gives the version of the list."""
        listed = self._client.get(self._kind.path())
        now = {item["metadata"]["uid"]: self._whole(item) for item in listed["items"]}
        for uid in [uid for uid in self._seen if uid not in now]:
            self._listener("DELETED", self._seen.pop(uid))
        for uid, item in now.items():
            self._note("MODIFIED" if uid in self._seen else "ADDED", item)
        version: str = listed["metadata"]["resourceVersion"]
        return version

    def _whole(self, item: Mapping[str, Any]) -> Object:
        return {"kind": self._kind.name, "apiVersion": self._kind.api_version, **item}

    def _note(self, what: What, item: Object) -> None:
        uid, before = item["metadata"]["uid"], self._seen.get(item["metadata"]["uid"])
        if what == "DELETED":
            self._seen.pop(uid, None)
        elif before and before["metadata"]["resourceVersion"] == item["metadata"]["resourceVersion"]:
            return
        else:
            self._seen[uid] = item
        self._listener(what, item)

    def _follow(self, version: str) -> None:
        while not self._ended.is_set():
            try:
                self._stream(version or self._look())
            except (urllib3.exceptions.HTTPError, Refusal, OSError):
                self._ended.wait(_AGAIN_S)
            version = ""

    def _stream(self, version: str) -> None:
        """Returns when the server ends it, also because it has forgotten that version."""
        self._answer = self._client.stream(f"{self._kind.path()}?watch=true&resourceVersion={version}")
        try:
            for line in () if self._ended.is_set() else self._answer:
                event = msgspec.json.decode(line)
                if event["type"] == "ERROR" or self._ended.is_set():
                    return
                self._note(event["type"], event["object"])
        finally:
            self._answer.close()
