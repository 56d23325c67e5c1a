"""`kapy init` and `kapy init list-images`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kapy.cli.configured import config
from kapy.cli.flags import Command, command
from kapy.cli.host_access import prepared, with_step
from kapy.cli.lazy import Lazy
from kapy.cli.provider_flags import provider_flags
from kapy.cli.reaching import reached_async
from kapy.cli.working import Steps, certificates, finished, management, waiting
from kapy.clusterctl.provider import ProviderType

if TYPE_CHECKING:
    from kapy.clusterctl.install import How
    from kapy.clusterctl.install.asked import Asked

Names = Mapping[ProviderType, Sequence[str]]

_AGAIN = "run the same command again: what was installed is found, the rest is added"
_FIRST = """
Your management cluster has been initialized successfully!

You can now create your first workload cluster by running the following:

  kapy generate cluster [name] --kubernetes-version [version] | kubectl apply -f -
"""


class _Init(Command, Lazy):
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
    "--validate/--no-validate", default=True, help="Refuse what would not work; yes by default."
)
@click.option(
    "--run",
    "programs",
    multiple=True,
    metavar="TYPE-NAME=PATH",
    help="Run this program in place of a provider's image, on an embedded plane (repeatable).",
)
@waiting("installed")
@certificates
@management
@click.pass_context
def init(context: click.Context, /, names: Names, programs: tuple[str, ...], **given: Any) -> None:
    """Initialize a management cluster.

    Installs Cluster API's core provider with the kubeadm bootstrap and control plane providers
    where none is installed yet, and the providers that are named. `kapy config repositories` lists
    those that can be had; `kapy generate provider --describe` the variables that one needs.
    """
    if context.invoked_subcommand is not None:
        return
    from kapy.clusterctl.install import How
    from kapy.clusterctl.install.asked import Asked

    wait = float(given["wait_provider_timeout"]) if given["wait_providers"] else None
    how = How(wait=wait, validate=given["validate"], certificates=given["certificates"])
    asked = Asked(names, given["target_namespace"])
    place = given["kubeconfig"], given["kubeconfig_context"]
    if finished(partial(_init, asked, how, place, _commands(programs)), again=_AGAIN):
        click.echo(_FIRST, err=True)


def _commands(programs: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Commands by provider label. Raises click.UsageError."""
    found: dict[str, tuple[str, ...]] = {}
    for one in programs:
        label, equals, path = one.partition("=")
        if not equals or not label or not path:
            raise click.BadParameter(f"{one!r} has not the form TYPE-NAME=PATH", param_hint="--run")
        found[label] = (path,)
    return found


async def _init(
    asked: Asked,
    how: How,
    place: tuple[str, str],
    commands: Mapping[str, tuple[str, ...]],
    say: Steps,
) -> bool:
    from kapy._aio.clock import system_clock
    from kapy.clusterctl import install

    async with AsyncExitStack() as stack:
        there = await stack.enter_async_context(reached_async(*place, ""))
        how = await prepared(stack, there.client, how, say)
        if commands:
            from kapy.apps.local_programs import local_programs, plane_folder

            folder = await plane_folder(there.client)
            how = with_step(how, stack.enter_context(local_programs(folder, commands)))
        return await install.init(
            there.client, config(), asked, how=how, clock=system_clock, say=say
        )


@command("list-images")
@provider_flags("whose images are listed")
@certificates
@management
@click.pass_context
def list_images(context: click.Context, /, names: Names, **given: Any) -> None:
    """List the container images that initializing the management cluster needs.

    Nothing is changed.
    """
    from kapy.clusterctl.install.asked import Asked

    above = context.parent.params if context.parent is not None else {}
    place = tuple(given[one] or above.get(one, "") for one in ("kubeconfig", "kubeconfig_context"))
    work = partial(_images, Asked(names), given["certificates"], place)
    for image in finished(work, again="nothing was changed"):
        click.echo(image)


async def _images(asked: Asked, issuer: Any, place: tuple[str, ...], _: Steps) -> list[str]:
    from kapy.clusterctl.install.images import list_images

    async with reached_async(place[0], place[1], "") as there:
        return await list_images(there.client, config(), asked, certificates=issuer)
