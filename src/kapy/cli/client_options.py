"""Options and clients of commands that read a management plane through a kubeconfig."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from kapy.client.client import Client
    from kapy.client.kubeconfig import Kubeconfig

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class ConnectedClient:
    """A management plane and the selected namespace."""

    client: Client
    namespace: str


def client_options(command: F) -> F:
    """Add clusterctl's options to a command: --kubeconfig, --kubeconfig-context, --namespace."""
    for option in (
        click.option("-n", "--namespace", default="", help="Namespace of the cluster."),
        click.option(
            "--kubeconfig-context", default="", help="Context to use, instead of the current one."
        ),
        click.option(
            "--kubeconfig",
            default="",
            help="Kubeconfig of the management plane, instead of $KUBECONFIG or ~/.kube/config.",
        ),
    ):
        command = option(command)
    return command


@contextmanager
def open_client(
    kubeconfig: str, kubeconfig_context: str, namespace: str
) -> Iterator[ConnectedClient]:
    """A client of the management plane that the options name. Raises KubeconfigError.

    Its requests block: run the coroutines that use it with `kapy._aio.without_event_loop`.
    """
    access = kubeconfig_of(kubeconfig, kubeconfig_context)
    # A missing kubeconfig is reported before these slow imports.
    from kapy.client.blocking import BlockingApiTransport
    from kapy.client.client import Client

    transport = BlockingApiTransport(access)
    try:
        client = Client(transport, field_manager="kapy")
        yield ConnectedClient(client, namespace or access.namespace or "default")
    finally:
        transport.close()


@asynccontextmanager
async def open_async_client(
    kubeconfig: str, kubeconfig_context: str, namespace: str
) -> AsyncIterator[ConnectedClient]:
    """Open a client like `open_client`, for commands that watch or send concurrent requests."""
    from kapy.client.client import Client
    from kapy.client.https import ApiTransport

    access = kubeconfig_of(kubeconfig, kubeconfig_context)
    transport = ApiTransport(access)
    try:
        client = Client(transport, field_manager="kapy")
        yield ConnectedClient(client, namespace or access.namespace or "default")
    finally:
        await transport.aclose()


def kubeconfig_of(kubeconfig: str, kubeconfig_context: str) -> Kubeconfig:
    """Return the server and credential that the options name. Raises KubeconfigError."""
    from kapy.client import kubeconfig_files

    paths = kubeconfig_files.paths(os.environ, kubeconfig_files.home())
    return kubeconfig_files.load([Path(kubeconfig)] if kubeconfig else paths, kubeconfig_context)
