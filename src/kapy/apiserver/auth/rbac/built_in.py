"""Rights of a program in the server's own process, granted without a role in the store.

A decision depends on verb, API group, resource and subresource only. It is cached until a
ClusterRole changes, because every in-process request is authorized.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kapy.apiserver.auth.authorization import Attributes
from kapy.apiserver.auth.rbac.rules import allows
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.store.store import Store
from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.kube import Document
from kapy.kube.http import User

_log = logging.getLogger(__name__)
_CLUSTER_ROLES: Final = "clusterroles.rbac.authorization.k8s.io"
_READING: Final = frozenset(("get", "list", "watch"))
_REMEMBERED: Final = 4096
"""The most cached decisions; a full cache is emptied."""


class BuiltInRights:
    """The rights of one user in addition to those from roles and bindings.

    user: the user; in-process requests carry this very object. rules: the fixed rules. labels:
    ClusterRoles with one of these labels set to "true" add their rules, like aggregation for
    installed providers. allowed_reads: the allowed reads as kinds with a verb and a subresource, a
    fast path.
    """

    __slots__ = ("_decided", "_labels", "_of_roles", "_rules", "_store", "allowed_reads", "user")

    def __init__(
        self, store: Store, user: User, rules: Iterable[Document], labels: Sequence[str] = ()
    ) -> None:
        self.user = user
        self._store = store
        self._rules = tuple(rules)
        self._labels = tuple(labels)
        self._of_roles: tuple[Document, ...] | None = None
        self._decided: dict[tuple[str, str, str, str], bool] = {}
        self.allowed_reads: set[tuple[Kind, str, str]] = set()
        store.listeners.append(self._on_write)

    def allows_all(self, kind: Kind, verb: str, subresource: str) -> bool:
        """Report whether the user may do this to all objects of a kind."""
        resource = kind.resource
        key = (verb, resource.group, resource.plural, subresource)
        wanted = Attributes(
            self.user, verb, resource.group, resource.version, resource.plural, subresource
        )
        if not self.allow(wanted) or not self._decided.get(key):
            return False
        if verb in _READING:
            if len(self.allowed_reads) >= _REMEMBERED:
                self.allowed_reads.clear()
            self.allowed_reads.add((kind, verb, subresource))
        return True

    def allow(self, wanted: Attributes) -> bool:
        """Report whether a request of the user is allowed."""
        key = (wanted.verb, wanted.group, wanted.resource, wanted.subresource)
        result = self._decided.get(key)
        return self._decision(key, wanted) if result is None else result

    @property
    def denied_requests(self) -> list[tuple[str, str, str, str]]:
        """Return the missing rights: verb, API group, resource and subresource."""
        return [key for key, decision in self._decided.items() if not decision]

    def rules(self) -> Iterator[Document]:
        """Yield all rules of the user."""
        yield from self._rules
        yield from self._aggregated_rules()

    def _decision(self, key: tuple[str, str, str, str], wanted: Attributes) -> bool:
        if wanted.path is not None:
            return any(allows(rule, wanted) for rule in self.rules())
        named = False
        for rule in self.rules():
            if not allows(rule, wanted):
                named = named or bool(rule.get("resourceNames"))
            elif rule.get("resourceNames"):
                return True  # this object is allowed; other objects are decided separately
            else:
                return self._remember(key, decision=True)
        if named:
            return False
        _log.warning(
            "the controllers may not %s %s in API group %r: a ClusterRole with the label %s grants "
            'it (value "true"), which the release of a provider brings with API groups of its own',
            wanted.verb,
            f"{wanted.resource}/{wanted.subresource}" if wanted.subresource else wanted.resource,
            wanted.group,
            " or ".join(self._labels) or "of nobody",
        )
        return self._remember(key, decision=False)

    def _remember(self, key: tuple[str, str, str, str], *, decision: bool) -> bool:
        if len(self._decided) >= _REMEMBERED:
            self._decided.clear()
        self._decided[key] = decision
        return decision

    def _aggregated_rules(self) -> tuple[Document, ...]:
        if self._of_roles is None:
            table = self._store.peek(_CLUSTER_ROLES)
            roles = () if table is None else table.content("").values()
            self._of_roles = tuple(
                rule
                for role in roles
                if self._is_aggregated(role)
                for rule in role.get("rules") or ()
            )
        return self._of_roles

    def _is_aggregated(self, role: Document) -> bool:
        labels = role["metadata"].get("labels") or {}
        return any(labels.get(label) == "true" for label in self._labels)

    def _on_write(self, event: WriteEvent) -> None:
        if event.table == _CLUSTER_ROLES:
            self._of_roles = None
            self._decided.clear()
            self.allowed_reads.clear()
