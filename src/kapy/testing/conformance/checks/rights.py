"""Checks of the rights that core has on the provider's kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kapy.clusterctl.components.checks import AGGREGATED
from kapy.testing.conformance.checks.check import Check, fault
from kapy.testing.conformance.checks.definitions import all_of
from kapy.testing.conformance.definitions import Definition, Role
from kapy.testing.conformance.files import Object
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.release import Release

_GRANTED: Final = frozenset(
    f"{item}.cluster.x-k8s.io" for item in ("addons", "bootstrap", "controlplane", "infrastructure")
)
"""API groups that core may read and write anyway (its ClusterRole capi-manager-role)."""
_VERBS: Final = ("create", "delete", "get", "list", "patch", "update", "watch")
_OF_TEMPLATES: Final = ("get", "list", "patch", "update", "watch")
_CORE_ACCOUNT: Final = "capi-manager"


def rights(role: Role) -> Check[tuple[Definition, Release]]:
    """Check that the components let core read and write kinds of the provider's own groups."""
    return Check(
        lambda release: [
            (definition, release)
            for definition in all_of(role)(release)
            if definition.group not in _GRANTED
        ],
        _rights,
        f"all kinds are of API groups that core has rights in: {', '.join(sorted(_GRANTED))}",
    )


def _rights(judged: tuple[Definition, Release]) -> Iterator[Finding]:
    definition, release = judged
    plural = str(
        definition.object.at("spec.names.plural") or definition.object.name.partition(".")[0]
    )
    granted = verbs_of(_roles_of_core(release), definition.group, plural)
    # The contract's example for control planes grants core less for their templates.
    wanted = _OF_TEMPLATES if definition.is_template else _VERBS
    missing = [verb for verb in wanted if not granted & {verb, "*"}]
    if missing:
        yield fault(
            definition.object,
            "spec.group",
            f"no ClusterRole for core lets it {', '.join(missing)} {plural}.{definition.group}",
            f'add a ClusterRole with the label {AGGREGATED}: "true" and these rights',
        )


def _roles_of_core(release: Release) -> list[Object]:
    bound = {
        str(item.at("roleRef.name"))
        for item in release.installed
        if item.kind == "ClusterRoleBinding"
        and any(element.get("name") == _CORE_ACCOUNT for element in item.items("subjects"))
    }
    return [
        item
        for item in release.installed
        if item.kind == "ClusterRole"
        and (item.labels.get(AGGREGATED) == "true" or item.name in bound)
    ]


def verbs_of(roles: list[Object], group: str, plural: str) -> set[str]:
    """Return the verbs that roles grant for a resource, as the roles write them."""
    rules = [rule for role in roles for rule in role.items("rules")]
    return {
        verb
        for rule in rules
        if _names(rule, "apiGroups", group) and _names(rule, "resources", plural)
        for verb in _words(rule, "verbs")
    }


def _names(rule: dict[str, Any], field: str, word: str) -> bool:
    return bool({word, "*"}.intersection(_words(rule, field)))


def _words(rule: dict[str, Any], field: str) -> list[str]:
    result = rule.get(field)
    return [str(item) for item in result] if isinstance(result, list) else []
