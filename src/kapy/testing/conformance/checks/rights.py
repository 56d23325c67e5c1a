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
    f"{one}.cluster.x-k8s.io" for one in ("addons", "bootstrap", "controlplane", "infrastructure")
)
"""API groups that core may read and write anyway (its ClusterRole capi-manager-role)."""
_VERBS: Final = ("create", "delete", "get", "list", "patch", "update", "watch")
_OF_TEMPLATES: Final = ("get", "list", "patch", "update", "watch")
_CORE_ACCOUNT: Final = "capi-manager"


def rights(role: Role) -> Check[tuple[Definition, Release]]:
    """Check that the components let core read and write kinds of the provider's own groups."""
    return Check(
        lambda release: [
            (one, release) for one in all_of(role)(release) if one.group not in _GRANTED
        ],
        _rights,
        f"all kinds are of API groups that core has rights in: {', '.join(sorted(_GRANTED))}",
    )


def _rights(judged: tuple[Definition, Release]) -> Iterator[Finding]:
    one, release = judged
    plural = str(one.object.at("spec.names.plural") or one.object.name.partition(".")[0])
    granted = verbs_of(_roles_of_core(release), one.group, plural)
    # The contract's example for control planes grants core less for their templates.
    wanted = _OF_TEMPLATES if one.is_template else _VERBS
    missing = [verb for verb in wanted if not granted & {verb, "*"}]
    if missing:
        yield fault(
            one.object,
            "spec.group",
            f"no ClusterRole for core lets it {', '.join(missing)} {plural}.{one.group}",
            f'add a ClusterRole with the label {AGGREGATED}: "true" and these rights',
        )


def _roles_of_core(release: Release) -> list[Object]:
    bound = {
        str(one.at("roleRef.name"))
        for one in release.installed
        if one.kind == "ClusterRoleBinding"
        and any(each.get("name") == _CORE_ACCOUNT for each in one.items("subjects"))
    }
    return [
        one
        for one in release.installed
        if one.kind == "ClusterRole" and (one.labels.get(AGGREGATED) == "true" or one.name in bound)
    ]


def verbs_of(roles: list[Object], group: str, plural: str) -> set[str]:
    """Return the verbs that roles grant for a resource, as the roles write them."""
    rules = [rule for one in roles for rule in one.items("rules")]
    return {
        verb
        for rule in rules
        if _names(rule, "apiGroups", group) and _names(rule, "resources", plural)
        for verb in _words(rule, "verbs")
    }


def _names(rule: dict[str, Any], field: str, word: str) -> bool:
    return bool({word, "*"}.intersection(_words(rule, field)))


def _words(rule: dict[str, Any], field: str) -> list[str]:
    found = rule.get(field)
    return [str(one) for one in found] if isinstance(found, list) else []
