"""Installs providers into a management cluster: the `init` command.

Upstream: `cmd/clusterctl/client/init.go`. Nothing is written to the cluster (except the inventory's
CRD) before all components were read and checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from kapy._aio.clock import Clock
from kapy.client.client import Client
from kapy.clusterctl.certificates import cert_manager
from kapy.clusterctl.certificates.choice import Choice, issuer
from kapy.clusterctl.components import Components
from kapy.clusterctl.config import Config
from kapy.clusterctl.errors import ClusterctlError
from kapy.clusterctl.install.checks import check
from kapy.clusterctl.install.providers import (
    install,
    runs_pods,
    wait_until_available,
    wait_until_running,
)
from kapy.clusterctl.install.queue import queue
from kapy.clusterctl.install.requested_providers import RequestedProviders
from kapy.clusterctl.inventory import Inventory, default_name
from kapy.clusterctl.progress import Progress
from kapy.clusterctl.provider import ProviderType
from kapy.kube.errors import ApiError, Unreachable


@dataclass(frozen=True)
class InstallOptions:
    """The options of an installation. wait: the maximum seconds to wait for each Deployment, None
    not to wait. validate: whether providers that would not work are refused. certificates: the
    issuer of webhook certificates. prepare: called with the components after all checks have passed
    and before anything is written.
    """

    wait: float | None = None
    validate: bool = True
    certificates: Choice = "auto"
    prepare: Callable[[Sequence[Components]], None] | None = None


DEFAULT_OPTIONS: Final = InstallOptions()


async def init(
    client: Client,
    config: Config,
    requested: RequestedProviders,
    *,
    options: InstallOptions = DEFAULT_OPTIONS,
    clock: Clock,
    progress: Progress,
) -> bool:
    """Install providers; returns whether they are the first.

    Raises ClusterctlErrors, ApiErrors. If the server or a check refuses anything, all created
    objects are removed.
    """
    inventory = Inventory(client)
    await inventory.ensure()
    try:
        return await _init(
            client, config, requested, inventory, options=options, clock=clock, progress=progress
        )
    except (ClusterctlError, ApiError):
        with suppress(ApiError, Unreachable):
            await inventory.undefine()
        raise


async def _init(
    client: Client,
    config: Config,
    requested: RequestedProviders,
    inventory: Inventory,
    *,
    options: InstallOptions,
    clock: Clock,
    progress: Progress,
) -> bool:
    await inventory.check_contract(not_installed=True)
    progress("Fetching providers")
    installed = await inventory.installed()
    to_install = await queue(requested.with_defaults(installed), installed, config, progress)
    for warning in (warning for components in to_install for warning in components.warnings):
        progress(f"Warning: {warning}")
    try:
        await check(to_install, installed, config)
    except ClusterctlError as error:
        if options.validate:
            raise
        progress("Ignoring validation errors", error=str(error))
    if options.prepare is not None:
        options.prepare(to_install)
    by = await issuer(client, config, options.certificates)
    if by == "cert-manager":
        await cert_manager.ensure_installed(client, config, progress)
    await install(client, to_install, by, now=clock(), progress=progress)
    embedded = any(components.built_in for components in installed)
    pods = embedded and await runs_pods(client)
    if to_install and embedded and not pods:
        progress(
            "This management plane runs no Pods: run the managers of "
            f"{', '.join(components.provider.label for components in to_install)} yourself, with "
            "its kubeconfig"
        )
    if pods:
        await wait_until_running(client, to_install, progress)
    if options.wait is not None:
        await wait_until_available(client, to_install, within=options.wait, progress=progress)
    return not default_name(installed, ProviderType.CORE)
