"""Upgrades providers: stops the old version, deletes it without users' objects, installs the new
one.

Upstream: `doUpgrade` of `cmd/clusterctl/client/cluster/upgrader.go`. All components are read and
checked before anything is stopped. The inventory keeps the old version until the new one is
complete, so an interrupted upgrade can be repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from kapy._aio.clock import Clock
from kapy.client.client import Client
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.certificates.choice import Issuer
from kapy.clusterctl.certificates.issuing import CERTIFICATE_MARK
from kapy.clusterctl.components import CLUSTERCTL_LABEL, PROVIDER_LABEL, Components
from kapy.clusterctl.components.reading import read_components
from kapy.clusterctl.config import Config
from kapy.clusterctl.delete import Deletion, remove
from kapy.clusterctl.install.providers import install
from kapy.clusterctl.inventory import PROVIDERS, Installed
from kapy.clusterctl.labelled import Labelled, components_in
from kapy.clusterctl.progress import Progress, of_provider
from kapy.clusterctl.repository import repository_of
from kapy.clusterctl.retry import retry
from kapy.clusterctl.upgrade.plan import Plan
from kapy.clusterctl.waiting import WaitTimeout, wait_until
from kapy.kube import Document, Key
from kapy.kube.names import DEPLOYMENTS

SCALE_DOWN_TIMEOUT: Final = 60.0
"""Time limit in seconds for the old version's Pods to stop."""


async def components_for(plan: Plan, config: Config) -> list[Components]:
    """Return the components of all target versions, in installation order."""
    items = sorted(plan.items, key=lambda value: value.provider.type.order)
    return await bounded_gather(
        partial(_components, item.provider, item.next_version, config) for item in items
    )


async def replace_providers(
    client: Client,
    plan: Plan,
    to_install: Sequence[Components],
    issuer: Issuer,
    *,
    clock: Clock,
    progress: Progress,
) -> None:
    """Replace the old versions by the new ones. Raises WaitTimeout, NotApplied …"""
    old = {components.provider.label: components.provider for components in plan.items}
    for components in to_install:
        await _scale_down(client, old[components.provider.label], progress)
    there = await components_in(client, old)
    for components in to_install:
        provider = old[components.provider.label]
        progress("Deleting", Provider=of_provider(provider), providerVersion=provider.version)
        await remove(client, provider, there, Deletion(), keep=partial(_is_kept, issuer))
        await install(client, [components], issuer, now=clock(), progress=progress)


def _is_kept(issuer: Issuer, labelled: Labelled) -> bool:
    """Return whether an object survives the upgrade: the Provider object, and Secrets of valid
    certificates.
    """
    ours = CERTIFICATE_MARK in labelled.document["metadata"]["labels"]
    return labelled.kind == PROVIDERS.kind or (ours and issuer == "kapy")


async def _components(provider: Installed, version: str, config: Config) -> Components:
    definition = config.provider(provider.name, provider.type)
    return await read_components(
        repository_of(definition, config),
        definition,
        config,
        version=version,
        namespace=provider.namespace,
    )


async def _scale_down(client: Client, provider: Installed, progress: Progress) -> None:
    """Scale the old version's Deployments to zero before the new one is installed, so that only one
    conversion webhook runs."""
    progress("Scaling down", Provider=of_provider(provider), providerVersion=provider.version)
    selector = f"{CLUSTERCTL_LABEL}=,{PROVIDER_LABEL}={provider.label}"
    listed = await retry(lambda: client.list(DEPLOYMENTS, provider.namespace, labels=selector))
    await bounded_gather(partial(_scale_to_zero, client, item) for item in listed.items)


async def _scale_to_zero(client: Client, deployment: Document) -> None:
    key = Key.of(deployment)
    if deployment["spec"].get("replicas") != 0:
        none = {"spec": {"replicas": 0}}
        await retry(lambda: client.patch(DEPLOYMENTS, key, none))
    try:
        await wait_until(client, DEPLOYMENTS, key, _is_down, within=SCALE_DOWN_TIMEOUT)
    except TimeoutError:
        raise WaitTimeout(
            f"failed to wait until Deployment is scaled down: {key} still has replicas after "
            f"{SCALE_DOWN_TIMEOUT:.0f} s; see `kubectl get pods -n {key.namespace}`, then run "
            "this again"
        ) from None


def _is_down(deployment: Document | None) -> bool:
    return deployment is None or not (deployment.get("status") or {}).get("replicas")
