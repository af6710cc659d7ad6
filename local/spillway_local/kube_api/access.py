"""Who may do what: bearer tokens, and the rules of ClusterRoles (pkg/registry/rbac/validation/rule.go)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from spillway_local.kube_api.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING
from spillway_local.kube_api.refusals import Refusal, forbidden, unauthorized
from spillway_local.kube_api.requests import Ask
from spillway_local.kube_api.store import Store

Rule = Mapping[str, Any]
TESTER = "tester"  # may do everything, until `allow` says what
GROUPS = {"spillway": "spillway", TESTER: "testers"}
"""Group by user, on a real plane as well. `spillway` has what deploy/rbac.yaml gives once it is applied."""
_ONE_NAME = re.compile(r"(?:^|,)metadata\.name==?([^,]+)")


class Access:
    """Users and groups are those of a real plane (`control_plane/credentials.py`); the tokens open nothing but this fake.

    What `tester` may do is said by `allow`; all others may do what ClusterRoles that are bound to them say.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rules: list[Rule] | None = None
        self.tokens = {user: f"token-of-{user}" for user in GROUPS}
        self.discovery = True
        """Whether everybody may ask what there is, as the role system:discovery lets them until an administrator unbinds it."""

    def allow(self, rules: Iterable[tuple[str, str]] | None) -> None:
        """Only these from now on, as `("list", "pods")`, `("create", "pods/eviction")`, `("*", "nodes")`; None: all."""
        self._rules = None if rules is None else as_rules(rules)

    def authenticate(self, authorization: str) -> str:
        """The user; raises Refusal 401."""
        for user, token in self.tokens.items():
            if authorization == f"Bearer {token}":
                return user
        raise unauthorized()

    def authorize(self, user: str, ask: Ask) -> None:
        """Raises Refusal 403 in the words of the RBAC authorizer."""
        if user == TESTER and self._rules is None:
            return
        if not any(_covers(rule, ask) for rule in (self._rules or () if user == TESTER else self._bound(user))):
            where = f'in the namespace "{ask.namespace}"' if ask.namespace else "at the cluster scope"
            why = f'User "{user}" cannot {ask.verb} resource "{ask.resource}" in API group "{ask.kind.group}" {where}'
            raise forbidden(ask.kind, ask.name, why)

    def authorize_path(self, user: str, path: str) -> None:
        """Of what is no resource, as /version; raises Refusal 403."""
        if not (self.discovery or user == TESTER or any(_covers_path(rule, path) for rule in self._bound(user))):
            raise Refusal(403, f'forbidden: User "{user}" cannot get path "{path}"')

    def _bound(self, user: str) -> Iterator[Rule]:
        subjects = (("User", user), ("Group", GROUPS[user]), ("Group", "system:authenticated"))
        for binding in self._store.records(CLUSTER_ROLE_BINDING):
            if any((one["kind"], one["name"]) in subjects for one in binding.body.get("subjects") or ()):
                role = self._store.find(CLUSTER_ROLE, ("", binding.body["roleRef"]["name"]))
                yield from (role.body.get("rules") or ()) if role else ()


def as_rules(pairs: Iterable[tuple[str, str]]) -> list[Rule]:
    """The rules of a ClusterRole that allows these (verb, resource) in every API group."""
    return [{"apiGroups": ["*"], "resources": [resource], "verbs": [verb]} for verb, resource in pairs]


def _covers(rule: Rule, ask: Ask) -> bool:
    """`*` is any; a rule with names covers only asks that name one of them, a list or watch of one name too."""
    names = rule.get("resourceNames") or ()
    one = _ONE_NAME.search(ask.query.get("fieldSelector", ""))
    return (
        not {"*", ask.verb}.isdisjoint(rule["verbs"])
        and not {"*", ask.kind.group}.isdisjoint(rule.get("apiGroups") or ())
        and not {"*", ask.resource}.isdisjoint(rule.get("resources") or ())
        and (not names or (ask.name or (one[1] if one else "")) in names)
    )


def _covers_path(rule: Rule, path: str) -> bool:
    """A star stands at the end only."""
    urls = rule.get("nonResourceURLs") or ()
    return any(path.startswith(url[:-1]) if url.endswith("*") else path == url for url in urls)
