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
from kapy.clusterctl.install.asked import Asked
from kapy.clusterctl.install.checks import check
from kapy.clusterctl.install.providers import install, until_available
from kapy.clusterctl.install.queue import queue
from kapy.clusterctl.install.running import runs_pods, until_running
from kapy.clusterctl.inventory import Inventory, default_name
from kapy.clusterctl.progress import Say
from kapy.clusterctl.provider import ProviderType
from kapy.kube.errors import ApiError, Unreachable


@dataclass(frozen=True)
class How:
    """Options of an installation. wait: seconds for each Deployment, None not to wait. validate:
    refuse providers that would not work. certificates: the issuer of webhook certificates. prepare:
    called with the components when all checks have passed and nothing is written yet."""

    wait: float | None = None
    validate: bool = True
    certificates: Choice = "auto"
    prepare: Callable[[Sequence[Components]], None] | None = None


USUAL: Final = How()


async def init(
    client: Client, config: Config, asked: Asked, *, how: How = USUAL, clock: Clock, say: Say
) -> bool:
    """Install providers; returns whether they are the first.

    Raises ClusterctlErrors, ApiErrors. If the server or a check refuses anything, all created
    objects are removed.
    """
    inventory = Inventory(client)
    await inventory.ensure()
    try:
        return await _init(client, config, asked, inventory, how=how, clock=clock, say=say)
    except (ClusterctlError, ApiError):
        with suppress(ApiError, Unreachable):
            await inventory.undefine()
        raise


async def _init(
    client: Client,
    config: Config,
    asked: Asked,
    inventory: Inventory,
    *,
    how: How,
    clock: Clock,
    say: Say,
) -> bool:
    await inventory.check_contract(not_installed=True)
    say("Fetching providers")
    installed = await inventory.installed()
    queued = await queue(asked.with_usual(installed), installed, config, say)
    for warning in (warning for one in queued for warning in one.warnings):
        say(f"Warning: {warning}")
    try:
        await check(queued, installed, config)
    except ClusterctlError as error:
        if how.validate:
            raise
        say("Ignoring validation errors", error=str(error))
    if how.prepare is not None:
        how.prepare(queued)
    by = await issuer(client, config, how.certificates)
    if by == "cert-manager":
        await cert_manager.ensure_installed(client, config, say)
    await install(client, queued, by, now=clock(), say=say)
    embedded = any(one.built_in for one in installed)
    pods = embedded and await runs_pods(client)
    if queued and embedded and not pods:
        say(
            "This management plane runs no Pods: run the managers of "
            f"{', '.join(one.provider.label for one in queued)} yourself, with its kubeconfig"
        )
    if pods:
        await until_running(client, queued, say)
    if how.wait is not None:
        await until_available(client, queued, within=how.wait, say=say)
    return not default_name(installed, ProviderType.CORE)
