"""Creation of the default roles, and ClusterRole aggregation.

A ClusterRole with an aggregationRule has the rules of all ClusterRoles that its selectors match,
selector by selector, ordered by name (kube-controller-manager's ClusterRole aggregation). The
result is stored in the same transaction as the change that causes it.
"""

from __future__ import annotations

from kapy.apiserver.body import copied
from kapy.apiserver.metadata import born
from kapy.apiserver.plane import Plane
from kapy.apiserver.rbac.covering import missing
from kapy.apiserver.rbac.defaults import AUTOUPDATE, BINDINGS, ROLES
from kapy.apiserver.rbac.grants import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, GROUP
from kapy.apiserver.store.history import Happening
from kapy.kube import Document
from kapy.kube.selectors import selector_of


def ensure_defaults(plane: Plane) -> None:
    """Create missing default roles and bindings, and add missing rules to existing ones."""
    for table_name, plural, documents in (
        (CLUSTER_ROLES, "clusterroles", ROLES),
        (CLUSTER_ROLE_BINDINGS, "clusterrolebindings", BINDINGS),
    ):
        table = plane.store.table(table_name)
        kind = plane.registry.find(GROUP, "v1", plural)
        assert kind is not None
        for name, wanted in documents.items():
            found = table.latest("", name)
            if found is None:
                document = copied(wanted)
                born(document, kind, "", plane.clock(), plane.rng)
                plane.store.put(table, "", name, document)
            elif "rules" in wanted:
                _complete(plane, found, wanted)


def _complete(plane: Plane, found: Document, wanted: Document) -> None:
    annotations = found["metadata"].get("annotations") or {}
    if annotations.get(AUTOUPDATE) != "true" or wanted.get("aggregationRule"):
        return
    own = found.get("rules") or []
    lacking = missing(own, wanted["rules"])
    if lacking:
        _put(plane, found, [*own, *lacking])


def _put(plane: Plane, role: Document, rules: list[Document]) -> None:
    table = plane.store.table(CLUSTER_ROLES)
    new = {**role, "metadata": {**role["metadata"]}, "rules": rules}
    plane.store.put(table, "", role["metadata"]["name"], new)


class Aggregation:
    """Aggregate the ClusterRoles of a server for its lifetime."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        plane.store.listeners.append(self._noticed)
        self._sum_up()

    def _noticed(self, one: Happening) -> None:
        if one.table == CLUSTER_ROLES:
            self._sum_up()

    def _sum_up(self) -> None:
        """Store every aggregated role that is outdated; roles that aggregate it follow by its
        event.
        """
        table = self._plane.store.table(CLUSTER_ROLES)
        for role in list(table.scan("")):
            name = role["metadata"]["name"]
            role = table.latest("", name) or role
            rule = role.get("aggregationRule")
            if not rule or role["metadata"].get("deletionTimestamp"):
                continue
            rules = self._sum(name, rule)
            before = role.get("rules") or []
            # Ignore the order: roles that aggregate each other would change it for ever.
            if len(rules) != len(before) or any(one not in before for one in rules):
                _put(self._plane, role, rules)

    def _sum(self, name: str, rule: Document) -> list[Document]:
        table = self._plane.store.table(CLUSTER_ROLES)
        others = [key for key in sorted({**table.content(""), **table.staged}) if key[1] != name]
        roles = [one for key in others if (one := table.latest(*key)) is not None]
        rules: list[Document] = []
        for one in rule.get("clusterRoleSelectors") or ():
            selector = selector_of(one)
            for role in roles:
                if selector.selects(role):
                    rules += [each for each in role.get("rules") or () if each not in rules]
        return rules
