"""Runs operations on a management cluster, with progress messages and a clean stop."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kapy.cli.console import Console
from kapy.kube.errors import Forbidden, KapyError, Unauthorized

if TYPE_CHECKING:
    from kapy.kube import Document

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


class Interrupted(KapyError):
    """Somebody pressed Ctrl-C."""


def run_with_steps(work: Callable[[ProgressSteps], Coroutine[Any, Any, T]], *, again: str) -> T:
    """Return the result of an operation that needs an event loop and reports its steps.

    again: the hint for a user who interrupted it with Ctrl-C. Raises Stopped.
    """
    import asyncio

    steps = ProgressSteps()
    try:
        result = asyncio.run(work(steps))
        steps.end()
        return result
    except KeyboardInterrupt:
        raise Interrupted(f"stopped in the middle; {again}") from None
    except (Forbidden, Unauthorized) as error:
        raise MissingRights(
            f"{error}; a management cluster is changed with the rights of its administrator, whom "
            "--kubeconfig and --kubeconfig-context name"
        ) from None
    finally:
        steps.stop()


class MissingRights(KapyError):
    """The kubeconfig's user lacks rights that the command needs."""


class ProgressSteps:
    """Prints steps on standard error; on a terminal, the current one has a spinner."""

    def __init__(self) -> None:
        self._console = Console(json=True) if sys.stderr.isatty() else None
        self._step = ""

    def __call__(self, text: str, /, **values: str | Document) -> None:
        from kapy.clusterctl.progress import line

        result = line(text, values)
        if self._console is None:
            click.echo(result, err=True)
            return
        self.end()
        self._step = result
        self._console.step(result)

    def end(self) -> None:
        """Mark the current step as done."""
        if self._console is not None and self._step:
            self._console.done(self._step)
        self.stop()

    def stop(self) -> None:
        """Stop the current step, done or not."""
        self._step = ""
        if self._console is not None:
            self._console.end()


def management_flags(command: F) -> F:
    """Return the flags of commands that reach one management cluster."""
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


def certificate_flag(command: F) -> F:
    """Return the flag that selects the issuer of certificates."""
    option = click.option(
        "--certificates",
        type=click.Choice(["auto", "cert-manager", "kapy"]),
        default="auto",
        show_default=True,
        help="Issuer of the certificates of webhooks; auto: cert-manager where it is installed, "
        "else kapy's own authority.",
    )
    return option(command)


def wait_flags(objects: str) -> Callable[[F], F]:
    """Return the flags --wait-providers and --wait-provider-timeout. objects: the objects to wait
    for.
    """

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
                "--wait-providers", is_flag=True, help=f"Wait for providers to be {objects}."
            ),
        ):
            command = option(command)
        return command

    return decorated
