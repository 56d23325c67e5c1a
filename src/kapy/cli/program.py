"""Runs a controller program until it is stopped."""

from __future__ import annotations

import sys
from contextlib import AbstractAsyncContextManager

import click

from kapy.cli.event_loop import run
from kapy.cli.stopping import told_to_stop
from kapy.engine.runtime import Runtime


def run_until_stopped(
    program: AbstractAsyncContextManager[Runtime], name: str, server: str
) -> None:
    """Run a program that `kapy.apps.program.running.started` creates. name, server: for the start
    message."""
    run(_run(program, f"{name} is at {server}"))


async def _run(program: AbstractAsyncContextManager[Runtime], where: str) -> None:
    with told_to_stop() as asked:
        async with asked.beginning("it") as ready, program:
            ready()
            click.echo(where)
            sys.stdout.flush()
            await asked.wait()
            click.echo("stopping")
        click.echo("stopped")
