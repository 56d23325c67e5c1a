"""`kapy describe cluster`: shows the objects of a workload cluster as a tree."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from kapy.cli.client_options import ConnectedClient, client_options, open_async_client, open_client
from kapy.cli.flags import command
from kapy.cli.output import terminal_width
from kapy.client.blocking import run_without_loop
from kapy.kube import Key
from kapy.kube.errors import KapyError, NotFound

if TYPE_CHECKING:
    from rich.console import Console

    from kapy.client.client import Client
    from kapy.clusterctl.describe import Node, Options

REDRAWS = 0.2
"""Seconds between two pictures of `--watch` at least: a rollout changes many objects at once."""


class NoCluster(KapyError):
    """There is no such cluster."""


@dataclass(frozen=True)
class OutputFormat:
    """The output format of a tree: a table, or one of the forms of `-o`."""

    output: str
    color: bool
    waiting: bool


@command(missing="please specify a cluster name")
@click.argument("cluster", metavar="NAME")
@client_options
@click.option(
    "--show-conditions",
    default="",
    help="Kinds or kind/name, comma-separated, to show all conditions of; `all` for everything, "
    "a + at the end shows only those that need attention.",
)
@click.option("--show-machinesets", is_flag=True, help="Show MachineSets.")
@click.option("--show-resourcesets", is_flag=True, help="Show ClusterResourceSets.")
@click.option("--show-templates", is_flag=True, help="Show templates.")
@click.option("--echo", is_flag=True, help="Show objects that only repeat what their Machine says.")
@click.option(
    "--grouping/--no-grouping", default=True, help="Show machines in the same state as one row."
)
@click.option("-c", "--color/--no-color", default=None, help="Colour, also where piped.")
@click.option(
    "--waiting/--no-waiting",
    default=None,
    help="Below the tree, what each object waits for and since when; usual on a terminal.",
)
@click.option("-w", "--watch", is_flag=True, help="Draw it again whenever something changes.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["json", "dot", "html"]),
    help="Print JSON, a graph for Graphviz, or an HTML page.",
)
def cluster(
    cluster: str,
    kubeconfig: str,
    kubeconfig_context: str,
    namespace: str,
    show_conditions: str,
    show_machinesets: bool,
    show_resourcesets: bool,
    show_templates: bool,
    echo: bool,
    grouping: bool,
    color: bool | None,
    waiting: bool | None,
    watch: bool,
    output: str | None,
) -> None:
    """Show the objects of the workload cluster NAME as a tree, with conditions and counters."""
    from kapy.clusterctl.describe import Options

    if any(part != part.strip() for part in show_conditions.split(",")):
        raise click.BadParameter(
            f'invalid --show-conditions value "{show_conditions}": whitespace is not allowed'
        )
    options = Options(
        show_conditions=show_conditions,
        show_machine_sets=show_machinesets,
        show_resource_sets=show_resourcesets,
        show_templates=show_templates,
        echo=echo,
        grouping=grouping,
    )
    place = (kubeconfig, kubeconfig_context, namespace)
    wanted = sys.stdout.isatty() if waiting is None else waiting
    output_format = OutputFormat(output or "", wants_color(color), wanted)
    if watch:
        _watch(cluster, place, options, output_format)
    else:
        run_without_loop(_print_once(cluster, place, options, output_format))


async def _print_once(
    name: str, place: tuple[str, str, str], options: Options, output_format: OutputFormat
) -> None:
    with open_client(*place) as there:
        key = Key(there.namespace, name)
        _, draw = await _read(there.client, key, options, output_format)
    click.echo(draw(), nl=False, color=True)


def _watch(
    name: str, place: tuple[str, str, str], options: Options, output_format: OutputFormat
) -> None:
    import asyncio

    async def main() -> None:
        async with open_async_client(*place) as there:
            await _redraw(there, name, options, output_format)

    asyncio.run(main())


async def _redraw(
    connected: ConnectedClient, name: str, options: Options, output_format: OutputFormat
) -> None:
    """On a terminal each picture takes the place of the one before, elsewhere it follows it."""
    import asyncio

    from kapy.clusterctl.describe.changes import follow, resources_of

    client, key = connected.client, Key(connected.namespace, name)
    changed = asyncio.Event()
    tree, draw = await _read(client, key, options, output_format)

    async def change() -> None:
        await changed.wait()
        changed.clear()

    async def refresh() -> None:
        nonlocal draw
        _, draw = await _read(client, key, options, output_format)

    async with asyncio.TaskGroup() as group:
        resources = await resources_of(client, tree)
        group.create_task(follow(client, key, resources, changed))
        if sys.stdout.isatty():
            await _show_on_terminal(lambda: draw(), change, refresh)
        while True:
            click.echo(draw(), color=True)
            await asyncio.sleep(REDRAWS)
            await change()
            await refresh()


async def _show_on_terminal(
    draw: Callable[[], str],
    change: Callable[[], Awaitable[None]],
    refresh: Callable[[], Awaitable[None]],
) -> None:
    """Draw in place until cancelled; the last picture stays on the terminal."""
    from rich.text import Text

    from kapy.cli.live_screen import show_live

    def picture(console: Console) -> Text:
        lines, height = draw().splitlines(), console.size.height
        if len(lines) > height:
            rest = len(lines) - height + 1
            lines[height - 1 :] = [f"… {rest} more lines"]
        return Text.from_ansi("\n".join(lines), no_wrap=True, overflow="crop")

    try:
        await show_live(picture, change=change, refresh=refresh, pause=lambda: REDRAWS)
    finally:
        click.echo(draw(), nl=False, color=True)


async def _read(
    client: Client, key: Key, options: Options, output_format: OutputFormat
) -> tuple[Node, Callable[[], str]]:
    """Read the tree; return it, and a function that prints it for the terminal as it is then."""
    from kapy.clusterctl.describe import EVERYTHING, ListingSource, discover

    source = ListingSource(client, key)
    try:
        tree = await discover(source, key, options)
        whole = await discover(source, key, EVERYTHING) if output_format.waiting else tree
    except NotFound as error:
        raise NoCluster(
            f"{error} in namespace {key.namespace}; `kubectl get clusters -A` lists the "
            "clusters that there are"
        ) from None
    return tree, lambda: _printer(output_format)(tree, whole)


def _printer(output_format: OutputFormat) -> Callable[[Node, Node], str]:
    from kapy._aio.clock import system_clock
    from kapy.clusterctl.describe import as_document, table, waits, waits_table

    now = system_clock()

    def tabular(tree: Node, whole: Node) -> str:
        width = terminal_width()
        below = f"\n{waits_table(waits(whole), now, width=width)}" if output_format.waiting else ""
        return table(tree, now=now, color=output_format.color, width=width) + below

    match output_format.output:
        case "json":
            return lambda tree, _: json.dumps(as_document(tree), indent=2) + "\n"
        case "dot":
            from kapy.clusterctl.describe.dot import dot

            return lambda tree, _: dot(tree, now=now)
        case "html":
            from kapy.clusterctl.describe.page import page

            return lambda tree, _: page(tree, now=now)
    return tabular


def wants_color(flag: bool | None) -> bool:
    """Return whether output is coloured: by the flag, but never with NO_COLOR; by default on a
    terminal.
    """
    if os.environ.get("NO_COLOR"):
        return False
    return sys.stdout.isatty() if flag is None else flag
