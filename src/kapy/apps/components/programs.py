"""The objects and rights that any controller program needs, besides its controllers' rights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kapy.apps.components.objects import object_of
from kapy.apps.components.rules import READ, binding, role, rules_of
from kapy.apps.program.ca_injection import MUTATING, VALIDATING
from kapy.kube import Document
from kapy.kube.names import CRDS, LEASES, SECRETS, Resource
from kapy.sdk.provider import Right

HEALTH_PORT: Final = 9440
METRICS: Final = "metrics"
METRICS_PORT: Final = 8443
"""The default port of a program's diagnostics."""
_INJECTED_RESOURCES: Final = (MUTATING, VALIDATING, CRDS)
_REVIEW_RIGHTS: Final = (
    Right("authentication.k8s.io", ("tokenreviews",), ("create",)),
    Right("authorization.k8s.io", ("subjectaccessreviews",), ("create",)),
)
"""Rights to find out the user who asks for diagnostics, and whether the user may see them."""


def cluster_rules(rights: Iterable[Right], trusting: Sequence[Document]) -> list[Document]:
    """Return the rules of a program's ClusterRole.

    rights: the rights of its controllers. trusting: the CRDs and webhook configurations into which
    the program writes CA bundles; none if it has no webhooks.
    """
    watched = _INJECTED_RESOURCES if trusting else ()
    reads = (Right(resource.group, (resource.plural,), ("list", "watch")) for resource in watched)
    named = {
        resource: [item["metadata"]["name"] for item in trusting if item["kind"] == resource.kind]
        for resource in watched
    }
    return [
        *rules_of([*rights, *_REVIEW_RIGHTS, *reads]),
        *(_named_rule(resource, names, "patch") for resource, names in named.items() if names),
    ]


def leader_election_role(
    prefix: str, namespace: str, account: str, secret: str = ""
) -> list[Document]:
    """Return the Role of a program in its own namespace, and its RoleBinding, with upstream's
    names.

    The Role covers Leases (several, for shards) and the Secret of the webhooks' certificate.
    secret: the name of that Secret, "" for none.
    """
    rights = [Right(LEASES.group, (LEASES.plural,), (*READ, "create", "update"))]
    rules = rules_of(rights)
    if secret:
        rights.append(Right(SECRETS.group, (SECRETS.plural,), ("create",)))
        rules = [*rules_of(rights), _named_rule(SECRETS, [secret], *READ, "update")]
    granted = role(f"{prefix}-leader-election-role", rules, namespace)
    return [granted, binding(granted, f"{prefix}-leader-election-rolebinding", account, namespace)]


def disruption_budget(prefix: str, namespace: str, selector: Document) -> Document:
    """Return a PodDisruptionBudget that allows the eviction of one Pod of a program at a time."""
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": selector}}
    name = f"{prefix}-controller-manager"
    return object_of("policy/v1", "PodDisruptionBudget", name, namespace, spec=spec)


def _named_rule(resource: Resource, names: Sequence[str], *verbs: str) -> Document:
    return {
        "apiGroups": [resource.group],
        "resourceNames": sorted(names),
        "resources": [resource.plural],
        "verbs": sorted(verbs),
    }
