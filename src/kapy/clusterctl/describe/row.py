"""The content of one row of the tree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple

from kapy.clusterctl.describe.tree import NEGATIVE, Node, condition
from kapy.kube import Document
from kapy.kube.duration import age

Mood = Literal["good", "bad", "unknown", "plain"]
WIDTH = 100

_PLURALS = {"Machine": "Machines"}


class Counters(NamedTuple):
    """The four counters of a row; empty where an object has no such counter."""

    replicas: str = ""
    available: str = ""
    ready: str = ""
    up_to_date: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row.

    text: the original message. message: its lines, wrapped as upstream does.
    """

    counters: Counters = field(default_factory=Counters)
    status: str = ""
    mood: Mood = "plain"
    reason: str = ""
    since: str = ""
    text: str = ""
    message: tuple[str, ...] = ("",)


def row_of(node: Node, now: datetime) -> Row:
    """Return the row of an object, of a group or of a heading."""
    counters = _counters(node)
    if node.shown != "none":
        return Row(counters)
    if node.group is not None:
        items = node.group.items
        more = ", ..." if len(items) > 2 else ""
        row = row_of_condition(node.ready, now, counters)
        return _with_message(row, f"See {', '.join(items[:2])}{more}")
    return row_of_condition(_informative_condition(node), now, counters)


def row_of_condition(
    condition: Document | None,
    now: datetime,
    counters: Counters = Counters(),  # noqa: B008
) -> Row:
    """Return the row of one condition (an empty one for None)."""
    if condition is None:
        return Row(counters)
    status = condition.get("status", "")
    mood: Mood = "plain"
    if status == "Unknown":
        mood = "unknown"
    elif status in ("True", "False"):
        mood = "good" if (status == "True") != (condition["type"] in NEGATIVE) else "bad"
    since = _since(condition.get("lastTransitionTime") or "", now)
    text = condition.get("message") or ""
    lines = tuple(wrap_text(text, WIDTH))
    return Row(counters, status, mood, condition.get("reason", ""), since, text, lines)


def is_informative(condition: Document) -> bool:
    """Return whether a condition needs attention: it is not in its normal state, has a message, or
    is the main one.
    """
    if condition["type"] in ("Available", "Ready") or condition.get("message"):
        return True
    normal = "False" if condition["type"] in NEGATIVE else "True"
    return bool(condition.get("status") != normal)


def title_of(node: Node) -> tuple[str, str, str]:
    """Kind, name and version of an object, or the text of a heading in the first field."""
    if node.group is not None:
        return f"{len(node.group.items)} {_PLURALS.get(node.kind, f'{node.kind}s')}...", "", ""
    if node.document is None:
        return node.title, "", ""
    return node.kind, node.name, _version(node)


def _version(node: Node) -> str:
    assert node.document is not None
    spec = node.document.get("spec") or {}
    if node.kind == "Cluster":
        return str((spec.get("topology") or {}).get("version") or "")
    if node.kind in ("MachineDeployment", "MachineSet", "MachinePool"):
        return str(spec["template"]["spec"].get("version") or "")
    if node.kind == "Machine" or node.is_control_plane:
        return str(spec.get("version") or "")
    return ""


def _informative_condition(node: Node) -> Document | None:
    """Return the condition that an object's row shows."""
    if node.document is None:
        return None
    match node.kind:
        case "Cluster" | "MachineDeployment":
            return condition(node.document, "Available")
        case "MachineSet" | "MachinePool":
            return None
        case _:
            available = condition(node.document, "Available") if node.is_control_plane else None
            return available or condition(node.document, "Ready")


def _counters(node: Node) -> Counters:
    if node.group is not None:
        group = node.group
        return Counters("", str(group.available), str(group.ready), str(group.up_to_date))
    if node.document is None:
        return Counters()
    status = node.document.get("status") or {}
    match node.kind:
        case "Cluster":
            return _sum_counters([status.get("controlPlane") or {}, status.get("workers") or {}])
        case "Machine":
            return Counters("1", *(_flag(node.document, of) for of in _MACHINE_COUNTERS))
        case "MachineDeployment" | "MachineSet":
            return _scaled_counters(node.document, status)
        case _ if node.is_control_plane and status.get("replicas") is not None:
            return _scaled_counters(node.document, status)
        case _ if node.is_control_plane:
            return _replica_counters("", status)
    return Counters()


_MACHINE_COUNTERS = ("Available", "Ready", "UpToDate")


def _scaled_counters(document: Document, status: Document) -> Counters:
    desired = (document.get("spec") or {}).get("replicas")
    current = status.get("replicas") or 0
    return _replica_counters("" if desired is None else f"{current}/{desired}", status)


def _replica_counters(replicas: str, status: Document) -> Counters:
    names = ("availableReplicas", "readyReplicas", "upToDateReplicas")
    values = (status.get(name) for name in names)
    return Counters(replicas, *("" if value is None else str(value) for value in values))


def _sum_counters(parts: Sequence[Document]) -> Counters:
    def total(name: str) -> int | None:
        result: list[Any] = [part[name] for part in parts if part.get(name) is not None]
        return sum(result) if result else None

    current, desired = total("replicas"), total("desiredReplicas")
    replicas = "" if current is desired is None else f"{current or 0}/{desired or 0}"
    names = ("availableReplicas", "readyReplicas", "upToDateReplicas")
    return _replica_counters(replicas, {name: total(name) for name in names})


def _flag(document: Document, of: str) -> str:
    result = condition(document, of)
    return "1" if result is not None and result.get("status") == "True" else "0"


def _with_message(row: Row, message: str) -> Row:
    return replace(row, text=message, message=(message,))


def _since(moment: str, now: datetime) -> str:
    return age(now - datetime.fromisoformat(moment)) if moment else ""


def wrap_text(text: str, width: int) -> list[str]:
    """Return the text in lines of at most `width` characters; longer words are not broken.

    The continuation lines of a bullet are indented like its text.
    """
    lines: list[str] = []
    for line in text.split("\n"):
        current = indent = line[: len(line) - len(line.lstrip(" "))]
        if line.strip().startswith("* "):
            indent += "  "
        for word in re.split(r"\s+", line):
            if len(current) + len(word) < width:
                current += f" {word}" if current.strip() else word
            else:
                lines.append(current)
                current = indent + word
        lines.append(current)
    return lines
