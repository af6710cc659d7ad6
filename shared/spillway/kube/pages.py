"""Reading a list in pages. The pages of a list are of one moment; when the server forgets it, the list starts anew.

The next page is asked for as soon as its token is known: it comes, and is unpacked, while the last one is decoded.
"""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from spillway.kube.fields import UNREADABLE
from spillway.kube.session import Answer, Session

_PAGE = 500  # kubectl's own
_STARTS = 4

Query = Mapping[str, str | int]
Take = Callable[[Answer, Callable[[str], object]], object]
"""Takes a page, and as early as it can hands the token of the next one, "" for none, to its second argument."""


def read_list(
    session: Session,
    path: str,
    resource: str,
    take: Take,
    forget: Callable[[], object],
    query: Query | None = None,
    also: Collection[int] = (),
) -> None:
    """Hands each page to `take`; `forget` drops what was taken (410).

    Answers of a status in `also` are for `take`, too.

    Raises what Session.call raises, and ClusterUnavailable when an answer is no JSON or the pages never last.
    """
    for _ in range(_STARTS):
        if _pages(session, path, resource, take, {"limit": _PAGE, **(query or {})}, also):
            return
        forget()
    raise session.unavailable(f"list {resource}: its pages expired {_STARTS} times (410) before the last was read")


def _pages(session: Session, path: str, resource: str, take: Take, query: Query, also: Collection[int]) -> bool:
    """False when a page had expired."""

    def ask(token: str) -> Answer:
        asked = {**query, "continue": token} if token else query
        return session.call("GET", path, ("list", resource), asked, also=(410, *also))

    with ThreadPoolExecutor(1, thread_name_prefix="page") as ahead:
        coming: list[Future[Answer]] = []

        def more(token: str) -> None:
            if token:
                coming.append(ahead.submit(ask, token))

        answer = ask("")
        while answer.status != 410:
            try:
                take(answer, more)
            except UNREADABLE as error:
                raise session.unavailable(f"list {resource}: an answer does not read: {error}") from error
            if not coming:
                return True
            answer = coming.pop().result()
    return False
