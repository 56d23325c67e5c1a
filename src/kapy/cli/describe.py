"""`kapy describe cluster`."""

from __future__ import annotations

import json
import os
import sys

import click

from kapy.cli.reaching import reached, reaching
from kapy.client.blocking import run
from kapy.kube import Key
from kapy.kube.errors import KapyError, NotFound


class NoCluster(KapyError):
    """There is no such cluster."""


@click.command()
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
    text = run(_described(name, place, options, wants_color(color), output))
    click.echo(text, nl=False, color=True)


async def _described(
    name: str, place: tuple[str, str, str], options: object, color: bool, output: str | None
) -> str:
    from kapy._aio.clock import system_clock
    from kapy.clusterctl.describe import ClientSource, Options, as_document, discover, table

    assert isinstance(options, Options)
    with reached(*place) as there:
        key = Key(there.namespace, name)
        try:
            tree = await discover(ClientSource(there.client), key, options)
        except NotFound as error:
            raise NoCluster(
                f"{error} in namespace {there.namespace}; `kubectl get clusters -A` lists the "
                "clusters that there are"
            ) from None
    if output == "json":
        return json.dumps(as_document(tree), indent=2) + "\n"
    return table(tree, now=system_clock(), color=color)


def wants_color(asked: bool | None) -> bool:
    """Whether output is coloured: as asked, but never with NO_COLOR; else on a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    return sys.stdout.isatty() if asked is None else asked
