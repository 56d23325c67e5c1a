"""Build webhook configurations and CRD conversions for a provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kapy.kube import Document
from kapy.kube.names import Resource
from kapy.sdk.admission import KindWithRules, Rulebook

DEFAULT: Final = "default"
VALIDATION: Final = "validation"
DEFAULT_PATH: Final = "/default"
VALIDATION_PATH: Final = "/validate"
CONVERSION_PATH: Final = "/convert"
CLIENT_CONFIG: Final = "clientConfig"
WRITES: Final = ("CREATE", "UPDATE")


def webhook_name(what: str, resource: Resource) -> str:
    """Return a webhook's name in upstream's form: `validation.papermachine.infrastructure…`."""
    return f"{what}.{resource.kind.lower()}.{resource.group}"


def webhook_configurations(rules: Rulebook, name: str, client: Document) -> list[Document]:
    """Return the MutatingWebhookConfiguration and the ValidatingWebhookConfiguration of a provider.

    name: the name of both configurations. client: the `clientConfig` of the webhooks without a
    path: `{"service": {"name": …, "namespace": …}, "caBundle": …}`, or `{"url": "https://…"}`.
    Kinds without defaults have no mutating webhook.
    """
    kinds = list(rules.kinds.values())
    mutating = [
        _webhook(kind_with_rules, DEFAULT, DEFAULT_PATH, client)
        for kind_with_rules in kinds
        if kind_with_rules.has_defaults
    ]
    validating = [
        _webhook(kind_with_rules, VALIDATION, VALIDATION_PATH, client) for kind_with_rules in kinds
    ]
    roles: Mapping[str, list[Document]] = {"Mutating": mutating, "Validating": validating}
    return [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{role}WebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": webhooks,
        }
        for role, webhooks in roles.items()
        if webhooks
    ]


def crd_conversion(rules: Rulebook, resource: Resource, client: Document) -> Document | None:
    """Return `spec.conversion` for a kind's CRD; None if there is one version only."""
    ruled = rules.kinds.get(resource.group_kind)
    if ruled is None or not ruled.versions:
        return None
    webhook = {
        CLIENT_CONFIG: _at(client, CONVERSION_PATH),
        "conversionReviewVersions": ["v1"],
    }
    return {"strategy": "Webhook", "webhook": webhook}


def webhook_of(
    name: str,
    resource: Resource,
    client: Document,
    *,
    path: str,
    operations: Sequence[str] = WRITES,
    part: str = "",
) -> Document:
    """Return one webhook of a configuration. client: its `clientConfig` without a path. part: a
    subresource, such as `/scale`.
    """
    rule = {
        "apiGroups": [resource.group],
        "apiVersions": [resource.version],
        "operations": list(operations),
        "resources": [resource.plural + part],
    }
    return {
        "name": name,
        "admissionReviewVersions": ["v1"],
        CLIENT_CONFIG: _at(client, path),
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "rules": [rule],
        "sideEffects": "None",
    }


def _webhook(ruled: KindWithRules, what: str, path: str, client: Document) -> Document:
    resource = ruled.resource
    return webhook_of(webhook_name(what, resource), resource, client, path=path)


def _at(client: Document, path: str) -> Document:
    if "service" in client:
        return {**client, "service": {**client["service"], "path": path}}
    return {**client, "url": client["url"].rstrip("/") + path}
