"""Reading a list in pages. The pages of a list are of one moment; when the server forgets it, the list starts anew.

The next page is asked for as soon as its token is known: it comes, and is unpacked, while the last one is decoded. A success
that is no page of that list, such as a proxy's own answer or a Status, is none: what is asked for would else be gone.
"""

from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor

from spillway.kube.fields import UNREADABLE, Listed
from spillway.kube.resources import Resource
from spillway.kube.session import Answer, Session

_PAGE = 500  # kubectl's own
_STARTS = 4

Take = Callable[[Answer, Callable[[Listed], object]], object]
"""Takes a page, and as early as it can, and before it keeps anything, hands its head to its second argument."""


def read_list(
    session: Session, resource: Resource, take: Take, forget: Callable[[], object], also: Collection[int] = ()
) -> None:
    """Hands each page to `take`; `forget` drops what was taken (410).

    Answers of a status in `also` are for `take`, too, and are the last.

    Raises what Session.call raises, and ClusterUnavailable when an answer is no page of this list or the pages never last.
    """
    for _ in range(_STARTS):
        if _pages(session, resource, take, also):
            return
        forget()
    raise session.unavailable(f"list {resource.name}: its pages expired {_STARTS} times (410) before the last was read")


def _pages(session: Session, resource: Resource, take: Take, also: Collection[int]) -> bool:
    """False when a page had expired."""
    query = {"limit": _PAGE, **resource.query}

    def ask(token: str) -> Answer:
        asked = {**query, "continue": token} if token else query
        return session.call("GET", resource.path, ("list", resource.name), asked, also=(410, *also))

    with ThreadPoolExecutor(1, thread_name_prefix="page") as ahead:
        coming: list[Future[Answer]] = []
        answer = ask("")

        def more(page: Listed) -> None:
            if wrong := _wrong(page, resource):
                came = f"{wrong} {answer.message}".strip()
                raise session.unavailable(f"list {resource.name}: the answer is no page of it: {came}")
            if page.next_page:
                coming.append(ahead.submit(ask, page.next_page))

        while answer.status != 410:
            try:
                take(answer, more)
            except UNREADABLE as error:
                raise session.unavailable(f"list {resource.name}: an answer does not read: {error}") from error
            if not coming:
                return True
            answer = coming.pop().result()
    return False


def _wrong(page: Listed, resource: Resource) -> str:
    """What shows that it is something else, "" where nothing does."""
    if (page.kind, page.api_version) != (resource.list_kind, resource.group_version):
        return f"it is {page.kind or 'of no kind'} of {page.api_version or 'no version'}"
    if page.items is None:
        return "it has no items"
    return "" if page.version else "it has no resourceVersion"
