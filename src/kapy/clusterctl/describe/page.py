"""The tree as one self-contained HTML page: no script, no style sheet, no network."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from html import escape
from typing import Final

from kapy.clusterctl.describe.row import row_of, title_of
from kapy.clusterctl.describe.tree import Node, conditions

_STYLE: Final = """\
body{font:14px/1.5 system-ui,sans-serif;margin:2em;color:#222}
ul{list-style:none;padding-left:1.4em;border-left:1px solid #ddd}
summary{cursor:pointer}.good{color:#17803d}.bad{color:#b91c1c}.unknown{color:#a16207}
.plain,.quiet{color:#666}table{margin:.2em 0 .6em 1.4em;border-collapse:collapse}
td{padding:.1em .8em .1em 0;vertical-align:top;white-space:pre-wrap}
"""


def page(root: Node, *, now: datetime) -> str:
    """Return an HTML page with a collapsible tree of objects and their conditions."""
    title = escape(f"{root.kind} {root.name}")
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        f"<style>\n{_STYLE}</style></head><body><h1>{title}</h1>",
        f'<p class="quiet">as of {escape(now.isoformat(timespec="seconds"))}</p><ul>',
        *_item(root, now),
        "</ul></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _item(node: Node, now: datetime) -> Iterator[str]:
    row = row_of(node, now)
    kind, name, version = title_of(node)
    words = " ".join(escape(item) for item in (name, version) if item)
    result = " ".join(
        counter for counter in (*row.counters[:1], row.status, row.reason, row.since) if counter
    )
    message = " ".join(line for line in row.message if line)
    yield (
        f'<li><details open><summary>{escape(kind)} <b>{words}</b> <span class="{row.mood}">'
        f'{escape(result)}</span> <span class="quiet">{escape(message)}</span></summary>'
    )
    yield from _conditions(node)
    if node.children:
        yield "<ul>"
        for child in node.children:
            yield from _item(child, now)
        yield "</ul>"
    yield "</details></li>"


def _conditions(node: Node) -> Iterator[str]:
    result = conditions(node.document) if node.document is not None else []
    if not result:
        return
    yield "<details><summary class=quiet>conditions</summary><table>"
    for item in result:
        cells = (item.get(key) or "" for key in ("type", "status", "reason", "message"))
        yield "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"
    yield "</table></details>"
