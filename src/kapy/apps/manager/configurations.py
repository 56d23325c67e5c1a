"""The webhook configurations of our kinds: one table, equal to upstream's.

Kinds without a webhook in upstream have none here either: a required webhook that does not answer
makes an API server refuse requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kapy.api.kinds import KINDS
from kapy.apps.components.objects import object_of
from kapy.apps.components.serving import client_config
from kapy.apps.manager.webhooks import path_of
from kapy.apps.program.ca_injection import MUTATING, VALIDATING
from kapy.kube import Document
from kapy.kube.names import Resource
from kapy.sdk.admission_configurations import WRITES, webhook_name, webhook_of

_ALL_OPERATIONS: Final = (*WRITES, "DELETE")
_PATHS: Final = {
    "default": "mutate",
    "validation": "validate",
    "validation-scale": "validate-scale",
}


class _WebhookOperations(NamedTuple):
    """The webhooks of a kind. validated: the validated operations. defaulted: has a defaulting
    webhook. scaled: its scale is validated."""

    validated: Sequence[str] = WRITES
    defaulted: bool = False
    scaled: bool = False


_KINDS: Final = {
    "Cluster": _WebhookOperations(_ALL_OPERATIONS, defaulted=True),
    "ClusterClass": _WebhookOperations(_ALL_OPERATIONS),
    "ClusterResourceSet": _WebhookOperations(defaulted=True),
    "ClusterResourceSetBinding": _WebhookOperations(),
    "ExtensionConfig": _WebhookOperations(defaulted=True),
    "IPAddress": _WebhookOperations(_ALL_OPERATIONS),
    "IPAddressClaim": _WebhookOperations(_ALL_OPERATIONS),
    "Machine": _WebhookOperations(defaulted=True),
    "MachineDeployment": _WebhookOperations(defaulted=True),
    "MachineDrainRule": _WebhookOperations(),
    "MachineHealthCheck": _WebhookOperations(defaulted=True),
    "MachinePool": _WebhookOperations(defaulted=True),
    "MachineSet": _WebhookOperations(defaulted=True),
    "KubeadmConfig": _WebhookOperations(),
    "KubeadmConfigTemplate": _WebhookOperations(defaulted=True),
    "KubeadmControlPlane": _WebhookOperations(defaulted=True, scaled=True),
    "KubeadmControlPlaneTemplate": _WebhookOperations(),
    "DevCluster": _WebhookOperations(defaulted=True),
    "DevClusterTemplate": _WebhookOperations(defaulted=True),
    "DevMachine": _WebhookOperations(defaulted=True),
    "DevMachineTemplate": _WebhookOperations(defaulted=True),
    "DockerCluster": _WebhookOperations(defaulted=True),
    "DockerClusterTemplate": _WebhookOperations(defaulted=True),
    "DockerMachine": _WebhookOperations(),
    "DockerMachineTemplate": _WebhookOperations(),
}
_WEBHOOK_NAMES: Final = {
    "default.extensionconfig.runtime.cluster.x-k8s.io": (
        "default.extensionconfig.runtime.addons.cluster.x-k8s.io"
    ),
}
"""Names of upstream's that are not made as the others are; clients' errors tell them."""


def configurations(prefix: str, namespace: str, groups: frozenset[str]) -> list[Document]:
    """Return the configurations of a provider's webhooks. groups: API groups of its kinds."""
    resources = [kind.type_of().RESOURCE for kind in KINDS if kind.group in groups]
    request = [
        (resource, _KINDS[resource.kind]) for resource in resources if resource.kind in _KINDS
    ]
    client = client_config(prefix, namespace)
    roles = (
        (
            MUTATING,
            [_webhook("default", resource, client) for resource, how in request if how.defaulted],
        ),
        (
            VALIDATING,
            [item for resource, how in request for item in _validating(resource, how, client)],
        ),
    )
    return [
        object_of(
            resource.api_version,
            resource.kind,
            configuration_of(prefix, resource),
            webhooks=sorted(webhooks, key=lambda webhook: str(webhook["name"])),
        )
        for resource, webhooks in roles
    ]


def configuration_of(prefix: str, resource: Resource) -> str:
    """Return the name of a provider's webhook configuration for a kind."""
    role = resource.kind.removesuffix("WebhookConfiguration").lower()
    return f"{prefix}-{role}-webhook-configuration"


def _validating(
    resource: Resource, operations: _WebhookOperations, client: Document
) -> Iterator[Document]:
    yield _webhook("validation", resource, client, operations.validated)
    if operations.scaled:
        yield _webhook("validation-scale", resource, client, ("UPDATE",), part="/scale")


def _webhook(
    path_prefix: str,
    resource: Resource,
    client: Document,
    operations: Sequence[str] = WRITES,
    part: str = "",
) -> Document:
    name, path = webhook_name(path_prefix, resource), path_of(_PATHS[path_prefix], resource)
    name = _WEBHOOK_NAMES.get(name, name)
    return webhook_of(name, resource, client, path=path, operations=operations, part=part)
