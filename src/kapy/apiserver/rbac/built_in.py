"""Rights of a program in the server's own process, which no role in the store has to grant.

A server asks for each request in process, so a decision is looked up by verb, API group, resource
and subresource, whatever the object is called, and remembered until a ClusterRole changes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kapy.apiserver.authorization import Attributes
from kapy.apiserver.rbac.rules import allows
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.store.history import Happening
from kapy.apiserver.store.store import Store
from kapy.kube import Document
from kapy.kube.http import User

_log = logging.getLogger(__name__)
_CLUSTER_ROLES: Final = "clusterroles.rbac.authorization.k8s.io"
_READING: Final = frozenset(("get", "list", "watch"))
_REMEMBERED: Final = 4096
"""Decisions that are kept; when there are more, all are forgotten."""


class BuiltInRights:
    """The rights of one user besides those of roles and bindings.

    user: who it is; requests in process have this very object. rules: its own. labels: with each of
    them ("true"), ClusterRoles of the store add theirs, as aggregation adds them to the roles of a
    program that is installed. read: what it may read, which the server looks up first of all: kinds
    with a verb and a subresource.
    """

    __slots__ = ("_decided", "_labels", "_of_roles", "_rules", "_store", "read", "user")

    def __init__(
        self, store: Store, user: User, rules: Iterable[Document], labels: Sequence[str] = ()
    ) -> None:
        self.user = user
        self._store = store
        self._rules = tuple(rules)
        self._labels = tuple(labels)
        self._of_roles: tuple[Document, ...] | None = None
        self._decided: dict[tuple[str, str, str, str], bool] = {}
        self.read: set[tuple[Kind, str, str]] = set()
        store.listeners.append(self._noticed)

    def has(self, kind: Kind, verb: str, subresource: str) -> bool:
        """Whether the user may do this to all objects of a kind."""
        one = kind.resource
        key = (verb, one.group, one.plural, subresource)
        wanted = Attributes(self.user, verb, one.group, one.version, one.plural, subresource)
        if not self.allow(wanted) or not self._decided.get(key):
            return False
        if verb in _READING:
            if len(self.read) >= _REMEMBERED:
                self.read.clear()
            self.read.add((kind, verb, subresource))
        return True

    def allow(self, wanted: Attributes) -> bool:
        """Whether a request of the user is allowed."""
        key = (wanted.verb, wanted.group, wanted.resource, wanted.subresource)
        found = self._decided.get(key)
        return self._decision(key, wanted) if found is None else found

    @property
    def refused(self) -> list[tuple[str, str, str, str]]:
        """The rights that were missing: verb, API group, resource, and subresource."""
        return [key for key, decision in self._decided.items() if not decision]

    def rules(self) -> Iterator[Document]:
        """All of its rules."""
        yield from self._rules
        yield from self._aggregated()

    def _decision(self, key: tuple[str, str, str, str], wanted: Attributes) -> bool:
        if wanted.path is not None:
            return any(allows(rule, wanted) for rule in self.rules())
        named = False
        for rule in self.rules():
            if not allows(rule, wanted):
                named = named or bool(rule.get("resourceNames"))
            elif rule.get("resourceNames"):
                return True  # of this object: nothing is known of others
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

    def _aggregated(self) -> tuple[Document, ...]:
        if self._of_roles is None:
            table = self._store.peek(_CLUSTER_ROLES)
            roles = () if table is None else table.content("").values()
            self._of_roles = tuple(
                rule for role in roles if self._is_ours(role) for rule in role.get("rules") or ()
            )
        return self._of_roles

    def _is_ours(self, role: Document) -> bool:
        labels = role["metadata"].get("labels") or {}
        return any(labels.get(one) == "true" for one in self._labels)

    def _noticed(self, one: Happening) -> None:
        if one.table == _CLUSTER_ROLES:
            self._of_roles = None
            self._decided.clear()
            self.read.clear()
