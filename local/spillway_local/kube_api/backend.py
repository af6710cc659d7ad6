"""What the fake server answers: who asks is looked at first, then what is asked."""

import gzip

import msgspec

from spillway_local.kube_api.access import Access
from spillway_local.kube_api.api import Api
from spillway_local.kube_api.discovery import discover
from spillway_local.kube_api.kinds import Kinds
from spillway_local.kube_api.requests import Answer, Call

_GZIP_FROM = 128 * 1024  # defaultGzipThresholdBytes of k8s.io/apiserver, responsewriters/writers.go


class FakeBackend:
    def __init__(self, api: Api, access: Access) -> None:
        self._api, self._access = api, access

    @property
    def kinds(self) -> Kinds:
        return self._api.kinds

    def start(self) -> None:
        self._api.stopping.clear()

    def stop(self) -> None:
        self._api.stopping.set()
        with self._api.store.lock:
            self._api.store.changed.notify_all()  # watches look up and end

    def answer(self, call: Call) -> Answer:
        """Raises Refusal."""
        user = self._access.authenticate(call.headers.get("Authorization", ""))
        if call.ask is None:
            self._access.authorize_path(user, call.target.partition("?")[0])
            found = discover(self.kinds, call.target)
            if found is None:
                return Answer(404, [b"404 page not found\n"], content_type="text/plain; charset=utf-8")
            return Answer(body=[msgspec.json.encode(found)])
        self._access.authorize(user, call.ask)
        answer = self._api.answer(call.ask)
        if "gzip" in call.headers.get("Accept-Encoding", "") and sum(map(len, answer.body)) > _GZIP_FROM:
            answer.body = [gzip.compress(b"".join(answer.body), 1)]  # level 1 there too
            answer.headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return answer
