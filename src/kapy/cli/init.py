"""`kapy init` and `kapy init list-images`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kapy.cli.client_options import open_async_client
from kapy.cli.flags import Command, command
from kapy.cli.host_access_step import with_host_access_step, with_step
from kapy.cli.lazy import LazyGroup
from kapy.cli.load_config import load_config
from kapy.cli.progress import (
    ProgressSteps,
    certificate_flag,
    management_flags,
    run_with_steps,
    wait_flags,
)
from kapy.cli.provider_flags import provider_flags
from kapy.clusterctl.provider import ProviderType

if TYPE_CHECKING:
    from kapy.clusterctl.install import InstallOptions
    from kapy.clusterctl.install.requested_providers import RequestedProviders

Names = Mapping[ProviderType, Sequence[str]]

_RESUME_HINT = "run the same command again: what was installed is found, the rest is added"
_SUCCESS_MESSAGE = """
Your management cluster has been initialized successfully!

You can now create your first workload cluster by running the following:

  kapy generate cluster [name] --kubernetes-version [version] | kubectl apply -f -
"""


class _Init(Command, LazyGroup):
    """A command that also has a subcommand."""


@click.command(
    cls=_Init,
    invoke_without_command=True,
    commands_at={
        "list-images": (
            "kapy.cli.init:list_images",
            "List the container images that initializing needs.",
        )
    },
)
@provider_flags("to add to the management cluster")
@click.option(
    "-n",
    "--target-namespace",
    default="",
    help="Namespace of the providers, instead of those that their components name.",
)
@click.option(
    "--validate/--no-validate",
    default=True,
    help="Refuse providers that would not work; on by default.",
)
@click.option(
    "--run",
    "programs",
    multiple=True,
    metavar="TYPE-NAME=PATH",
    help="Run this program in place of a provider's image, on an embedded plane (repeatable).",
)
@wait_flags("installed")
@certificate_flag
@management_flags
@click.pass_context
def init(context: click.Context, /, names: Names, programs: tuple[str, ...], **flags: Any) -> None:
    """Initialize a management cluster.

    Installs Cluster API's core provider with the kubeadm bootstrap and control plane providers
    where none is installed yet, and the providers that are named. `kapy config repositories` lists
    those that can be had; `kapy generate provider --describe` the variables that one needs.
    """
    if context.invoked_subcommand is not None:
        return
    from kapy.clusterctl.install import InstallOptions
    from kapy.clusterctl.install.requested_providers import RequestedProviders

    wait = float(flags["wait_provider_timeout"]) if flags["wait_providers"] else None
    options = InstallOptions(
        wait=wait, validate=flags["validate"], certificates=flags["certificates"]
    )
    providers = RequestedProviders(names, flags["target_namespace"])
    place = flags["kubeconfig"], flags["kubeconfig_context"]
    if run_with_steps(
        partial(_init, providers, options, place, _commands(programs)), again=_RESUME_HINT
    ):
        click.echo(_SUCCESS_MESSAGE, err=True)


def _commands(programs: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Commands by provider label. Raises click.UsageError."""
    commands: dict[str, tuple[str, ...]] = {}
    for program in programs:
        label, equals, path = program.partition("=")
        if not equals or not label or not path:
            raise click.BadParameter(
                f"{program!r} has not the form TYPE-NAME=PATH", param_hint="--run"
            )
        commands[label] = (path,)
    return commands


async def _init(
    selection: RequestedProviders,
    options: InstallOptions,
    place: tuple[str, str],
    commands: Mapping[str, tuple[str, ...]],
    steps: ProgressSteps,
) -> bool:
    from kapy._aio.clock import system_clock
    from kapy.clusterctl import install

    async with AsyncExitStack() as stack:
        there = await stack.enter_async_context(open_async_client(*place, ""))
        options = await with_host_access_step(stack, there.client, options, steps)
        if commands:
            from kapy.apps.local_programs import allow_local_programs, plane_folder

            folder = await plane_folder(there.client)
            options = with_step(
                options, stack.enter_context(allow_local_programs(folder, commands))
            )
        return await install.init(
            there.client,
            load_config(),
            selection,
            options=options,
            clock=system_clock,
            progress=steps,
        )


@command("list-images")
@provider_flags("whose images are listed")
@certificate_flag
@management_flags
@click.pass_context
def list_images(context: click.Context, /, names: Names, **flags: Any) -> None:
    """List the container images that initializing the management cluster needs.

    Nothing is changed.
    """
    from kapy.clusterctl.install.requested_providers import RequestedProviders

    above = context.parent.params if context.parent is not None else {}
    place = tuple(
        flags[item] or above.get(item, "") for item in ("kubeconfig", "kubeconfig_context")
    )
    work = partial(_images, RequestedProviders(names), flags["certificates"], place)
    for image in run_with_steps(work, again="nothing was changed"):
        click.echo(image)


async def _images(
    selection: RequestedProviders, issuer: Any, place: tuple[str, ...], _: ProgressSteps
) -> list[str]:
    from kapy.clusterctl.install.queue import list_images

    async with open_async_client(place[0], place[1], "") as there:
        return await list_images(there.client, load_config(), selection, certificates=issuer)
