"""Upgrades the providers of a management cluster: computes possible plans and applies them.

Upstream: `cmd/clusterctl/client/upgrade.go`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kapy._aio.clock import Clock
from kapy.client.client import Client
from kapy.clusterctl.certificates import cert_manager
from kapy.clusterctl.certificates.choice import issuer
from kapy.clusterctl.config import Config
from kapy.clusterctl.errors import InventoryError
from kapy.clusterctl.install import DEFAULT_OPTIONS, InstallOptions
from kapy.clusterctl.install.providers import wait_until_available
from kapy.clusterctl.inventory import (
    CONTRACT,
    OLDER_CONTRACT,
    Installed,
    Inventory,
    check_single_instances,
)
from kapy.clusterctl.migration import migrate
from kapy.clusterctl.progress import Progress
from kapy.clusterctl.provider import ProviderType
from kapy.clusterctl.upgrade.applying import components_for, replace_providers
from kapy.clusterctl.upgrade.hooks import check_hooks, extensions, lost_hooks
from kapy.clusterctl.upgrade.plan import (
    Plan,
    check_steps,
    custom_plan,
    plan_of,
    plans,
    wanted_versions,
)


@dataclass(frozen=True)
class Target:
    """The target of an upgrade: the newest versions of a contract, or chosen providers.

    names: `aws:v2.11.0` or `capa-system/aws:v2.11.0`, by type.
    """

    contract: str = ""
    names: Mapping[ProviderType, Sequence[str]] = field(default_factory=dict)
    lose_hooks: bool = False


async def upgrade_plans(client: Client, config: Config, *, progress: Progress) -> list[Plan]:
    """Return the possible upgrades, by contract. Raises ClusterctlErrors, ApiErrors."""
    installed = await _installed_providers(client)
    progress("Checking new release availability...")
    return await plans(installed, config)


async def hooks_lost_by(client: Client, plans: Sequence[Plan], config: Config) -> list[str]:
    """Return the handlers of extensions that would no longer be called after these upgrades."""
    lost: dict[str, None] = {}
    for plan in plans:
        core = [item for item in plan.items if item.provider.type is ProviderType.CORE]
        wanted = Plan(plan.contract, tuple(item for item in core if item.next_version))
        if wanted.items and await extensions(client):
            to_install = await components_for(wanted, config)
            lost |= dict.fromkeys(await lost_hooks(client, to_install, config))
    return list(lost)


async def upgrade(
    client: Client,
    config: Config,
    target: Target,
    *,
    options: InstallOptions = DEFAULT_OPTIONS,
    clock: Clock,
    progress: Progress,
) -> Plan:
    """Upgrade providers; returns the applied items. Raises ClusterctlErrors, ApiErrors."""
    if target.contract and target.contract != CONTRACT:
        raise InventoryError(
            f"current version of clusterctl could only upgrade to {CONTRACT} contract, requested "
            f"{target.contract}"
        )
    installed = await _installed_providers(client)
    progress("Performing upgrade...")
    plan = await _plan(target, installed, config)
    check_single_instances(installed)
    check_steps(plan)
    to_install = await components_for(plan, config)
    if not target.lose_hooks:
        await check_hooks(client, to_install, config)
    if options.prepare is not None:
        options.prepare(to_install)
    by = await issuer(client, config, options.certificates)
    if by == "cert-manager":
        await cert_manager.ensure_latest(client, config, progress)
    objects = [obj for components in to_install for obj in components.objects]
    await migrate(client, objects, progress, only_dropped=True)
    await replace_providers(client, plan, to_install, by, clock=clock, progress=progress)
    if options.wait is not None:
        await wait_until_available(client, to_install, within=options.wait, progress=progress)
    return plan


async def _installed_providers(client: Client) -> list[Installed]:
    inventory = Inventory(client)
    await inventory.check_contract(also=(OLDER_CONTRACT,))
    await inventory.ensure()
    return await inventory.installed()


async def _plan(target: Target, installed: Sequence[Installed], config: Config) -> Plan:
    if target.contract:
        return await plan_of(target.contract, installed, config)
    return await custom_plan(wanted_versions(target.names, installed), installed, config)
