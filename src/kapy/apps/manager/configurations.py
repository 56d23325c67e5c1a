"""The webhook configurations of our kinds: one table, equal to upstream's.

Kinds without a webhook in upstream have none here either: a required webhook that does not answer
makes an API server refuse requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kapy.api.kinds import KINDS
from kapy.apps.components.objects import object_of
from kapy.apps.components.serving import client_of
from kapy.apps.manager.webhooks import path_of
from kapy.apps.program.injection import MUTATING, VALIDATING
from kapy.kube import Document
from kapy.kube.names import Resource
from kapy.sdk.admission_configurations import WRITES, webhook_name, webhook_of

_ALL: Final = (*WRITES, "DELETE")
_PATHS: Final = {
    "default": "mutate",
    "validation": "validate",
    "validation-scale": "validate-scale",
}


class _Asked(NamedTuple):
    """validated: the validated operations. defaulted: has a defaulting webhook. scaled: its scale
    is validated."""

    validated: Sequence[str] = WRITES
    defaulted: bool = False
    scaled: bool = False


_KINDS: Final = {
    "Cluster": _Asked(_ALL, defaulted=True),
    "ClusterClass": _Asked(_ALL),
    "ClusterResourceSet": _Asked(defaulted=True),
    "ClusterResourceSetBinding": _Asked(),
    "ExtensionConfig": _Asked(defaulted=True),
    "IPAddress": _Asked(_ALL),
    "IPAddressClaim": _Asked(_ALL),
    "Machine": _Asked(defaulted=True),
    "MachineDeployment": _Asked(defaulted=True),
    "MachineDrainRule": _Asked(),
    "MachineHealthCheck": _Asked(defaulted=True),
    "MachinePool": _Asked(defaulted=True),
    "MachineSet": _Asked(defaulted=True),
    "KubeadmConfig": _Asked(),
    "KubeadmConfigTemplate": _Asked(defaulted=True),
    "KubeadmControlPlane": _Asked(defaulted=True, scaled=True),
    "KubeadmControlPlaneTemplate": _Asked(),
    "DevCluster": _Asked(defaulted=True),
    "DevClusterTemplate": _Asked(defaulted=True),
    "DevMachine": _Asked(defaulted=True),
    "DevMachineTemplate": _Asked(defaulted=True),
    "DockerCluster": _Asked(defaulted=True),
    "DockerClusterTemplate": _Asked(defaulted=True),
    "DockerMachine": _Asked(),
    "DockerMachineTemplate": _Asked(),
}
_CALLED: Final = {
    "default.extensionconfig.runtime.cluster.x-k8s.io": (
        "default.extensionconfig.runtime.addons.cluster.x-k8s.io"
    ),
}
"""Names of upstream's that are not made as the others are; clients' errors tell them."""


def configurations(prefix: str, namespace: str, groups: frozenset[str]) -> list[Document]:
    """The configurations of a provider's webhooks. groups: API groups of its kinds."""
    resources = [kind.type_of().RESOURCE for kind in KINDS if kind.group in groups]
    asked = [(one, _KINDS[one.kind]) for one in resources if one.kind in _KINDS]
    client = client_of(prefix, namespace)
    roles = (
        (MUTATING, [_webhook("default", one, client) for one, how in asked if how.defaulted]),
        (VALIDATING, [each for one, how in asked for each in _validating(one, how, client)]),
    )
    return [
        object_of(
            resource.api_version,
            resource.kind,
            configuration_of(prefix, resource),
            webhooks=sorted(webhooks, key=lambda one: str(one["name"])),
        )
        for resource, webhooks in roles
    ]


def configuration_of(prefix: str, resource: Resource) -> str:
    """The name of a provider's webhook configuration for a kind."""
    role = resource.kind.removesuffix("WebhookConfiguration").lower()
    return f"{prefix}-{role}-webhook-configuration"


def _validating(one: Resource, how: _Asked, client: Document) -> Iterator[Document]:
    yield _webhook("validation", one, client, how.validated)
    if how.scaled:
        yield _webhook("validation-scale", one, client, ("UPDATE",), part="/scale")


def _webhook(
    what: str,
    resource: Resource,
    client: Document,
    operations: Sequence[str] = WRITES,
    part: str = "",
) -> Document:
    name, path = webhook_name(what, resource), path_of(_PATHS[what], resource)
    name = _CALLED.get(name, name)
    return webhook_of(name, resource, client, path=path, operations=operations, part=part)
