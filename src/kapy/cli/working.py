"""Running what changes a management cluster: told step by step, and stopped in a clean way."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kapy.kube.errors import KapyError

if TYPE_CHECKING:
    from kapy.kube import Document

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


class Stopped(KapyError):
    """Somebody pressed Ctrl-C."""


def finished(work: Coroutine[Any, Any, T], *, again: str) -> T:
    """The result of work that needs an event loop.

    again: what to do where Ctrl-C ended it in the middle. Raises Stopped.
    """
    import asyncio

    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        raise Stopped(f"stopped in the middle; {again}") from None


def say(text: str, /, **values: str | Document) -> None:
    """Tell a step, on standard error."""
    from kapy.clusterctl.progress import line

    click.echo(line(text, values), err=True)


def management(command: F) -> F:
    """The flags of commands that reach one management cluster."""
    for option in (
        click.option(
            "--kubeconfig-context",
            default="",
            help="Context to use, instead of the current one.",
        ),
        click.option(
            "--kubeconfig",
            default="",
            help="Kubeconfig of the management cluster, instead of $KUBECONFIG or ~/.kube/config.",
        ),
    ):
        command = option(command)
    return command


def certificates(command: F) -> F:
    """The flag that says who issues certificates."""
    option = click.option(
        "--certificates",
        type=click.Choice(["auto", "cert-manager", "kapy"]),
        default="auto",
        show_default=True,
        help="Who issues the certificates of webhooks; auto: cert-manager where it is installed, "
        "else kapy's own authority.",
    )
    return option(command)


def waiting(what: str) -> Callable[[F], F]:
    """The flags --wait-providers and --wait-provider-timeout. what: is waited for."""

    def decorated(command: F) -> F:
        for option in (
            click.option(
                "--wait-provider-timeout",
                type=int,
                default=300,
                show_default=True,
                help="Seconds to wait for each provider, with --wait-providers.",
            ),
            click.option(
                "--wait-providers", is_flag=True, help=f"Wait for providers to be {what}."
            ),
        ):
            command = option(command)
        return command

    return decorated
