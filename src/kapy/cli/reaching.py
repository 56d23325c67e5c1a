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
class Reached:
    """A management plane and the selected namespace."""

    client: Client
    namespace: str


def reaching(command: F) -> F:
    """clusterctl's options: --kubeconfig, --kubeconfig-context, --namespace."""
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
def reached(kubeconfig: str, kubeconfig_context: str, namespace: str) -> Iterator[Reached]:
    """A client of the management plane that the options name. Raises KubeconfigError.

    Its requests block: run the coroutines that use it with `kapy.client.blocking.run`.
    """
    access = access_to(kubeconfig, kubeconfig_context)
    # Whoever has no kubeconfig is told so, or does without, before these are imported.
    from kapy.client.blocking import Blocking
    from kapy.client.client import Client

    transport = Blocking(access)
    try:
        client = Client(transport, field_manager="kapy")
        yield Reached(client, namespace or access.namespace or "default")
    finally:
        transport.close()


@asynccontextmanager
async def reached_async(
    kubeconfig: str, kubeconfig_context: str, namespace: str
) -> AsyncIterator[Reached]:
    """The same as `reached`, for commands that watch or send concurrent requests."""
    from kapy.client.client import Client
    from kapy.client.https import Https

    access = access_to(kubeconfig, kubeconfig_context)
    transport = Https(access)
    try:
        client = Client(transport, field_manager="kapy")
        yield Reached(client, namespace or access.namespace or "default")
    finally:
        await transport.aclose()


def access_to(kubeconfig: str, kubeconfig_context: str) -> Kubeconfig:
    """The server and credential that the options name. Raises KubeconfigError."""
    from kapy.client import kubeconfig_files

    paths = kubeconfig_files.paths(os.environ, kubeconfig_files.home())
    return kubeconfig_files.load([Path(kubeconfig)] if kubeconfig else paths, kubeconfig_context)
