"""Options of commands for one machine, and the connection to its console."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kapy.cli.client_options import client_options, open_async_client
from kapy.kube import Key

if TYPE_CHECKING:
    from kapy.sdk.console import MachineConsole, MachineTarget

F = TypeVar("F", bound=Callable[..., Any])


def machine_options(command: F) -> F:
    """Return the management cluster's options, and `--provider`."""
    option = click.option(
        "--provider",
        "providers",
        multiple=True,
        metavar="MODULE[:NAME]",
        help="Custom provider of the machine, if its package is not installed (may be repeated).",
    )
    return client_options(option(command))


@asynccontextmanager
async def open_console(
    name: str, place: tuple[str, str, str], providers: Sequence[str]
) -> AsyncIterator[tuple[MachineConsole, MachineTarget]]:
    """The console of a machine, and the machine. Raises ConsoleUnavailable, NoMachine."""
    from kapy.apps.consoles import console_of
    from kapy.clusterctl.machine_targets import machine_target

    async with open_async_client(*place) as there:
        target = await machine_target(there.client, Key(there.namespace, name))
    async with console_of(target.infra, providers) as console:
        yield console, target
