"""`kapy get kubeconfig`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kapy.cli.client_options import client_options, open_client
from kapy.cli.flags import command, strings
from kapy.client.blocking import run_without_loop
from kapy.kube import Key

if TYPE_CHECKING:
    from kapy.clusterctl.kubeconfig import Holder


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
def kubeconfig(
    cluster: str,
    kubeconfig: str,
    kubeconfig_context: str,
    namespace: str,
    user: str,
    group: tuple[str, ...],
    ttl: str,
) -> None:
    """Print the kubeconfig of the workload cluster NAME.

    The kubeconfig has all rights. Do not share it. --user NAME --group GROUP makes a kubeconfig for
    a person, with a certificate of its own and the rights that the workload cluster grants.
    """
    if group and not user:
        raise click.UsageError("--group is of a user: say who with --user")
    holder = _certificate_subject(user, group, ttl) if user else None
    place = (kubeconfig, kubeconfig_context, namespace)
    click.echo(run_without_loop(_read(cluster, place, holder)), nl=False)


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


async def _read(name: str, place: tuple[str, str, str], holder: Holder | None) -> str:
    from kapy._aio.clock import system_clock
    from kapy.clusterctl.kubeconfig import admin_kubeconfig, own_kubeconfig

    with open_client(*place) as there:
        cluster = Key(there.namespace, name)
        if holder is None:
            return await admin_kubeconfig(there.client, cluster)
        return await own_kubeconfig(there.client, cluster, holder, now=system_clock())
