"""`kapy get kubeconfig`: prints the kubeconfig of a workload cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kapy.cli.client_options import client_options, open_client
from kapy.cli.flags import command, strings
from kapy.client.blocking import run_without_loop
from kapy.kube import Key

if TYPE_CHECKING:
    from kapy.clusterctl.kubeconfig import Holder
    from kapy.sdk.console import MachineTarget


@command(missing="please specify a workload cluster name")
@click.argument("cluster", metavar="NAME")
@client_options
@click.option("--user", default="", help="Make a kubeconfig for this user, with few rights.")
@strings("--group", help="A group of that user, for the workload cluster's RBAC.")
@click.option(
    "--ttl",
    default="8h",
    show_default=True,
    help="Validity of the user's certificate, as a duration.",
)
@click.option(
    "--as-stored",
    is_flag=True,
    help="Keep the server of the cluster's Secret, even if it is not reached from here.",
)
def kubeconfig(
    cluster: str,
    kubeconfig: str,
    kubeconfig_context: str,
    namespace: str,
    user: str,
    group: tuple[str, ...],
    ttl: str,
    as_stored: bool,
) -> None:
    """Print the kubeconfig of the workload cluster NAME.

    The kubeconfig has all rights. Do not share it. --user NAME --group GROUP makes a kubeconfig for
    a person, with a certificate of its own and the rights that the workload cluster grants.

    Where this computer has no route to the cluster's address, but another way to it (containers of
    a rootless engine), the kubeconfig names that way.
    """
    if group and not user:
        raise click.UsageError("--group is of a user: say who with --user")
    holder = _certificate_subject(user, group, ttl) if user else None
    place = (kubeconfig, kubeconfig_context, namespace)
    text, target = run_without_loop(_read(cluster, place, holder, elsewhere=not as_stored))
    if target is not None:
        text = _from_here(text, target)
    click.echo(text, nl=False)


def _certificate_subject(user: str, groups: tuple[str, ...], ttl: str) -> Holder:
    from kapy.clusterctl.kubeconfig import Holder
    from kapy.kube import duration

    try:
        valid = duration.parse(ttl)
    except ValueError:
        raise click.UsageError(f'--ttl "{ttl}" is no duration; say 8h, or 30m') from None
    if valid.total_seconds() <= 0:
        raise click.UsageError(f'--ttl "{ttl}" is over before it begins; say 8h, or 30m')
    return Holder(user, groups, valid)


async def _read(
    name: str, place: tuple[str, str, str], holder: Holder | None, *, elsewhere: bool
) -> tuple[str, MachineTarget | None]:
    """Return the kubeconfig of a Cluster. elsewhere: also return a Machine if this computer may not
    reach the server; the console of the Machine may know another address.
    """
    from kapy._aio.clock import system_clock
    from kapy.clusterctl.kubeconfig import admin_kubeconfig, may_be_hidden, own_kubeconfig

    with open_client(*place) as there:
        cluster = Key(there.namespace, name)
        if holder is None:
            text = await admin_kubeconfig(there.client, cluster)
        else:
            text = await own_kubeconfig(there.client, cluster, holder, now=system_clock())
        if not elsewhere or not may_be_hidden(text):
            return text, None
        from kapy.clusterctl.server_from_here import any_machine

        return text, await any_machine(there.client, cluster)


def _from_here(text: str, target: MachineTarget) -> str:
    """Return the kubeconfig with a server that this computer can reach; a change is reported on
    standard error."""
    import asyncio

    from kapy.apps.consoles import console_of
    from kapy.client.kubeconfig import parse
    from kapy.clusterctl.server_from_here import with_server_from_here

    changed = asyncio.run(with_server_from_here(text, target, console_of))
    if changed != text:
        click.echo(
            f"{parse(text).server} is not reached from here: the kubeconfig names "
            f"{parse(changed).server} (--as-stored keeps the first one)",
            err=True,
        )
    return changed
