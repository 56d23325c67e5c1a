"""RBAC rules, roles and bindings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from kapy.apps.components.objects import object_of
from kapy.kube import Document
from kapy.sdk.provider import Right

RBAC: Final = "rbac.authorization.k8s.io"
READ: Final = ("get", "list", "watch")
FULL: Final = ("create", "delete", "get", "list", "patch", "update", "watch")


def rules_of(rights: Iterable[Right]) -> list[Document]:
    """Return compact RBAC rules for rights: one rule for all resources of a group with the same
    verbs and names.
    """
    verbs: dict[tuple[str, str, tuple[str, ...]], set[str]] = defaultdict(set)
    for right in rights:
        for resource in right.resources:
            verbs[right.group, resource, tuple(sorted(right.names))].update(right.verbs)
    together: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, resource, names), granted in verbs.items():
        together[group, tuple(sorted(granted)), names].append(resource)
    return [
        {
            "apiGroups": [group],
            "resources": sorted(resources),
            "verbs": list(granted),
            **({"resourceNames": list(names)} if names else {}),
        }
        for (group, granted, names), resources in sorted(together.items())
    ]


def binding(role: Document, binding: str, account: str, namespace: str) -> Document:
    """Return the binding of a role to a service account, with the same scope as the role."""
    kind, meta = role["kind"], role["metadata"]
    return object_of(
        f"{RBAC}/v1",
        f"{kind}Binding",
        binding,
        meta.get("namespace", ""),
        roleRef={"apiGroup": RBAC, "kind": kind, "name": meta["name"]},
        subjects=[{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    )


def role(name: str, rules: Sequence[Document], namespace: str = "") -> Document:
    """Return a ClusterRole, or a Role if a namespace is given."""
    kind = "Role" if namespace else "ClusterRole"
    return object_of(f"{RBAC}/v1", kind, name, namespace, rules=list(rules))
