"""What a warm process need not ask again: answers by key, for a while, and longer where AWS fails."""

from collections.abc import Callable, Container, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from spillway import clock
from spillway.errors import AwsError

K = TypeVar("K")
V = TypeVar("V")

_all: list["Memo[object, object]"] = []


class Memo(Generic[K, V]):
    """Values younger than `keep`. Only what was answered is kept: a key without an answer is asked again."""

    def __init__(self, keep: timedelta, most: int | None = None) -> None:
        """`most` values are kept, the newest; None: all."""
        self._keep, self._most = keep, most
        self._known: dict[K, tuple[datetime, V]] = {}
        _all.append(self)  # type: ignore[arg-type]

    def get(self, keys: Iterable[K], fetch: Callable[[list[K]], Mapping[K, V]], anew: Container[K] = ()) -> dict[K, V]:
        """Values of the keys that have one; those `anew` are asked for however young theirs are.

        Old values stand in where `fetch` raises AwsError; raises it where one is missing.
        """
        wanted = list(dict.fromkeys(keys))
        found, failure = self.get_kept(wanted, fetch, anew)
        if failure and len(found) < len(wanted):
            raise failure[1]
        return found

    def get_kept(
        self, keys: Iterable[K], fetch: Callable[[list[K]], Mapping[K, V]], anew: Container[K] = ()
    ) -> tuple[dict[K, V], tuple[datetime, AwsError] | None]:
        """As `get`; where `fetch` raises AwsError what is known, of when its oldest is, and the error.

        Raises it where nothing is known.
        """
        wanted, now = list(dict.fromkeys(keys)), clock.utcnow()
        stale = [key for key in wanted if key in anew or key not in self._known or now - self._known[key][0] >= self._keep]
        failure: tuple[datetime, AwsError] | None = None
        if stale:
            try:
                self._known |= {key: (now, value) for key, value in fetch(stale).items()}
            except AwsError as error:
                old = self.known(wanted)
                if not old:
                    raise
                failure = min(at for at, _ in old.values()), error
            self._shrink()
        return {key: self._known[key][1] for key in wanted if key in self._known}, failure

    def learn(self, told: Mapping[K, tuple[datetime, V]]) -> None:
        """Values that another process was told, with their times; what is known here already stays."""
        for key, value in told.items():
            self._known.setdefault(key, value)

    def forget(self, keys: Iterable[K]) -> None:
        """What AWS has told to be gone: an old value would be taken for one that it did not tell of."""
        for key in keys:
            self._known.pop(key, None)

    def known(self, keys: Iterable[K]) -> dict[K, tuple[datetime, V]]:
        """Values with the times of their answers, however old."""
        return {key: self._known[key] for key in keys if key in self._known}

    def _shrink(self) -> None:
        while self._most is not None and len(self._known) > self._most:
            del self._known[min(self._known, key=lambda key: self._known[key][0])]

    def clear(self) -> None:
        self._known.clear()


def clear() -> None:
    """Forgets everything; for tests and for worlds that begin anew in one process."""
    for memo in _all:
        memo.clear()
