"""`kapy top`: shows all clusters and their reasons for waiting, live."""

from __future__ import annotations

import asyncio
import sys
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING, Final

import click

from kapy.cli.client_options import client_options, open_async_client
from kapy.cli.event_loop import run
from kapy.cli.flags import command
from kapy.cli.live_screen import show_live

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console, ConsoleDimensions, RenderableType

    from kapy.ui.query import FleetQuery, FleetView

COLUMNS: Final = (
    "NAMESPACE", "CLUSTER", "STATE", "VERSION", "CP", "WORKERS", "AGE", "SINCE", "WAITS FOR",
)  # fmt: skip
OMITTED: Final = ((90, ("NAMESPACE", "VERSION", "AGE")), (60, ("CP", "WORKERS", "SINCE")))
"""Columns that make room for the reasons on terminals with fewer columns than a number."""
MOODS: Final = {
    "failing": "bold red",
    "degraded": "red",
    "deleting": "yellow",
    "provisioning": "cyan",
    "updating": "cyan",
    "paused": "yellow",
    "ready": "green",
}


@command()
@click.argument("search", nargs=-1)
@client_options
@click.option(
    "--sort", default="state", show_default=True, help="Column to sort by; - before it reverses."
)
@click.option("--once", is_flag=True, help="Print the table once; usual where piped.")
def top(
    search: tuple[str, ...],
    kubeconfig: str,
    kubeconfig_context: str,
    namespace: str,
    sort: str,
    once: bool,
) -> None:
    """Show all clusters and what they wait for, live, until Ctrl-C.

    SEARCH restricts the clusters as on the page of `kapy ui`: parts of names, labels, versions,
    states and reasons, or `ns:`, `class:`, `version:`, `label:`, `state:`, `phase:` and `why:` with
    one.
    """
    from kapy.ui.query import SORT_KEYS, FleetQuery

    if sort.removeprefix("-") not in SORT_KEYS:
        raise click.BadParameter(f"--sort is {sort!r}; it is one of {', '.join(SORT_KEYS)}")
    query = FleetQuery(search=" ".join(search), sort=sort, size=500)
    place = (kubeconfig, kubeconfig_context, namespace)
    run(_follow(place, query, once=once or not sys.stdout.isatty()))


async def _follow(place: tuple[str, str, str], query: FleetQuery, *, once: bool) -> None:
    from rich.console import Console

    from kapy._aio.clock import system_clock
    from kapy.ui.fleet import Fleet
    from kapy.ui.live import pause_after
    from kapy.ui.query import view_of

    async with open_async_client(*place) as connected, asyncio.TaskGroup() as group:
        fleet = Fleet(connected.client, [place[2]], Random())
        following = group.create_task(fleet.run())
        try:
            view, seconds = view_of(await fleet.rows(), query), 0.0
            if fleet.failure is not None and not view.all_clusters:
                raise fleet.failure
            if once:
                Console().print(table_of(view, system_clock()))
                return

            async def refresh() -> None:
                nonlocal view, seconds
                began = perf_counter()
                view = view_of(await fleet.rows(), query)
                seconds = perf_counter() - began

            def draw(console: Console) -> RenderableType:
                return table_of(view, system_clock(), console.size)

            async with fleet.subscribe(fleet.version) as subscription:
                await show_live(
                    draw,
                    change=subscription.wait,
                    refresh=refresh,
                    pause=lambda: pause_after(seconds),
                )
        finally:
            following.cancel()


def table_of(
    view: FleetView, now: datetime, size: ConsoleDimensions | None = None
) -> RenderableType:
    """Return the table of clusters, with a line of counts above. size: the size of the terminal,
    None for all rows.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from kapy.ui.rendering import STATE_WORDS, ago

    counts = Text("  ").join(
        Text(f"{STATE_WORDS[state]} {count}", MOODS[state])
        for state, count in view.counts.items()
        if count
    )
    width = OMITTED[0][0] if size is None else size.width
    omitted = {title for limit, titles in OMITTED if width < limit for title in titles}
    titles = [title for title in COLUMNS if title not in omitted]
    table = Table(box=None, pad_edge=False, expand=size is not None)
    for title in titles:
        wide = title == "WAITS FOR"
        table.add_column(title, no_wrap=True, overflow="ellipsis", ratio=1 if wide else None)
    rows = [row for group in view.groups for row in group.rows]
    shown = rows if size is None else rows[: max(size.height - 4, 1)]
    for row in shown:
        cells = {
            "NAMESPACE": Text(row.key.namespace),
            "CLUSTER": Text(row.key.name),
            "STATE": Text(STATE_WORDS[row.state], MOODS[row.state]),
            "VERSION": Text(row.version),
            "CP": Text("{}/{}".format(*row.control_plane)),
            "WORKERS": Text("{}/{}".format(*row.workers)),
            "AGE": Text(ago(row.created, now)),
            "SINCE": Text(ago(row.since, now) if row.why else ""),
            "WAITS FOR": Text(row.headline),
        }
        table.add_row(*(cells[title] for title in titles))
    rest = view.total - len(shown)
    return Group(counts, table, Text(f"… {rest} more" if rest > 0 else "", "dim"))
