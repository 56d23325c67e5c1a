"""`kapy run provider`: runs a local program in place of a provider's image, on an embedded
plane.
"""

from __future__ import annotations

from functools import partial

import click

from kapy.cli.client_options import open_async_client
from kapy.cli.flags import command
from kapy.cli.progress import ProgressSteps, management_flags, run_with_steps


@command()
@click.argument("provider", metavar="TYPE-NAME")
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
@management_flags
def run_provider(
    provider: str, program: tuple[str, ...], kubeconfig: str, kubeconfig_context: str
) -> None:
    """Run a program of this machine in place of a provider's image.

    TYPE-NAME is an installed provider (`infrastructure-metal3`); the program comes after `--`. It
    gets the arguments, environment, volumes and rights of the provider's Deployment, and starts
    again whenever its file changes. `kubectl logs` shows what it says.
    """
    work = partial(_run, provider, program, (kubeconfig, kubeconfig_context))
    for line in run_with_steps(work, again="run the same command again"):
        click.echo(line)


async def _run(
    provider: str, program: tuple[str, ...], place: tuple[str, str], _: ProgressSteps
) -> list[str]:
    from kapy.apps.local_programs import plane_folder, run_instead

    async with open_async_client(*place, "") as there:
        folder = await plane_folder(there.client)
        deployments = await run_instead(there.client, folder, provider, program)
    return [
        f"{program[0]} runs as deployment {deployment.name} in {deployment.namespace}"
        for deployment in deployments
    ]
