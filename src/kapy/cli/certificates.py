"""`kapy certificates list` and `kapy certificates renew`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from kapy.cli.client_options import open_async_client
from kapy.cli.columns import columns
from kapy.cli.flags import command
from kapy.cli.progress import ProgressSteps, management_flags, run_with_steps

if TYPE_CHECKING:
    from kapy.clusterctl.certificates.own import CertificateRecord
    from kapy.kube import Key

_COLUMNS = ("PROVIDER", "NAMESPACE", "SECRET", "IS", "ENDS")
_NONE = "No certificates of kapy's own are in this cluster; cert-manager renews its own by itself."


@command("list")
@management_flags
def list_(kubeconfig: str, kubeconfig_context: str) -> None:
    """List the certificates that kapy issued for the webhooks of providers."""
    result = run_with_steps(
        partial(_list, kubeconfig, kubeconfig_context), again="nothing was changed"
    )
    if not result:
        click.echo(_NONE)
        return
    rows = [
        (
            record.provider,
            record.secret.namespace,
            record.secret.name,
            "authority" if record.is_authority else "server",
            f"{record.ends:%Y-%m-%d}{' (due)' if record.due else ''}",
        )
        for record in result
    ]
    click.echo(columns([_COLUMNS, *rows]), nl=False)


async def _list(kubeconfig: str, context: str, _: ProgressSteps) -> list[CertificateRecord]:
    from kapy._aio.clock import system_clock
    from kapy.clusterctl.certificates.own import certificates_in

    async with open_async_client(kubeconfig, context, "") as there:
        return await certificates_in(there.client, now=system_clock())


@command()
@click.option(
    "--all", "anew", is_flag=True, help="Renew all certificates, not only those that are due."
)
@management_flags
def renew(*, anew: bool, kubeconfig: str, kubeconfig_context: str) -> None:
    """Make certificates anew that have used two thirds of their life.

    Webhooks and CRDs trust the old authority beside the new one until the next renewal, so nothing
    stops working while managers take up their new certificates.
    """
    work = partial(_renew, kubeconfig, kubeconfig_context, anew=anew)
    renewed = run_with_steps(work, again="run the same command again")
    for key in renewed:
        click.echo(f"renewed {key}")
    if not renewed:
        click.echo("No certificate is due; --all renews all of them.")


async def _renew(kubeconfig: str, context: str, _: ProgressSteps, *, anew: bool) -> list[Key]:
    from kapy._aio.clock import system_clock
    from kapy.clusterctl.certificates.own import renew

    async with open_async_client(kubeconfig, context, "") as there:
        return await renew(there.client, now=system_clock(), anew=anew)
