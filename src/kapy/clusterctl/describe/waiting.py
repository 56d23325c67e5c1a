"""The reasons for which objects of a cluster are not ready, and since when: one line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from kapy.clusterctl.describe.row import wrap_text
from kapy.clusterctl.describe.tree import Node, condition
from kapy.kube import Document
from kapy.kube.duration import age

MAIN: Final = ("Available", "Ready", "MachinesReady")
BUSY_REASONS: Final = ("Remediating", "RollingOut", "ScalingUp", "ScalingDown", "Updating")
MIN_REASON_WIDTH: Final = 48
"""The minimum width of the reason column; with less, reasons are printed below their object."""
HEADER: Final = ("OBJECT", "SINCE", "WAITS FOR")


@dataclass(frozen=True, slots=True)
class Wait:
    """The reason for which one object is not ready. since: RFC 3339, "" if unknown."""

    kind: str
    name: str
    since: str
    why: str


def waits(root: Node) -> list[Wait]:
    """Return the unready objects of a tree, from top to bottom; in a grouped tree, machines in
    groups are not listed.
    """
    result = ((node, wait_of(node.document)) for node in root.walk() if node.document is not None)
    return [Wait(node.kind, node.name, *wait) for node, wait in result if wait is not None]


def waits_table(waits: Sequence[Wait], now: datetime, *, width: int | None = None) -> str:
    """Return the list as text, in columns.

    width: the columns of the terminal, at which messages are wrapped. By default lines are not
    wrapped.
    """
    if not waits:
        return "Nothing is waited for.\n"
    rows = [HEADER, *(row for wait in waits for row in _rows(wait, now))]
    widths = [max(len(row[column]) for row in rows) + 2 for column in range(2)]
    lines = (line for row in rows for line in _lay_out(row, widths, width))
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _lay_out(row: Sequence[str], widths: Sequence[int], width: int | None) -> Iterator[str]:
    """The lines of one row: the message beside the columns, or below where there is no room."""
    name, since, reason = row
    columns = f"{name:<{widths[0]}}{since:<{widths[1]}}"
    if width is None:
        yield columns + reason
        return
    if width - len(columns) >= MIN_REASON_WIDTH:
        first, *rest = wrap_text(reason, width - len(columns))
        yield columns + first
        yield from (" " * len(columns) + line for line in rest)
        return
    if columns.strip():
        yield from _heading(name, since, columns, reason if row is HEADER else "", width)
    if row is not HEADER:
        yield from (f"    {line}" for line in wrap_text(reason, width - 4))


def _heading(name: str, since: str, columns: str, reason: str, width: int) -> Iterator[str]:
    """The line above a message, or two where one is too long."""
    for line in (columns + reason, columns.rstrip(), f"{name}  {since}"):
        if len(line) <= width:
            yield line
            return
    kind, _, rest = name.partition(" ")
    yield kind
    yield f"  {rest}  {since}"


def _rows(wait: Wait, now: datetime) -> Iterator[tuple[str, str, str]]:
    first, *rest = wait.why.split("\n")
    since = ""
    if wait.since:
        since = age(max(now - datetime.fromisoformat(wait.since), timedelta(0)))
    yield f"{wait.kind} {wait.name}", since, first
    for line in rest:
        yield "", "", line


def wait_of(document: Document) -> tuple[str, str] | None:
    """Since when and why an object is not ready: first a pause, which stops all else; then
    deletion, then its own conditions.

    A topology that is not reconciled explains more than what follows from it: a hook that blocks,
    or versions that are left.
    """
    paused = condition(document, "Paused")
    if paused is not None and paused.get("status") == "True":
        return _reason_and_message(paused)
    if document["metadata"].get("deletionTimestamp"):
        return _end(document)
    topology = condition(document, "TopologyReconciled")
    if topology is not None and topology.get("status") == "False":
        return _reason_and_message(topology)
    conditions = (condition(document, of) for of in MAIN)
    unready = [item for item in conditions if item is not None and item.get("status") != "True"]
    if unready:  # a Machine that is not available because it is not ready says why in Ready only
        return _reason_and_message(
            next((item for item in unready if item.get("message")), unready[0])
        )
    for of in BUSY_REASONS:
        busy = condition(document, of)
        if busy is not None and busy.get("status") == "True":
            return _reason_and_message(busy)
    return _unready_node(document)


def _end(document: Document) -> tuple[str, str]:
    metadata = document["metadata"]
    deleting = condition(document, "Deleting")
    if deleting is not None and deleting.get("status") == "True" and deleting.get("message"):
        return _reason_and_message(deleting)
    held = ", ".join(metadata.get("finalizers") or ()) or "its dependents"
    return metadata["deletionTimestamp"], f"Deleting: held by {held}"


def _reason_and_message(condition: Document) -> tuple[str, str]:
    """Return a condition as text: reason and message."""
    reason = (
        condition.get("reason")
        or f"{condition['type']} is {condition.get('status', 'not reported')}"
    )
    message = condition.get("message") or ""
    separator = ":\n" if message.startswith("* ") else ": " if message else ""
    return condition.get("lastTransitionTime") or "", f"{reason}{separator}{message}"


def _unready_node(document: Document) -> tuple[str, str] | None:
    """Return the state of objects without v1beta2 conditions: v1beta1 conditions, or a plain
    field.
    """
    status = document.get("status") or {}
    for item in _legacy(status):
        if item.get("type") == "Ready" and item.get("status") != "True":
            return _reason_and_message(item)
    if any(condition(document, of) is not None for of in MAIN):
        return None
    done = status.get("initialization") or {}
    waited = [name for name, value in done.items() if value is False]
    if status.get("ready") is False:
        waited.append("ready")
    if not waited:
        return None
    names = ", ".join(waited)
    return document["metadata"].get("creationTimestamp") or "", f"{names}: not yet reported as true"


def _legacy(status: Document) -> Iterator[Any]:
    for item in status.get("conditions") or ():
        if isinstance(item, dict) and "severity" in item:
            yield item
