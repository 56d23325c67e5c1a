"""Table columns and cells of a kind.

`Age` is filled in by kapy.apiserver.verbs.tables; the cells here are those of the other columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kapy.kube import Document
from kapy.kube.selectors import InvalidSelector, selector_of

Title = tuple[str, str, int, str]
"""Name, type, priority, description."""

NONE = "<none>"
AGE: Title = ("Age", "string", 0, "")


class AgeCell(NamedTuple):
    """A cell with the time since a moment."""

    moment: str | None


class DurationCell(NamedTuple):
    """A cell with the time between two moments, or since the first one."""

    start: str | None
    end: str | None


class Printer(NamedTuple):
    """The columns of a kind after the name, and all cells except the age.

    named: whether the name is the first column; the printers of other kinds return that cell
    themselves.
    """

    columns: tuple[Title, ...]
    cells: Callable[[Document], Iterable[Any]]
    named: bool = True


def titles(*names: str) -> tuple[Title, ...]:
    """Return the columns that names with suffixes describe.

    `+`: wide output only. `#`: integer. `?`: boolean. The default type is string.
    """
    return tuple(AGE if name == "Age" else _title(name) for name in names)


_TYPES = {"#": "integer", "?": "boolean"}


def _title(name: str) -> Title:
    return name.rstrip("+#?"), _TYPES.get(name[-1], "string"), int(name.endswith("+")), ""


def spec_of(document: Document) -> Document:
    """Return the spec of an object, an empty one if it has none."""
    return document.get("spec") or {}


def status_of(document: Document) -> Document:
    """Return the status of an object, an empty one if it has none."""
    return document.get("status") or {}


def format_selector(wanted: Any) -> str:
    """Return a label selector as text, `<none>` if it is empty."""
    if not wanted:
        return NONE
    try:
        return str(selector_of(wanted)) or NONE
    except (InvalidSelector, AttributeError):
        return "<invalid>"


def format_labels(wanted: Any) -> str:
    """Return a map of labels as text, `<none>` if it is empty."""
    return ",".join(f"{key}={value}" for key, value in sorted((wanted or {}).items())) or NONE


def containers(template: Document) -> tuple[str, str]:
    """Return the names and the images of a pod template's containers."""
    result = (template.get("spec") or {}).get("containers") or []
    names = ",".join(item.get("name", "") for item in result)
    return names, ",".join(item.get("image", "") for item in result)
