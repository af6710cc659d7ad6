"""Who may do what: a bearer token, and RBAC rules as (verb, resource) pairs."""

from collections.abc import Iterable
from dataclasses import dataclass

from spillway_local.kube_api.refusals import forbidden, unauthorized
from spillway_local.kube_api.requests import Ask


@dataclass
class Access:
    """`token` None lets everybody in; `rules` None allows everything. Both may be changed while the server runs."""

    token: str | None = "local-token"  # opens nothing but this fake
    rules: frozenset[tuple[str, str]] | None = None
    user: str = "spillway"

    def allow(self, rules: Iterable[tuple[str, str]] | None) -> None:
        """Only these from now on, as `("list", "pods")`, `("create", "pods/eviction")`, `("*", "nodes")`; None: all."""
        self.rules = None if rules is None else frozenset(rules)

    def authenticate(self, authorization: str) -> None:
        """Raises Refusal 401."""
        if self.token is not None and authorization != f"Bearer {self.token}":
            raise unauthorized()

    def authorize(self, ask: Ask) -> None:
        """Raises Refusal 403 in the words of the RBAC authorizer."""
        if self.rules is None:
            return
        wanted = {(verb, resource) for verb in (ask.verb, "*") for resource in (ask.resource, "*")}
        if self.rules.isdisjoint(wanted):
            where = f'in the namespace "{ask.namespace}"' if ask.namespace else "at the cluster scope"
            why = f'User "{self.user}" cannot {ask.verb} resource "{ask.resource}" in API group "{ask.kind.group}" {where}'
            raise forbidden(ask.kind, ask.name, why)
