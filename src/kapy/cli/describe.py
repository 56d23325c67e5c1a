"""`kapy describe cluster`."""

from __future__ import annotations

import json
import os
import sys

import click

from kapy.cli.flags import command
from kapy.cli.reaching import reached, reaching
from kapy.client.blocking import run
from kapy.kube import Key
from kapy.kube.errors import KapyError, NotFound


class NoCluster(KapyError):
    """There is no such cluster."""


@command()
@click.argument("name")
@reaching
@click.option(
    "--show-conditions",
    default="",
    help="Kinds or kind/name, comma-separated, to show all conditions of; `all` for everything, "
    "a + at the end for only those that are not as they should be.",
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
@click.option("-o", "--output", type=click.Choice(["json"]), help="Print JSON.")
def cluster(
    name: str,
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
    output: str | None,
) -> None:
    """Show the objects of the workload cluster NAME as a tree, with conditions and counters."""
    from kapy.clusterctl.describe import Options

    if any(one != one.strip() for one in show_conditions.split(",")):
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
    text = run(_described(name, place, options, wants_color(color), wanted, output))
    click.echo(text, nl=False, color=True)


async def _described(
    name: str,
    place: tuple[str, str, str],
    options: object,
    color: bool,
    waiting: bool,
    output: str | None,
) -> str:
    from kapy._aio.clock import system_clock
    from kapy.clusterctl.describe import (
        EVERYTHING,
        ClientSource,
        Options,
        as_document,
        discover,
        table,
        waits,
        waits_table,
    )

    assert isinstance(options, Options)
    with reached(*place) as there:
        key = Key(there.namespace, name)
        try:
            source = ClientSource(there.client)
            tree = await discover(source, key, options)
            whole = await discover(source, key, EVERYTHING) if waiting else tree
        except NotFound as error:
            raise NoCluster(
                f"{error} in namespace {there.namespace}; `kubectl get clusters -A` lists the "
                "clusters that there are"
            ) from None
    if output == "json":
        return json.dumps(as_document(tree), indent=2) + "\n"
    now = system_clock()
    below = f"\n{waits_table(waits(whole), now)}" if waiting else ""
    return table(tree, now=now, color=color) + below


def wants_color(asked: bool | None) -> bool:
    """Whether output is coloured: as asked, but never with NO_COLOR; else on a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    return sys.stdout.isatty() if asked is None else asked
