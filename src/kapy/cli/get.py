"""`kapy get kubeconfig`."""

from __future__ import annotations

import click

from kapy.cli.flags import command
from kapy.cli.reaching import reached, reaching
from kapy.client.blocking import run
from kapy.kube import Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.names import SECRETS


class NoKubeconfig(KapyError):
    """The cluster has no kubeconfig (yet), or there is no such cluster."""


@command()
@click.argument("name")
@reaching
def kubeconfig(name: str, kubeconfig: str, kubeconfig_context: str, namespace: str) -> None:
    """Print the kubeconfig of the workload cluster NAME."""
    click.echo(run(_read(name, kubeconfig, kubeconfig_context, namespace)), nl=False)


async def _read(name: str, kubeconfig: str, context: str, namespace: str) -> str:
    from kapy.remote.secrets import KUBECONFIG, KUBECONFIG_VALUE, secret_name, secret_value

    with reached(kubeconfig, context, namespace) as there:
        key = Key(there.namespace, secret_name(name, KUBECONFIG))
        try:
            secret = await there.client.get(SECRETS, key)
        except NotFound as error:
            # clusterctl's sentence, and what may help.
            raise NoKubeconfig(
                f'"{key.name}" not found in namespace "{key.namespace}": {error}; '
                "`kubectl get clusters -A` lists the clusters that there are"
            ) from None
    value = secret_value(secret, KUBECONFIG_VALUE)
    if value is None:
        raise NoKubeconfig(f"the Secret {key} has no kubeconfig in it")
    return value.decode()
