"""Creation of the default roles, and ClusterRole aggregation.

A ClusterRole with an aggregationRule has the rules of all ClusterRoles that its selectors match,
selector by selector, ordered by name (kube-controller-manager's ClusterRole aggregation). The
result is stored in the same transaction as the change that causes it.
"""

from __future__ import annotations

from kapy.apiserver.auth.rbac.defaults import AUTOUPDATE, BINDINGS, ROLES
from kapy.apiserver.auth.rbac.grants import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, GROUP
from kapy.apiserver.auth.rbac.rules import uncovered_rules
from kapy.apiserver.request.body import deep_copy
from kapy.apiserver.resources.metadata import init_metadata
from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.apiserver.verbs.context import ServerContext
from kapy.kube import Document
from kapy.kube.selectors import selector_of


def ensure_default_roles(server: ServerContext) -> None:
    """Create missing default roles and bindings, and add missing rules to existing ones."""
    for table_name, plural, documents in (
        (CLUSTER_ROLES, "clusterroles", ROLES),
        (CLUSTER_ROLE_BINDINGS, "clusterrolebindings", BINDINGS),
    ):
        table = server.store.table(table_name)
        kind = server.registry.find(GROUP, "v1", plural)
        assert kind is not None
        for name, wanted in documents.items():
            result = table.latest("", name)
            if result is None:
                document = deep_copy(wanted)
                init_metadata(document, kind, "", server.clock(), server.rng)
                server.store.put(table, "", name, document)
            elif "rules" in wanted:
                _add_missing(server, result, wanted)


def _add_missing(server: ServerContext, value: Document, wanted: Document) -> None:
    annotations = value["metadata"].get("annotations") or {}
    if annotations.get(AUTOUPDATE) != "true" or wanted.get("aggregationRule"):
        return
    own = value.get("rules") or []
    lacking = uncovered_rules(own, wanted["rules"])
    if lacking:
        _put(server, value, [*own, *lacking])


def _put(server: ServerContext, role: Document, rules: list[Document]) -> None:
    table = server.store.table(CLUSTER_ROLES)
    new = {**role, "metadata": {**role["metadata"]}, "rules": rules}
    server.store.put(table, "", role["metadata"]["name"], new)


class ClusterRoleAggregation:
    """Aggregate the ClusterRoles of a server for its lifetime."""

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        server.store.listeners.append(self._on_write)
        self._aggregate_all()

    def _on_write(self, event: WriteEvent) -> None:
        if event.table == CLUSTER_ROLES:
            self._aggregate_all()

    def _aggregate_all(self) -> None:
        """Store every aggregated role that is outdated; roles that aggregate it follow by its
        event.
        """
        table = self._server.store.table(CLUSTER_ROLES)
        for role in list(table.scan("")):
            name = role["metadata"]["name"]
            role = table.latest("", name) or role
            rule = role.get("aggregationRule")
            if not rule or role["metadata"].get("deletionTimestamp"):
                continue
            rules = self._aggregate(name, rule)
            before = role.get("rules") or []
            # Ignore the order: roles that aggregate each other would change it for ever.
            if len(rules) != len(before) or any(item not in before for item in rules):
                _put(self._server, role, rules)

    def _aggregate(self, name: str, rule: Document) -> list[Document]:
        table = self._server.store.table(CLUSTER_ROLES)
        others = [key for key in sorted({**table.content(""), **table.staged}) if key[1] != name]
        roles = [value for key in others if (value := table.latest(*key)) is not None]
        rules: list[Document] = []
        for value in rule.get("clusterRoleSelectors") or ():
            selector = selector_of(value)
            for role in roles:
                if selector.selects(role):
                    rules += [item for item in role.get("rules") or () if item not in rules]
        return rules
