"""`kapy upgrade plan` and `kapy upgrade apply`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kapy.cli.client_options import open_async_client
from kapy.cli.columns import columns
from kapy.cli.flags import command
from kapy.cli.host_access_step import with_host_access_step
from kapy.cli.load_config import load_config
from kapy.cli.progress import (
    ProgressSteps,
    certificate_flag,
    management_flags,
    run_with_steps,
    wait_flags,
)
from kapy.cli.provider_flags import NAMES, provider_flags
from kapy.clusterctl.provider import ProviderType

if TYPE_CHECKING:
    from kapy.clusterctl.certificates.cert_manager import Plan as CertManagerPlan
    from kapy.clusterctl.install import InstallOptions
    from kapy.clusterctl.upgrade import Target
    from kapy.clusterctl.upgrade.plan import Plan

_COLUMNS = ("NAME", "NAMESPACE", "TYPE", "CURRENT VERSION", "NEXT VERSION")


@command()
@management_flags
def plan(kubeconfig: str, kubeconfig_context: str) -> None:
    """Provide a list of recommended target versions for upgrading providers.

    For each contract of Cluster API that could be reached: the newest version of each provider.
    """
    work = partial(_plan, kubeconfig, kubeconfig_context)
    cert_manager, result, lost = run_with_steps(work, again="nothing was changed")
    for line in _cert_manager_lines(cert_manager):
        click.echo(f"{line}\n")
    for item in result:
        click.echo("\n".join(_plan_lines(item)))
    for line in lost:
        click.echo(f"An extension would stop working: {line}", err=True)


async def _plan(
    kubeconfig: str, context: str, steps: ProgressSteps
) -> tuple[CertManagerPlan, list[Plan], list[str]]:
    from kapy.clusterctl.certificates import cert_manager
    from kapy.clusterctl.upgrade import hooks_lost_by, upgrade_plans

    configured = load_config()
    async with open_async_client(kubeconfig, context, "") as there:
        plans = await upgrade_plans(there.client, configured, progress=steps)
        theirs = await cert_manager.plan(there.client, configured)
        return theirs, plans, await hooks_lost_by(there.client, plans, configured)


def _cert_manager_lines(plan: CertManagerPlan) -> Iterator[str]:
    if plan.external:
        return
    if plan.needed:
        yield f'Cert-Manager will be upgraded from "{plan.current}" to "{plan.target}"'
    else:
        yield "Cert-Manager is already up to date"


def _plan_lines(plan: Plan) -> Iterable[str]:
    from kapy.clusterctl.inventory import CONTRACT

    yield f"\nLatest release available for the {plan.contract} Cluster API contract version:\n"
    yield columns([_COLUMNS, *sorted(_rows(plan), key=lambda row: (row[2], row[0], row[1]))])
    if not any(item.next_version for item in plan.items):
        yield "You are already up to date!\n"
    elif plan.contract == CONTRACT:
        yield "You can now apply the upgrade by executing the following command:\n"
        yield f"kapy upgrade apply --contract {plan.contract}\n"
    else:
        yield (
            f"The current version of kapy could not upgrade to {plan.contract} contract (only "
            f"{CONTRACT} supported).\n"
        )


def _rows(plan: Plan) -> Iterator[Sequence[str]]:
    for item in plan.items:
        it = item.provider
        target = item.next_version or "Already up to date"
        yield it.key.name, it.namespace, it.type.value, it.version, target


@command()
@provider_flags("to upgrade to, instead of --contract")
@click.option(
    "--contract", default="", help="Upgrade all providers to the newest versions of this contract."
)
@click.option(
    "--allow-lost-hooks",
    is_flag=True,
    help="Upgrade the core provider also where installed extensions would stop working.",
)
@wait_flags("upgraded")
@certificate_flag
@management_flags
def apply(*, names: Mapping[ProviderType, Sequence[str]], **flags: Any) -> None:
    """Apply new versions of Cluster API core and providers in a management cluster.

    All are read and checked before anything is stopped. An upgrade that was interrupted goes on
    when the same command is run again.
    """
    contract = flags["contract"]
    if not contract and not names:
        raise click.UsageError(
            "Either the --contract flag or at least one of the following flags has to be set: "
            f"{NAMES}"
        )
    if contract and names:
        raise click.UsageError(f"The --contract flag can't be used in combination with {NAMES}")
    from kapy.clusterctl.install import InstallOptions
    from kapy.clusterctl.upgrade import Target

    wait = float(flags["wait_provider_timeout"]) if flags["wait_providers"] else None
    options = InstallOptions(wait=wait, certificates=flags["certificates"])
    target = Target(contract, names, lose_hooks=flags["allow_lost_hooks"])
    work = partial(_apply, target, options, flags["kubeconfig"], flags["kubeconfig_context"])
    run_with_steps(work, again="run the same command again: it goes on where it was")


async def _apply(
    target: Target, options: InstallOptions, kubeconfig: str, context: str, steps: ProgressSteps
) -> None:
    from kapy._aio.clock import system_clock
    from kapy.clusterctl.upgrade import upgrade

    async with AsyncExitStack() as stack:
        there = await stack.enter_async_context(open_async_client(kubeconfig, context, ""))
        options = await with_host_access_step(stack, there.client, options, steps)
        await upgrade(
            there.client, load_config(), target, options=options, clock=system_clock, progress=steps
        )
