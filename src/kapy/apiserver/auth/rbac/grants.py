"""The RBAC authorizer, which reads roles and bindings from the store.

The index of bindings by user and group is built at the first request of a user who is not a
superuser. It then follows the store. Decisions are cached until a role or binding changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kapy.apiserver.auth.authorization import SUPERUSERS, Attributes
from kapy.apiserver.auth.rbac.built_in import BuiltInRights
from kapy.apiserver.auth.rbac.defaults import BINDINGS as DEFAULT_BINDINGS
from kapy.apiserver.auth.rbac.defaults import ROLES as DEFAULT_ROLES
from kapy.apiserver.auth.rbac.rules import allows
from kapy.apiserver.store.store import Store
from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.kube import Document
from kapy.kube.go_literals import go_quoted
from kapy.kube.http import User

GROUP: Final = "rbac.authorization.k8s.io"
ROLES: Final = f"roles.{GROUP}"
CLUSTER_ROLES: Final = f"clusterroles.{GROUP}"
ROLE_BINDINGS: Final = f"rolebindings.{GROUP}"
CLUSTER_ROLE_BINDINGS: Final = f"clusterrolebindings.{GROUP}"

_TABLES: Final = frozenset((ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS))
_REMEMBERED: Final = 4096
"""The most cached decisions; a full cache is emptied."""
_LONGEST: Final = 1024
"""The most characters of a cached question, because clients choose its length."""

_BUILT_IN: Final = "allowed by the rules of a program in this process"


class Grant(NamedTuple):
    """A role that a binding gives to a subject. place: the subject's index in the binding."""

    binding: str
    kind: str
    role: str
    source: str  # the reason shown in access reviews
    place: int


_Index = dict[str, dict[str, dict[str, Grant]]]
"""Grants by namespace ("" = everywhere), subject (`u:name`, `g:group`) and binding."""


