"""`kapy exec`: runs a command in a Machine."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

import click

from kapy.cli.flags import command
from kapy.cli.machine_options import machine_options, open_console


@command("exec", missing="please specify a Machine name")
@click.argument("machine", metavar="NAME")
@click.argument("words", metavar="-- COMMAND [ARGS]...", nargs=-1, type=click.UNPROCESSED)
@machine_options
@click.option("-i", "--stdin", is_flag=True, help="Pass standard input to the command.")
@click.option("-t", "--tty", is_flag=True, help="Give the command a terminal.")
def exec_machine(
    machine: str,
    words: Sequence[str],
    kubeconfig: str,
    kubeconfig_context: str,
    namespace: str,
    providers: Sequence[str],
    stdin: bool,
    tty: bool,
) -> int:
    """Run a command in the Machine NAME, and end with its exit code.

    The command runs as root, where the machine is: in a container, through the container engine
    that DOCKER_HOST or the Docker context names on this computer. Machines of providers that do
    not offer it are refused.

    \b
    kapy exec capybara-md-0-abcde -- systemctl status kubelet
    kapy exec -it capybara-md-0-abcde -- bash
    """
    if not words:
        raise click.UsageError(
            "you must specify at least one command for the machine: kapy exec NAME -- COMMAND"
        )
    if tty and not (stdin and sys.stdin.isatty()):
        reason = "input is not a terminal" if stdin else "it needs --stdin"
        click.echo(f"Unable to use a TTY - {reason}", err=True)
        tty = False
    place = (kubeconfig, kubeconfig_context, namespace)
    return asyncio.run(_run(machine, list(words), place, providers, stdin=stdin, tty=tty))


async def _run(
    name: str,
    words: list[str],
    place: tuple[str, str, str],
    providers: Sequence[str],
    *,
    stdin: bool,
    tty: bool,
) -> int:
    from kapy.cli.terminal import raw_terminal, read_input, terminal_sizes, unbuffered_writer
    from kapy.sdk.console import CommandStreams

    async with open_console(name, place, providers) as (console, target):
        with raw_terminal(enabled=tty):
            streams = CommandStreams(
                output=unbuffered_writer(sys.stdout.buffer),
                errors=unbuffered_writer(sys.stderr.buffer),
                input=read_input() if stdin else None,
                tty=tty,
                sizes=terminal_sizes() if tty else None,
            )
            return await console.execute(target, words, streams)
