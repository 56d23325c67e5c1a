"""Runs a controller program until it is stopped."""

from __future__ import annotations

import sys
from contextlib import AbstractAsyncContextManager

import click

from kapy.cli.event_loop import run
from kapy.cli.signals import handle_stop_signals
from kapy.engine.runtime import Runtime


def run_until_stopped(
    program: AbstractAsyncContextManager[Runtime], name: str, server: str
) -> None:
    """Run a program that `kapy.apps.program.process.run_process` creates. name, server: for the
    start message.
    """
    run(_run(program, f"{name} is at {server}"))


async def _run(program: AbstractAsyncContextManager[Runtime], server: str) -> None:
    with handle_stop_signals() as stop:
        async with stop.start("it") as ready, program:
            ready()
            click.echo(server)
            sys.stdout.flush()
            await stop.wait()
            click.echo("stopping")
        click.echo("stopped")
