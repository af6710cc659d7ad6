"""Reading a list in pages. The pages of a list are of one moment; when the server forgets it, the list starts anew."""

from collections.abc import Callable, Collection, Mapping

import msgspec

from spillway.kube.session import Answer, Session

_PAGE = 500  # kubectl's own
_STARTS = 4

Query = Mapping[str, str | int]


def read_list(
    session: Session,
    path: str,
    resource: str,
    take: Callable[[Answer], str],
    forget: Callable[[], object],
    query: Query | None = None,
    also: Collection[int] = (),
) -> None:
    """Hands each page to `take`, which returns the token of the next; `forget` drops what was taken (410).

    Answers of a status in `also` are for `take`, too.

    Raises what Session.call raises, and ClusterUnavailable when an answer is no JSON or the pages never last.
    """
    for _ in range(_STARTS):
        if _pages(session, path, resource, take, {"limit": _PAGE, **(query or {})}, also):
            return
        forget()
    raise session.unavailable(f"list {resource}: its pages expired {_STARTS} times (410) before the last was read")


def _pages(
    session: Session, path: str, resource: str, take: Callable[[Answer], str], query: Query, also: Collection[int]
) -> bool:
    """False when a page had expired."""
    token = ""
    while True:
        asked = {**query, "continue": token} if token else query
        answer = session.call("GET", path, ("list", resource), asked, also=(410, *also))
        if answer.status == 410:
            return False
        try:
            token = take(answer)
        except msgspec.DecodeError as error:
            raise session.unavailable(f"list {resource}: an answer does not read: {error}") from error
        if not token:
            return True