class RBACAuthorizer:
    """The authorizer of one server: call it with Attributes.

    defaults: apply the bootstrap roles and bindings although the store lacks them. A server that
    stores them (as `Server.run` does) turns it off, so that users can change them. built_in: the
    rights of a program in this process, None if there is none.
    """

    __slots__ = ("_decided", "_index", "_store", "built_in", "defaults")

    def __init__(self, store: Store) -> None:
        self._store = store
        self._index: _Index | None = None
        self._decided: dict[tuple[object, ...], tuple[bool, str]] = {}
        self.defaults = True
        self.built_in: BuiltInRights | None = None

    def __call__(self, wanted: Attributes) -> str:
        """Return the reason why the user is allowed ("" for superusers). Raises Forbidden."""
        user = wanted.user
        if SUPERUSERS in user.groups:
            return ""
        own = self.built_in
        if own is not None and user.name == own.user.name and own.allow(wanted):
            return _BUILT_IN
        key = (
            *(user.name, user.groups, wanted.verb, wanted.namespace, wanted.resource),
            *(wanted.group, wanted.name, wanted.subresource, wanted.path),
        )
        results = self._decided.get(key)
        if results is None:
            if len(self._decided) >= _REMEMBERED:
                self._decided.clear()
            results = self._decide(wanted)
            if _length(key) <= _LONGEST:
                self._decided[key] = results
        allowed, why = results
        if not allowed:
            raise wanted.forbidden_error(why)
        return why

    def _decide(self, wanted: Attributes) -> tuple[bool, str]:
        problems: list[str] = []
        request: set[tuple[str, str, str]] = set()
        for namespace, grant in self._grants(wanted.user, wanted.namespace):
            role = (grant.kind, grant.role, namespace)
            if role in request:
                continue
            request.add(role)
            rules = self.rules_of_role(*role)
            if rules is None:
                problems.append(_missing_role_message(grant))
            elif any(allows(rule, wanted) for rule in rules):
                return True, f"RBAC: allowed by {grant.source}"
        messages = _join_messages(problems)
        return False, f"RBAC: {messages}" if messages else ""

    def rules_of_user(
        self, user: User, namespace: str, named: str = ""
    ) -> tuple[list[Document], str]:
        """Return a user's rules in a namespace ("": everywhere), and messages about missing roles.

        named: the word for a missing role in messages; "": its kind.
        """
        result: list[Document] = []
        problems: list[str] = []
        if self.built_in is not None and user.name == self.built_in.user.name:
            result += self.built_in.rules()
        for where, grant in self._grants(user, namespace):
            rules = self.rules_of_role(grant.kind, grant.role, where)
            if rules is None:
                problems.append(_missing_role_message(grant, named))
            else:
                result += rules
        return result, _join_messages(problems)

    def rules_of_role(self, kind: str, name: str, namespace: str) -> list[Document] | None:
        """Return the rules of a role, None if it does not exist."""
        if kind == "ClusterRole":
            table, namespace = self._store.peek(CLUSTER_ROLES), ""
        else:
            table = self._store.peek(ROLES)
        role = None if table is None else table.get(namespace, name)
        if role is None and self.defaults and kind == "ClusterRole":
            role = DEFAULT_ROLES.get(name)
        return None if role is None else list(role.get("rules") or ())

    def reset(self) -> None:
        """Drop the index, so that the next request builds it again."""
        if self._index is not None:
            self._store.listeners.remove(self._on_write)
            self._index = None
        self._decided.clear()

    # the index

    def _grants(self, user: User, namespace: str) -> Iterator[tuple[str, Grant]]:
        index = self._build_index()
        subjects = (f"u:{user.name}", *(f"g:{group}" for group in user.groups))
        for where in ("", namespace) if namespace else ("",):
            scope = index.get(where)
            if not scope:
                continue
            # A binding counts once, by the first of its subjects that matches the user.
            bindings: dict[str, Grant] = {}
            for subject in subjects:
                for name, grant in scope.get(subject, {}).items():
                    former = bindings.get(name)
                    if former is None or grant.place < former.place:
                        bindings[name] = grant
            for grant in bindings.values():
                yield where, grant

    def _build_index(self) -> _Index:
        if self._index is not None:
            return self._index
        self._index = {}
        if self.defaults:
            for document in DEFAULT_BINDINGS.values():
                self._add("", document)
        for name in (CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS):
            table = self._store.peek(name)
            for (namespace, _), document in ({} if table is None else table.content("")).items():
                self._replace(namespace, document, document)
        self._store.listeners.append(self._on_write)
        return self._index

    def _on_write(self, event: WriteEvent) -> None:
        if event.table not in _TABLES:
            return
        self._decided.clear()
        if event.table in (CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS):
            now = None if event.change == "DELETED" else event.document
            self._replace(event.namespace, event.previous or event.document, now)

    def _replace(self, namespace: str, old: Document, new: Document | None) -> None:
        assert self._index is not None
        name = old["metadata"]["name"]
        scope = self._index.get(namespace, {})
        for document in (old, DEFAULT_BINDINGS.get(name) if not namespace else None):
            for subject, _, _ in _subjects(document or {}, namespace):
                if scope.get(subject, {}).pop(name, None) and not scope[subject]:
                    del scope[subject]
        if new is not None:
            self._add(namespace, new)
        elif self.defaults and not namespace and name in DEFAULT_BINDINGS:
            self._add("", DEFAULT_BINDINGS[name])

    def _add(self, namespace: str, document: Document) -> None:
        assert self._index is not None
        name, role = document["metadata"]["name"], document["roleRef"]
        kind = (
            f"RoleBinding {go_quoted(f'{name}/{namespace}')}"
            if namespace
            else f"ClusterRoleBinding {go_quoted(name)}"
        )
        scope = self._index.setdefault(namespace, {})
        for subject, called, place in _subjects(document, namespace):
            source = f"{kind} of {role['kind']} {go_quoted(role['name'])} to {called}"
            grant = Grant(name, role["kind"], role["name"], source, place)
            scope.setdefault(subject, {}).setdefault(name, grant)


def _subjects(document: Mapping[str, object], namespace: str) -> Iterator[tuple[str, str, int]]:
    """Yield the subjects of a binding: index key, text for reviews, position in the list."""
    subjects: list[Document] = document.get("subjects") or []  # type: ignore[assignment]
    for place, subject in enumerate(subjects):
        kind, name = subject["kind"], subject["name"]
        if kind == "ServiceAccount":
            space = subject.get("namespace") or namespace
            if space:
                called = f"{kind} {go_quoted(f'{name}/{space}')}"
                yield f"u:system:serviceaccount:{space}:{name}", called, place
        else:
            yield f"{kind[0].lower()}:{name}", f"{kind} {go_quoted(name)}", place


def _length(key: tuple[object, ...]) -> int:
    """Return the number of characters in a question."""
    return sum(len(part) if isinstance(part, str) else len(str(part)) for part in key)


def _missing_role_message(grant: Grant, named: str = "") -> str:
    return f"{named or grant.kind.lower()}.{GROUP} {go_quoted(grant.role)} not found"


def _join_messages(problems: list[str]) -> str:
    """Join distinct messages the way Go prints several errors."""
    once = list(dict.fromkeys(problems))
    return once[0] if len(once) == 1 else f"[{', '.join(once)}]" if once else ""
