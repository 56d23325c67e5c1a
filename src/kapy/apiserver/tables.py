"""Tables: what `kubectl get` prints (`as=Table` of meta.k8s.io)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from kapy._aio.clock import Clock
from kapy.apiserver.ask import Ask
from kapy.apiserver.jsonpath import found
from kapy.apiserver.resources.builtin.printers import PRINTERS, Printer
from kapy.apiserver.resources.kind import Column, Kind
from kapy.kube import Document
from kapy.kube.errors import BadRequest

INCLUDE = ("", "None", "Metadata", "Object")


@cache
def _words() -> Document:
    """The sentences of column definitions that clients get on the wire."""
    file = resources.files("kapy.apiserver.resources.builtin") / "columns.json"
    words: Document = msgspec.json.decode(file.read_bytes())
    return words


def definition(column: Column) -> Document:
    """A column as the Table names it."""
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def columns_of(kind: Kind) -> tuple[Column, ...]:
    """The columns of a kind, the name first."""
    words = _words()
    name = Column("Name", "string", format="name", description=words["name"])
    if kind.custom:
        return (name, *(_custom(one) for one in kind.columns or (_AGE,)))
    printer = PRINTERS.get(kind.table)
    if printer is None:
        return (name, Column("Created At", "date", description=words["created"]))
    return (name, *_printed(kind, printer, words))


def _printed(kind: Kind, printer: Printer, words: Document) -> Iterable[Column]:
    for title, shape, priority, text in printer.columns:
        said = words["created"] if title == "Age" else text
        said = words["columns"].get(f"{kind.table}/{title}", said)
        yield Column(title, shape, description=said, priority=priority)


_AGE = Column("Age", "date", ".metadata.creationTimestamp")


def _custom(column: Column) -> Column:
    if column.description:
        return column
    text = f"Custom resource definition column (in JSONPath format): {column.path}"
    return Column(column.name, column.type, column.path, column.format, text, column.priority)


def table(
    ask: Ask, documents: Sequence[Document], version: str, metadata: Document, clock: Clock
) -> Document:
    """The Table of some objects. Raises BadRequest."""
    include = ask.request.query.get("includeObject", "")
    if include not in INCLUDE:
        raise BadRequest(
            "Unable to convert to Table as requested: includeObject: Invalid value: "
            f"\"{include}\": must be 'Metadata', 'Object', 'None', or empty"
        )
    kind, now = ask.kind, clock()
    columns = columns_of(kind)
    kept = ("resourceVersion", "continue", "remainingItemCount")
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": {key: metadata[key] for key in kept if metadata.get(key)},
        "columnDefinitions": [definition(one) for one in columns],
        "rows": [
            {
                "cells": cells(kind, columns, document, now),
                "object": _included(document, include, version),
            }
            for document in documents
        ],
    }


def _included(document: Document, include: str, version: str) -> Document | None:
    if include == "None":
        return None
    if include == "Object":
        return document
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": document["metadata"],
    }


def cells(kind: Kind, columns: Sequence[Column], document: Document, now: datetime) -> list[Any]:
    """One row."""
    name = document["metadata"]["name"]
    if kind.custom:
        return [name, *(_cell(document, column, now) for column in columns[1:])]
    printer = PRINTERS.get(kind.table)
    created = document["metadata"].get("creationTimestamp")
    if printer is None:
        return [name, created]
    row = list(printer.cells(document))
    ages = [at for at, column in enumerate(printer.columns) if column[0] == "Age"]
    for at in ages:
        row.insert(at, age(created, now))
    return [name, *row]


def _cell(document: Document, column: Column, now: datetime) -> Any:
    value = next(found(document, column.path), None)
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
            return age(value, now)
        case _:
            return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def age(stamp: Any, now: datetime) -> str:
    """How long ago a moment was, as kubectl says it."""
    if not isinstance(stamp, str):
        return "<unknown>"
    try:
        moment = datetime.fromisoformat(stamp)
        return human_duration(int((now - moment).total_seconds()))
    except (ValueError, TypeError):
        return "<invalid>"


def human_duration(seconds: int) -> str:
    """A length of time in two units at most (`duration.HumanDuration`)."""
    if seconds < -1:
        return "<invalid>"
    seconds = max(0, seconds)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _pair(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _pair(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _pair(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    years = days // 365
    return _pair(years, "y", days % 365, "d") if years < 8 else f"{years}y"


def _pair(one: int, unit: str, two: int, smaller: str) -> str:
    return f"{one}{unit}{two}{smaller}" if two else f"{one}{unit}"
