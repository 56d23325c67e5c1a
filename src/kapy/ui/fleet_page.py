"""The main page: a table of all clusters that the viewer may see."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from kapy.kube.digits import parse_digits
from kapy.ui.live import change_events
from kapy.ui.page import PageContext
from kapy.ui.query import GROUPINGS, PAGE_SIZES, SORT_KEYS, FleetView, query_of, view_of
from kapy.ui.rights import MOST_NAMESPACES
from kapy.ui.rows import STATES
from kapy.ui.web import WebResponse

TEXT: Final = 2000
"""Characters of names, labels and reasons that count as one row more."""

TITLES: Final = {"name": "Cluster", "waiting": "Waits for"}
COLUMNS: Final = [(key, TITLES.get(key, key.replace("-", " ").capitalize())) for key in SORT_KEYS]
"""The columns, each of which sorts; titles other than their keys are in TITLES."""


async def show_fleet(context: PageContext) -> WebResponse:
    """Return the page with the table of clusters."""
    fleet = await context.viewer.fleet(context.group)
    rows, version = await fleet.rows(), fleet.version
    query = query_of(context.request.query)

    def values() -> dict[str, Any]:
        view = view_of(rows, query)
        return {"view": view, "pages": _page_links(view)}

    return await context.page(
        "fleet.html",
        title="Clusters",
        rows=len(rows) + sum(len(row.search) for row in rows) // TEXT,
        compute_values=values,
        query=query,
        version=version,
        columns=COLUMNS,
        states=STATES,
        groupings=GROUPINGS,
        sizes=PAGE_SIZES,
        failure=str(fleet.failure or ""),
        namespaces=fleet.namespaces,
        untried=context.viewer.untried,
        most_namespaces=MOST_NAMESPACES,
    )


async def stream_fleet(context: PageContext) -> WebResponse:
    """Stream the changes of the table."""
    fleet = await context.viewer.fleet(context.group)
    subscribe = partial(fleet.subscribe, parse_digits(context.request.query.get("since", "")))
    return change_events(subscribe, lambda: context.viewer.page_seconds.get("", 0.0))


def _page_links(view: FleetView) -> list[int]:
    """Return the pages around this one, the first and the last one."""
    here = min(view.query.page, view.pages)
    return sorted({1, view.pages, *range(max(here - 2, 1), min(here + 2, view.pages) + 1)})
