"""Installs components: writes them, records them in the inventory and waits for them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.applying import NotApplied, ObjectApplier
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.certificates.choice import Issuer
from kapy.clusterctl.certificates.own import with_own_authority
from kapy.clusterctl.components import Components
from kapy.clusterctl.components.images import has_manager
from kapy.clusterctl.errors import ClusterctlError
from kapy.clusterctl.install.running import reason_of
from kapy.clusterctl.inventory import Inventory
from kapy.clusterctl.progress import Progress
from kapy.clusterctl.provider import ProviderType
from kapy.clusterctl.waiting import WaitTimeout, has_condition, wait_until
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, Unreachable
from kapy.kube.names import DEPLOYMENTS

DEFAULT_TIMEOUT: Final = 300.0
"""Seconds to wait for each provider's Deployment to become available, if the command waits."""


async def install(
    client: Client,
    to_install: Iterable[Components],
    issuer: Issuer,
    *,
    now: datetime,
    progress: Progress,
) -> None:
    """Install providers one after the other; each is recorded in the inventory when it is complete.

    The core provider is recorded last: until then the next `init` counts as the first one and adds
    the usual providers again. If the server refuses anything, all created objects are removed.
    Raises NotApplied, CertificateError, WaitTimeout.
    """
    applying, recorded = ObjectApplier(client), list[Components]()
    try:
        await _install(client, applying, to_install, issuer, recorded, now=now, progress=progress)
    except (ClusterctlError, ApiError) as error:
        progress("Removing what was created")
        remains = await _undo(client, applying, recorded)
        if not remains:
            raise
        raise NotApplied(f"{error}; this remains: {', '.join(remains)}") from error


async def _undo(
    client: Client, applying: ObjectApplier, recorded: Iterable[Components]
) -> list[str]:
    inventory, remains = Inventory(client, reached=True), []
    for components in recorded:
        try:
            await inventory.forget(components.inventory_object)
        except (ApiError, Unreachable) as error:
            remains.append(f"{components.provider.label} in the inventory ({error})")
    return [*remains, *await applying.undo()]


async def _install(
    client: Client,
    applying: ObjectApplier,
    to_install: Iterable[Components],
    issuer: Issuer,
    recorded: list[Components],
    *,
    now: datetime,
    progress: Progress,
) -> None:
    """Install the components of providers. recorded: a list that receives the components of each
    provider that the inventory records.
    """
    inventory = Inventory(client, reached=True)
    unrecorded = []
    for components in to_install:
        progress(
            "Installing",
            provider=components.provider.label,
            version=components.version,
            targetNamespace=components.target_namespace,
        )
        objects = components.objects
        if issuer == "kapy":
            objects = tuple(await with_own_authority(client, objects, now=now))
        await applying.apply(objects)
        if components.provider.type is ProviderType.CORE:
            unrecorded.append(components)
        else:
            await inventory.record(components.inventory_object)
            recorded.append(components)
    for components in unrecorded:
        await inventory.record(components.inventory_object)
        recorded.append(components)


async def wait_until_available(
    client: Client, to_install: Iterable[Components], *, within: float, progress: Progress
) -> None:
    """Wait for the Deployments that run the providers. Raises WaitTimeout."""
    managers = [
        Key.of(obj) for components in to_install for obj in components.objects if has_manager(obj)
    ]
    if managers:
        progress("Waiting for providers to be available...")
    await bounded_gather(partial(_wait_for_deployment, client, key, within) for key in managers)


async def _wait_for_deployment(client: Client, key: Key, within: float) -> None:
    reason = ""

    def is_available(deployment: Document | None) -> bool:
        nonlocal reason
        if deployment is not None:
            reason = reason_of(deployment)
        return deployment is not None and has_condition(deployment, "Available")

    try:
        await wait_until(client, DEPLOYMENTS, key, is_available, within=within)
    except TimeoutError:
        result = f": {reason}" if reason else ""
        raise WaitTimeout(
            f'deployment "{key.name}" is not ready after {within:.0f} s{result}; '
            f"`kubectl describe deployment -n {key.namespace} {key.name}` says more"
        ) from None
