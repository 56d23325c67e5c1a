"""Installing components: written, recorded in the inventory, waited for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.applying import Applying
from kapy.clusterctl.certificates.choice import Issuer
from kapy.clusterctl.certificates.own import with_own_authority
from kapy.clusterctl.components import Components
from kapy.clusterctl.components.images import has_manager
from kapy.clusterctl.inventory import Inventory
from kapy.clusterctl.progress import Say
from kapy.clusterctl.provider import ProviderType
from kapy.clusterctl.side_by_side import side_by_side
from kapy.clusterctl.waiting import NotInTime, holds, until
from kapy.kube import Document, Key
from kapy.kube.names import DEPLOYMENTS

WAIT: Final = 300.0
"""Seconds for each provider's Deployment to be available, where one waits."""


async def install(
    client: Client, queued: Iterable[Components], issuer: Issuer, *, now: datetime, say: Say
) -> None:
    """Install providers one after the other; each is in the inventory when it is whole.

    The core provider only when all are: without it the next `init` knows that it is the first, and
    adds the usual providers again. Raises NotApplied, CertificateError, NotInTime.
    """
    inventory, applying = Inventory(client, reached=True), Applying(client)
    unrecorded = []
    for one in queued:
        say(
            "Installing",
            provider=one.provider.label,
            version=one.version,
            targetNamespace=one.target_namespace,
        )
        objects = one.objects
        if issuer == "kapy":
            objects = tuple(await with_own_authority(client, objects, now=now))
        await applying.apply(objects)
        if one.provider.type is ProviderType.CORE:
            unrecorded.append(one)
        else:
            await inventory.record(one.inventory_object)
    for one in unrecorded:
        await inventory.record(one.inventory_object)


async def until_available(
    client: Client, queued: Iterable[Components], *, within: float, say: Say
) -> None:
    """Wait for the Deployments that run the providers. Raises NotInTime."""
    managers = [Key.of(one) for each in queued for one in each.objects if has_manager(one)]
    if managers:
        say("Waiting for providers to be available...")
    await side_by_side(partial(_available, client, key, within) for key in managers)


async def _available(client: Client, key: Key, within: float) -> None:
    try:
        await until(client, DEPLOYMENTS, key, _is_available, within=within)
    except TimeoutError:
        raise NotInTime(
            f'deployment "{key.name}" is not ready after {within:.0f} s; '
            f"`kubectl describe deployment -n {key.namespace} {key.name}` says why"
        ) from None


def _is_available(deployment: Document | None) -> bool:
    return deployment is not None and holds(deployment, "Available")
