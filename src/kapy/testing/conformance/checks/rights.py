"""Checks of rights: core's on the provider's kinds, and managers' on IP address claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kapy.clusterctl.components.checks import AGGREGATED
from kapy.kube.nested import value_at
from kapy.testing.conformance.checks.check import Check, fault
from kapy.testing.conformance.checks.definitions import all_of, mains_of
from kapy.testing.conformance.definitions import ROLES, Definition, Role
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
    granted = _verbs_of(_roles_of_core(release), definition.group, plural)
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


def _verbs_of(roles: list[Object], group: str, plural: str) -> set[str]:
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


_GROUP: Final = "ipam.cluster.x-k8s.io"
_CLAIMS, _ADDRESSES = "ipaddressclaims", "ipaddresses"
_READING: Final = ("get", "list", "watch")
_OF_IPAM: Final[Mapping[str, tuple[str, ...]]] = {
    _CLAIMS: (*_READING, "update patch"),
    f"{_CLAIMS}/status": ("update patch",),
    _ADDRESSES: (*_READING, "create", "update patch", "delete"),
}
"""The required verbs by resource. Any verb of an entry with several meets it."""
_OF_TAKERS: Final[Mapping[str, tuple[str, ...]]] = {
    _CLAIMS: (*_READING, "create"),
    _ADDRESSES: ("get",),
}
_MACHINE, _IPAM = ROLES[1], ROLES[-1]
_NO_RIGHTS: Final = "no binding of the release grants its manager anything, or it has no Deployment"


def _managers(release: Release) -> list[Object]:
    """Return the Deployments whose ServiceAccount has rights."""
    deployments = [item for item in release.installed if item.kind == "Deployment"]
    return [deployment for deployment in deployments if _roles_of(release, deployment)]


def _roles_of(release: Release, deployment: Object) -> list[Object]:
    """Return the ClusterRoles that a Deployment's ServiceAccount has in all namespaces."""
    account = deployment.at("spec.template.spec.serviceAccountName") or "default"
    names = {
        str(item.at("roleRef.name"))
        for item in release.installed
        if item.kind == "ClusterRoleBinding"
        and any(_is(element, account, deployment.namespace) for element in item.items("subjects"))
    }
    bound = [
        item for item in release.installed if item.kind == "ClusterRole" and item.name in names
    ]
    more = [element for item in bound for element in _aggregated_roles(release, item)]
    return [*bound, *more]


def _is(provider: dict[str, Any], account: Any, namespace: str) -> bool:
    return (
        provider.get("kind") == "ServiceAccount"
        and provider.get("name") == account
        and (not namespace or provider.get("namespace", namespace) == namespace)
    )


def _aggregated_roles(release: Release, role: Object) -> Iterator[Object]:
    for selector in role.items("aggregationRule.clusterRoleSelectors"):
        wanted = selector.get("matchLabels")
        if isinstance(wanted, dict):
            for item in release.installed:
                if item.kind == "ClusterRole" and wanted.items() <= item.labels.items():
                    yield item


def _of_ipam(release: Release) -> list[tuple[Object, Release]]:
    if not mains_of(_IPAM)(release):
        return []
    return [(manager, release) for manager in _managers(release)]


def _ipam_rights(judged: tuple[Object, Release]) -> Iterator[Finding]:
    yield from _missing(*judged, _OF_IPAM)


CLAIM_RIGHTS: Final = Check(_of_ipam, _ipam_rights, _NO_RIGHTS)


def _missing(
    deployment: Object, release: Release, wanted: Mapping[str, tuple[str, ...]]
) -> Iterator[Finding]:
    roles = _roles_of(release, deployment)
    for resource, verbs in wanted.items():
        granted = _verbs_of(roles, _GROUP, resource)
        missing = [verb for verb in verbs if not granted.intersection((*verb.split(), "*"))]
        if missing:
            text = ", ".join(item.replace(" ", " or ") for item in missing)
            yield fault(
                deployment,
                "spec.template.spec.serviceAccountName",
                f"no ClusterRole of its ServiceAccount lets it {text} {resource}.{_GROUP}",
                f"add these verbs for {resource} in {_GROUP} to a ClusterRole of the manager",
            )


def _takers(release: Release) -> list[tuple[Object, Release]]:
    machines = mains_of(_MACHINE)(release)
    if not any(map(_takes, machines)):
        return []
    return [(manager, release) for manager in _managers(release)]


def _takes(definition: Definition) -> bool:
    """Return whether a spec has a field that refers to a pool, by group, kind and name."""
    reading = definition.reading
    return reading is not None and _refers(value_at(reading.schema, ("properties", "spec")), "")


def _refers(node: Any, name: str) -> bool:
    if not isinstance(node, dict):
        return False
    properties = node.get("properties")
    if not isinstance(properties, dict):
        return _refers(node.get("items"), name)
    if "pool" in name.lower() and {"apiGroup", "kind", "name"} <= properties.keys():
        return True
    return any(_refers(below, str(key)) for key, below in properties.items())


def _taker_rights(judged: tuple[Object, Release]) -> Iterator[Finding]:
    deployment, release = judged
    managers = _managers(release)
    # One of several managers needs the rights for claims.
    if any(not list(_missing(manager, release, _OF_TAKERS)) for manager in managers):
        return
    if deployment is managers[0]:
        yield from _missing(deployment, release, _OF_TAKERS)


TAKER_RIGHTS: Final = Check(
    _takers, _taker_rights, "no machine has a field for a pool of addresses"
)
