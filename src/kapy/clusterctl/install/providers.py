"""Installs components: writes them, records them in the inventory and waits for them.

Providers may run as local processes beside the management plane. Their webhooks refuse all objects
until they run, so an installation waits for them, too. If nothing runs Pods, the user is told what
to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from kapy.clusterctl.inventory import Inventory
from kapy.clusterctl.progress import Progress
from kapy.clusterctl.provider import ProviderType
from kapy.clusterctl.retry import retry
from kapy.clusterctl.waiting import WaitTimeout, has_condition, wait_until
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, Unreachable
from kapy.kube.names import DEPLOYMENTS, NODES

DEFAULT_TIMEOUT: Final = 300.0
"""Seconds to wait for each provider's Deployment to become available, if the command waits."""

_START_TIMEOUT: Final = 120.0
"""Time limit in seconds for a program to start on this machine."""
_PERMANENT_REASONS: Final = ("NoRuntime: ", "UnsupportedField: ")
"""Reasons that only a user can remove: waiting would not help."""


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
    managers = _managers_of(to_install)
    if managers:
        progress("Waiting for providers to be available...")
    await bounded_gather(partial(_wait_for_deployment, client, key, within) for key in managers)


def _managers_of(to_install: Iterable[Components]) -> list[Key]:
    """Return the Deployments that run providers."""
    return [
        Key.of(obj) for components in to_install for obj in components.objects if has_manager(obj)
    ]


async def _wait_for_deployment(client: Client, key: Key, within: float) -> None:
    reason = ""

    def is_available(deployment: Document | None) -> bool:
        nonlocal reason
        if deployment is not None:
            reason = _reason_of(deployment)
        return deployment is not None and has_condition(deployment, "Available")

    try:
        await wait_until(client, DEPLOYMENTS, key, is_available, within=within)
    except TimeoutError:
        result = f": {reason}" if reason else ""
        raise WaitTimeout(
            f'deployment "{key.name}" is not ready after {within:.0f} s{result}; '
            f"`kubectl describe deployment -n {key.namespace} {key.name}` says more"
        ) from None


async def runs_pods(client: Client) -> bool:
    """Return whether a Node exists, so that Pods of Deployments run."""
    return bool((await retry(lambda: client.list(NODES, metadata=True))).items)


async def wait_until_running(
    client: Client, to_install: Iterable[Components], progress: Progress
) -> None:
    """Wait until the local managers run, and report the reasons that keep others from running.

    Nothing is raised after the time limit: the managers continue to start.
    """
    managers = _managers_of(to_install)
    gather = await bounded_gather(
        partial(_wait_for_pods, client, key, progress) for key in managers
    )
    for key, reason in zip(managers, gather, strict=True):
        if reason:
            progress(f"Deployment {key.name} in {key.namespace} is not up", reason=reason)


async def _wait_for_pods(client: Client, key: Key, progress: Progress) -> str:
    """Return the reason for which a Deployment is unavailable, "" if it is available."""
    reasons: list[str] = []

    def done(deployment: Document | None) -> bool:
        if deployment is None or has_condition(deployment, "Available"):
            return True
        reason = _reason_of(deployment)
        if reason and reason not in reasons:
            reasons.append(reason)
            if not _is_permanent(reason):
                progress(f"Waiting for deployment {key.name}", reason=reason)
        return _is_permanent(reason)

    try:
        wait = await wait_until(client, DEPLOYMENTS, key, done, within=_START_TIMEOUT)
    except TimeoutError:
        return reasons[-1] if reasons else f"it did not start within {_START_TIMEOUT:.0f} s"
    return "" if wait is None or has_condition(wait, "Available") else _reason_of(wait)


def _is_permanent(reason: str) -> bool:
    return any(item in reason for item in _PERMANENT_REASONS)


def _reason_of(deployment: Document) -> str:
    """Return the reason for which a Deployment's Pods are not ready, from its Available
    condition.
    """
    conditions: Sequence[Document] = (deployment.get("status") or {}).get("conditions") or []
    for condition in conditions:
        if condition["type"] == "Available" and condition["status"] != "True":
            _, _, reason = str(condition.get("message", "")).partition("availability. ")
            return reason
    return ""
