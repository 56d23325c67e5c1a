"""`kapy delete`: deletes providers from the management cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kapy.cli.client_options import open_async_client
from kapy.cli.flags import command
from kapy.cli.progress import ProgressSteps, management_flags, run_with_steps
from kapy.cli.provider_flags import NAMES, provider_flags
from kapy.clusterctl.provider import ProviderType

if TYPE_CHECKING:
    from kapy.clusterctl.delete import Deletion


@command()
@provider_flags("to delete from the management cluster")
@click.option("--all", "everything", is_flag=True, help="Delete all providers.")
@click.option(
    "--include-crd",
    "include_crds",
    is_flag=True,
    help="Delete the providers' CRDs too; there must be no objects of them.",
)
@click.option(
    "--include-namespace",
    is_flag=True,
    help="Delete the providers' namespaces too, with everything in them.",
)
@management_flags
def delete(
    *,
    names: Mapping[ProviderType, Sequence[str]],
    kubeconfig: str,
    kubeconfig_context: str,
    **flags: Any,
) -> None:
    """Delete one or more providers from the management cluster.

    Whatever they manage is left alone: machines, networks and their costs go on until somebody
    else ends them. CRDs and namespaces stay unless they are asked for.
    """
    if flags["everything"] and names:
        raise click.UsageError(f"The --all flag can't be used in combination with {NAMES}")
    if not flags["everything"] and not names:
        raise click.UsageError(
            f"At least one of {NAMES} should be specified or the --all flag should be set"
        )
    from kapy.clusterctl.delete import Deletion

    again = "run the same command again: it goes on where it was"
    work = partial(_delete, Deletion(names, **flags), kubeconfig, kubeconfig_context)
    run_with_steps(work, again=again)


async def _delete(request: Deletion, kubeconfig: str, context: str, steps: ProgressSteps) -> None:
    from kapy.clusterctl.delete import delete

    async with open_async_client(kubeconfig, context, "") as there:
        await delete(there.client, request, progress=steps)
