"""`kapy alpha rollout pause|resume|restart`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kapy.cli.client_options import client_options, open_client
from kapy.cli.flags import command
from kapy.client.blocking import run_without_loop

if TYPE_CHECKING:
    from kapy.clusterctl.rollout import Act

Place = tuple[str, str, str]


@command()
@click.argument("resources", nargs=-1, metavar="RESOURCE...")
@client_options
def pause(
    resources: Sequence[str], kubeconfig: str, kubeconfig_context: str, namespace: str
) -> None:
    """Pause machinedeployment/NAME or kubeadmcontrolplane/NAME: no controller works on it."""
    from kapy.clusterctl import rollout

    run_without_loop(
        _for_each(rollout.pause, resources, (kubeconfig, kubeconfig_context, namespace))
    )


@command()
@click.argument("resources", nargs=-1, metavar="RESOURCE...")
@client_options
def resume(
    resources: Sequence[str], kubeconfig: str, kubeconfig_context: str, namespace: str
) -> None:
    """Let machinedeployment/NAME or kubeadmcontrolplane/NAME go on after a pause."""
    from kapy.clusterctl import rollout

    run_without_loop(
        _for_each(rollout.resume, resources, (kubeconfig, kubeconfig_context, namespace))
    )


@command()
@click.argument("resources", nargs=-1, metavar="RESOURCE...")
@client_options
def restart(
    resources: Sequence[str], kubeconfig: str, kubeconfig_context: str, namespace: str
) -> None:
    """Replace all Machines of machinedeployment/NAME or kubeadmcontrolplane/NAME."""
    from kapy._aio.clock import system_clock
    from kapy.clusterctl import rollout

    act = rollout.restart(system_clock())
    run_without_loop(_for_each(act, resources, (kubeconfig, kubeconfig_context, namespace)))


async def _for_each(act: Act, resources: Sequence[str], place: Place) -> None:
    from kapy.clusterctl.rollout import targets

    with open_client(*place) as there:
        for target in targets(resources):
            await act(there.client, there.namespace, target)
