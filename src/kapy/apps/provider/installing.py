"""Installs a provider's kinds and webhooks in the API server that it uses, and checks them."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from kapy.apps.provider.components import prefix_of
from kapy.apps.provider.definitions import crds_of
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, KapyError, NotFound
from kapy.kube.names import CRDS, Resource
from kapy.sdk.admission_configurations import webhook_configurations
from kapy.sdk.provider import Provider

_ADMISSION: Final = "admissionregistration.k8s.io"
_WEBHOOKS: Final = {
    f"{role}WebhookConfiguration": Resource(
        _ADMISSION,
        "v1",
        f"{role.lower()}webhookconfigurations",
        f"{role}WebhookConfiguration",
        namespaced=False,
    )
    for role in ("Mutating", "Validating")
}


class MissingKinds(KapyError):
    """The server does not serve the provider's kinds; the message tells how to install them."""


async def install_kinds(client: Client, provider: Provider) -> None:
    """Create or update the provider's CRDs."""
    for crd in crds_of(provider):
        await _create_or_update(client, CRDS, crd)


async def install_webhooks(client: Client, provider: Provider, url: str, authority: str) -> None:
    """Configure webhooks at a URL. authority: the CA that signed its certificate, PEM in base64."""
    at = {"url": url, "caBundle": authority}
    name = f"{prefix_of(provider)}-webhook-configuration"
    for configuration in webhook_configurations(provider.admission, name, at):
        await _create_or_update(client, _WEBHOOKS[configuration["kind"]], configuration)
    for crd in crds_of(provider, at):
        if "conversion" in crd["spec"]:
            await _create_or_update(client, CRDS, crd)


async def remove_webhooks(client: Client, provider: Provider) -> None:
    """Delete the webhook configurations, because the program that served them ends."""
    name = f"{prefix_of(provider)}-webhook-configuration"
    for resource in _WEBHOOKS.values():
        with suppress(NotFound):
            await client.delete(resource, Key("", name))


async def check_kinds(client: Client, provider: Provider, location: str) -> None:
    """Check that the server serves all kinds of the provider. Raises MissingKinds."""
    served: dict[str, set[str]] = {}
    for kind in provider.kinds:
        resource = kind.RESOURCE
        if resource.root not in served:
            served[resource.root] = await _served_kinds(client, resource.root)
        if resource.plural not in served[resource.root]:
            raise MissingKinds(
                f"{location} knows no {resource.plural} of {resource.api_version}: install them "
                f"with `kapy init --{provider.type} {provider.name}`, or start with --install"
            )


async def _served_kinds(client: Client, root: str) -> set[str]:
    try:
        result = await client.raw("GET", root)
    except NotFound:
        return set()
    return {resource["name"] for resource in result.get("resources") or ()}


async def _create_or_update(client: Client, resource: Resource, document: Document) -> None:
    try:
        await client.create(resource, document)
    except AlreadyExists:
        await client.patch(resource, Key.of(document), document)
