"""Moves all objects of a provider or cluster, and the references between them, to one namespace.

Upstream: `fixTargetNamespace` in `cmd/clusterctl/client/repository/components.go`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kapy.clusterctl.errors import ComponentsError
from kapy.kube import Document

INJECT_CA_FROM: Final = "cert-manager.io/inject-ca-from"

NOT_NAMESPACED: Final = frozenset(
    {
        "CSIDriver",
        "CSINode",
        "CertificateSigningRequest",
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "MutatingWebhookConfiguration",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PodSecurityPolicy",
        "PriorityClass",
        "RuntimeClass",
        "StorageClass",
        "ValidatingWebhookConfiguration",
        "VolumeAttachment",
    }
)
"""The kinds without a namespace in upstream's output; all other kinds get one."""


def move_to(document: Document, namespace: str) -> None:
    """Change an object so that the object and its references are in the namespace.

    Raises ComponentsError if an object does not have the shape of its kind.
    """
    kind, metadata = document.get("kind", ""), document.setdefault("metadata", {})
    before = metadata.get("namespace", "")
    if kind == "Namespace":
        metadata["name"] = namespace
    elif kind not in NOT_NAMESPACED:
        metadata["namespace"] = namespace
    if change := _REFERENCE_UPDATERS.get(kind):
        from kapy.clusterctl.components.typed import normalize  # templates have none of these kinds

        normalize(document)
        try:
            change(document, before, namespace)
        except (AttributeError, TypeError, KeyError):
            raise ComponentsError(
                f"{qualified_name(document)} is not what a {kind} has to be; its namespace cannot "
                "be set"
            ) from None


def qualified_name(document: Document) -> str:
    """Return the name of an object in errors: `Certificate a/b`."""
    metadata = document.get("metadata") or {}
    parts = (metadata.get("namespace"), metadata.get("name"))
    return f"{document.get('kind', '')} {'/'.join(part for part in parts if part)}"


def _subjects(document: Document, _: str, namespace: str) -> None:
    for subject in document.get("subjects") or ():
        if subject.get("namespace"):
            subject["namespace"] = namespace


def _webhooks(document: Document, _: str, namespace: str) -> None:
    _injection(document, namespace)
    for webhook in document.get("webhooks") or ():
        _service(webhook.get("clientConfig"), namespace)


def _definition(document: Document, _: str, namespace: str) -> None:
    _injection(document, namespace)
    conversion = document["spec"].get("conversion") or {}
    _service((conversion.get("webhook") or {}).get("clientConfig"), namespace)
    _service(conversion.get("webhookClientConfig"), namespace)


def _service(client_config: Mapping[str, Any] | None, namespace: str) -> None:
    service = (client_config or {}).get("service")
    if service is not None:
        service["namespace"] = namespace


def _injection(document: Document, namespace: str) -> None:
    """cert-manager's annotation that names the Certificate whose CA is injected."""
    annotations = document["metadata"].get("annotations") or {}
    if INJECT_CA_FROM not in annotations:
        return
    parts = annotations[INJECT_CA_FROM].split("/")
    if len(parts) != 2:
        raise ComponentsError(
            f"object {qualified_name(document)} does not have a correct value for "
            f"{INJECT_CA_FROM}: it is "
            f'"{annotations[INJECT_CA_FROM]}", and must be <namespace>/<name of a Certificate>'
        )
    annotations[INJECT_CA_FROM] = f"{namespace}/{parts[1]}"


def _certificate(document: Document, before: str, namespace: str) -> None:
    """The DNS names of a service in its namespace: `webhook.<namespace>.svc`."""
    spec = document.get("spec") or {}
    if "dnsNames" in spec:
        spec["dnsNames"] = list(_rename(document, spec["dnsNames"], before, namespace))


def _rename(document: Document, names: Any, before: str, namespace: str) -> Iterator[str]:
    if not isinstance(names, list) or not all(isinstance(item, str) for item in names):
        raise ComponentsError(f"{qualified_name(document)}: spec.dnsNames must be a list of names")
    for name in names:
        yield name.replace(f".{before}.", f".{namespace}.", 1)


_Change = Callable[[Document, str, str], None]
_REFERENCE_UPDATERS: Final[Mapping[str, _Change]] = {
    "ClusterRoleBinding": _subjects,
    "RoleBinding": _subjects,
    "MutatingWebhookConfiguration": _webhooks,
    "ValidatingWebhookConfiguration": _webhooks,
    "CustomResourceDefinition": _definition,
    "Certificate": _certificate,
}
"""Kinds that refer to a namespace outside their metadata."""
