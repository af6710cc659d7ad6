"""What a kind of API object is called here."""

from functools import lru_cache

_SHORT = frozenset({"", "apps", "batch", "policy", "resource.k8s.io", "storage.k8s.io"})


@lru_cache(maxsize=1024)
def kind_in(api_version: str, kind: str) -> str:
    """`Pod`, but `PodGroup.scheduling.volcano.sh`, as several groups have one of that name."""
    group = api_version.partition("/")[0] if "/" in api_version else ""
    return kind if group in _SHORT else f"{kind}.{group}"
