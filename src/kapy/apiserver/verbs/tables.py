"""Tables, the output of `kubectl get` (`as=Table` of meta.k8s.io)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from kapy._aio.clock import Clock
from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.resources.builtin.printer import AgeCell, DurationCell, Printer
from kapy.apiserver.resources.builtin.printers import PRINTERS
from kapy.apiserver.resources.jsonpath import find_values
from kapy.apiserver.resources.kind import Column, Kind
from kapy.kube import Document
from kapy.kube.errors import BadRequest

INCLUDE = ("", "None", "Metadata", "Object")


@cache
def _descriptions() -> Document:
    """Return the descriptions of columns, which are part of the API."""
    file = resources.files("kapy.apiserver.resources.builtin") / "columns.json"
    words: Document = msgspec.json.decode(file.read_bytes())
    return words


def definition(column: Column) -> Document:
    """Return a column definition of a Table."""
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def columns_of(kind: Kind) -> tuple[Column, ...]:
    """Return the columns of a kind, the name first."""
    words = _descriptions()
    name = Column("Name", "string", format="name", description=words["name"])
    if kind.custom:
        age = Column("Age", "date", ".metadata.creationTimestamp", description=words["created"])
        return (name, *(_custom_column(column) for column in kind.columns or (age,)))
    printer = PRINTERS.get(kind.table)
    if printer is None:
        return (name, Column("Created At", "date", description=words["created"]))
    return (*((name,) if printer.named else ()), *_printer_columns(kind, printer, words))


def _printer_columns(kind: Kind, printer: Printer, words: Document) -> Iterable[Column]:
    for title, shape, priority, text in printer.columns:
        column = words["created"] if title == "Age" else text
        column = words["columns"].get(f"{kind.table}/{title}", column)
        form = "name" if title == "Name" else ""
        yield Column(title, shape, format=form, description=column, priority=priority)


def _custom_column(column: Column) -> Column:
    if column.description:
        return column
    text = f"Custom resource definition column (in JSONPath format): {column.path}"
    return Column(column.name, column.type, column.path, column.format, text, column.priority)


def object_table(
    context: RequestContext,
    documents: Sequence[Document],
    version: str,
    metadata: Document,
    clock: Clock,
) -> Document:
    """Return the Table of some objects. Raises BadRequest."""
    kind, now = context.kind, clock()
    columns = columns_of(kind)
    rows = [(cells(kind, columns, document, now), document) for document in documents]
    return _table(context, columns, rows, version, metadata)


def _table(
    context: RequestContext,
    columns: Sequence[Column],
    rows: Iterable[tuple[list[Any], Document]],
    version: str,
    metadata: Document,
) -> Document:
    include = check_include(context)
    list_fields = ("resourceVersion", "continue", "remainingItemCount")
    unprinted = not context.kind.custom and context.kind.table not in PRINTERS
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": {key: metadata[key] for key in list_fields if metadata.get(key)},
        "columnDefinitions": [definition(column) for column in columns],
        "rows": [
            {"cells": row, "object": _include_object(document, include, version)}
            for row, document in rows
        ]
        or (None if unprinted else []),
    }


def scale_table(context: RequestContext, scale: Document, version: str, clock: Clock) -> Document:
    """Return the Table of a Scale. Raises BadRequest."""
    words, custom = _descriptions(), context.kind.custom
    columns = (
        Column("Name", "string", format="name" if custom else "", description=words["name"]),
        Column("Desired", "integer", description=_DESIRED[custom]),
        Column("Available", "integer", description=_AVAILABLE[custom]),
        Column("Age", "date" if custom else "string", description=words["created"]),
    )
    metadata = scale["metadata"]
    replicas = scale["spec"].get("replicas", 0), scale["status"].get("replicas", 0)
    row = [metadata["name"], *replicas, format_age(metadata.get("creationTimestamp"), clock())]
    return _table(context, columns, [(row, scale)], version, metadata)


_DESIRED = (
    "replicas is the desired number of instances for the scaled object.",
    "Number of desired replicas",
)
_AVAILABLE = (
    "replicas is the actual number of observed instances of the scaled object.",
    "Number of actual replicas",
)
"""Descriptions for built-in kinds and for custom ones."""


def check_include(context: RequestContext) -> str:
    """Return the parameter `includeObject`, which selects the part of each object that rows
    include.

    Raises BadRequest.
    """
    include = context.request.query.get("includeObject", "")
    if include not in INCLUDE:
        raise BadRequest(
            "Unable to convert to Table as requested: includeObject: Invalid value: "
            f"\"{include}\": must be 'Metadata', 'Object', 'None', or empty"
        )
    return include


def _include_object(document: Document, include: str, version: str) -> Document | None:
    if include == "None" and not _is_initial_events_end(document):
        return None
    if include == "Object":
        return document
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": document["metadata"],
    }


def _is_initial_events_end(document: Document) -> bool:
    """Report whether a document is the bookmark that ends the initial events of a watch."""
    annotations = document["metadata"].get("annotations")
    return "creationTimestamp" not in document["metadata"] and bool(
        annotations and "k8s.io/initial-events-end" in annotations
    )


def cells(kind: Kind, columns: Sequence[Column], document: Document, now: datetime) -> list[Any]:
    """Return the cells of the row of one object."""
    name = document["metadata"].get("name", "")  # a bookmark has none
    if kind.custom:
        return [name, *(_cell(document, column, now) for column in columns[1:])]
    printer = PRINTERS.get(kind.table)
    created = document["metadata"].get("creationTimestamp")
    if printer is None:
        return [name, created]
    row = [_format_cell(cell, now) for cell in printer.cells(document)]
    ages = [at for at, column in enumerate(printer.columns) if column[0] == "Age"]
    for at in ages:
        row.insert(at, format_age(created, now))
    return [name, *row] if printer.named else row


def _format_cell(cell: Any, now: datetime) -> Any:
    """Format a printer's cell; ages and durations like kubectl."""
    match cell:
        case AgeCell(moment):
            return format_age(moment, now)
        case DurationCell(None, _):
            return ""
        case DurationCell(start, end):
            return format_age(start, datetime.fromisoformat(end) if end else now)
        case _:
            return cell


def _cell(document: Document, column: Column, now: datetime) -> Any:
    value = next(find_values(document, column.path), None)
    if value is None:
        return None
    match column.type:
        case "integer":
            return int(value) if isinstance(value, int | float) else None
        case "number":
            return value if isinstance(value, int | float) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date":
            return format_age(value, now)
        case _:
            return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def format_age(stamp: Any, now: datetime) -> str:
    """Return the time since a moment in kubectl's format."""
    if not isinstance(stamp, str):
        return "<unknown>"
    try:
        moment = datetime.fromisoformat(stamp)
        return human_duration(int((now - moment).total_seconds()))
    except (ValueError, TypeError):
        return "<invalid>"


def human_duration(seconds: int) -> str:
    """Format a duration in at most two units (`duration.HumanDuration`)."""
    if seconds < -1:
        return "<invalid>"
    seconds = max(0, seconds)
    for limit, size, unit, smaller, smaller_unit in _UNITS:
        if seconds < limit:
            whole, rest = divmod(seconds, size)
            return _pair(whole, unit, rest // smaller if smaller else 0, smaller_unit)
    return f"{seconds // (365 * 86400)}y"


_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400
_UNITS = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (180 * _MINUTE, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (48 * _HOUR, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)
"""Limits in seconds with the unit, and the smaller unit, used below each of them."""


def _pair(value: int, unit: str, two: int, smaller: str) -> str:
    return f"{value}{unit}{two}{smaller}" if two else f"{value}{unit}"
