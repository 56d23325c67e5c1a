"""Installs components: writes them, records them in the inventory and waits for them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.applying import Applying, NotApplied
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.certificates.choice import Issuer
from kapy.clusterctl.certificates.own import with_own_authority
from kapy.clusterctl.components import Components
from kapy.clusterctl.components.images import has_manager
from kapy.clusterctl.errors import ClusterctlError
from kapy.clusterctl.install.running import reason_of
from kapy.clusterctl.inventory import Inventory
from kapy.clusterctl.progress import Say
from kapy.clusterctl.provider import ProviderType
from kapy.clusterctl.waiting import NotInTime, holds, until
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, Unreachable
from kapy.kube.names import DEPLOYMENTS

WAIT: Final = 300.0
"""Seconds to wait for each provider's Deployment to become available, if the command waits."""


async def install(
    client: Client, queued: Iterable[Components], issuer: Issuer, *, now: datetime, say: Say
) -> None:
    """Install providers one after the other; each is recorded in the inventory when it is complete.

    The core provider is recorded last: until then the next `init` counts as the first one and adds
    the usual providers again. If the server refuses anything, all created objects are removed.
    Raises NotApplied, CertificateError, NotInTime.
    """
    applying, recorded = Applying(client), list[Components]()
    try:
        await _install(client, applying, queued, issuer, recorded, now=now, say=say)
    except (ClusterctlError, ApiError) as error:
        say("Removing what was created")
        left = await _undone(client, applying, recorded)
        if not left:
            raise
        raise NotApplied(f"{error}; this remains: {', '.join(left)}") from error


async def _undone(client: Client, applying: Applying, recorded: Iterable[Components]) -> list[str]:
    inventory, left = Inventory(client, reached=True), []
    for one in recorded:
        try:
            await inventory.forget(one.inventory_object)
        except (ApiError, Unreachable) as error:
            left.append(f"{one.provider.label} in the inventory ({error})")
    return [*left, *await applying.undo()]


async def _install(
    client: Client,
    applying: Applying,
    queued: Iterable[Components],
    issuer: Issuer,
    recorded: list[Components],
    *,
    now: datetime,
    say: Say,
) -> None:
    """recorded: receives the providers that were recorded in the inventory."""
    inventory = Inventory(client, reached=True)
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
            recorded.append(one)
    for one in unrecorded:
        await inventory.record(one.inventory_object)
        recorded.append(one)


async def until_available(
    client: Client, queued: Iterable[Components], *, within: float, say: Say
) -> None:
    """Wait for the Deployments that run the providers. Raises NotInTime."""
    managers = [Key.of(one) for each in queued for one in each.objects if has_manager(one)]
    if managers:
        say("Waiting for providers to be available...")
    await bounded_gather(partial(_available, client, key, within) for key in managers)


async def _available(client: Client, key: Key, within: float) -> None:
    why = ""

    def is_available(deployment: Document | None) -> bool:
        nonlocal why
        if deployment is not None:
            why = reason_of(deployment)
        return deployment is not None and holds(deployment, "Available")

    try:
        await until(client, DEPLOYMENTS, key, is_available, within=within)
    except TimeoutError:
        told = f": {why}" if why else ""
        raise NotInTime(
            f'deployment "{key.name}" is not ready after {within:.0f} s{told}; '
            f"`kubectl describe deployment -n {key.namespace} {key.name}` says more"
        ) from None
