"""The messages of merged conditions, equal to upstream's byte by byte."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from kapy.api.condition import Condition
from kapy.conditions.owned import Owned
from kapy.conditions.priority import Prioritise, Priority
from kapy.kube.plural import plural

_BULLET: Final = re.compile(r"\*[\t\n\f\r ]")

SHOWN_MESSAGES: Final = 3
SHOWN_OBJECTS: Final = 3

_OTHERS: Final = {
    Priority.ISSUE: "with other issues",
    Priority.UNKNOWN: "with status unknown",
    Priority.INFO: "with additional info",
}


def summary_line(condition: Condition) -> str:
    """Return one condition's part of a summary's message: its message, or else its reason."""
    said = indent_message(condition.message) if condition.message else f" {condition.reason}"
    return f"* {condition.type}:{said}"


def indent_message(message: str) -> str:
    """Return a message after a colon: on the same line, or as an indented list if it has several
    lines.
    """
    if "\n" not in message and not _BULLET.search(message):
        return f" {message}"
    lines = message.split("\n")
    listed = [_BULLET.search(line) is not None for line in lines]
    if all(listed):
        return "".join(f"\n  {line}" for line in lines)
    return "".join(
        f"\n    {line}" if bullet else f"\n  * {line}"
        for line, bullet in zip(lines, listed, strict=True)
    )


def aggregate_message(
    conditions: Sequence[Owned], priority: Prioritise, *, drop_empty: bool = False
) -> str:
    """Return an aggregated message: at most three messages, each with at most three object names,
    and the number of other objects.

    Messages of control plane Machines come first, then issues before unknown states, then the most
    frequent messages.
    """
    digest = _Digest()
    for condition in conditions:
        if condition.condition.message or not drop_empty:
            digest.add(condition, priority(condition.condition))
    lines: list[str] = []
    capacity = SHOWN_MESSAGES
    for kind in sorted(digest.names_by_message):
        ranked = digest.rank_messages(kind)
        lines += [digest.line(kind, message) for message in ranked[:capacity]]
        lines += digest.others(kind, ranked[capacity:])
        capacity -= min(capacity, len(ranked))
    return "\n".join(lines)


@dataclass(slots=True)
class _Digest:
    """Messages and the objects that report them, by kind. names_by_message: by kind, then by
    message, the names of the objects."""

    names_by_message: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    priorities: dict[str, Priority] = field(default_factory=dict)
    of_control_plane: set[str] = field(default_factory=set)
    control_plane: set[str] = field(default_factory=set)

    def add(self, entry: Owned, priority: Priority) -> None:
        message, owner = entry.condition.message, entry.owner
        names = self.names_by_message.setdefault(owner.kind, {}).setdefault(message, [])
        names.append(owner.name)
        names += entry.others
        self.priorities[message] = min(priority, self.priorities.get(message, priority))
        if owner.control_plane:
            self.of_control_plane.add(message)
            self.control_plane.add(owner.name)

    def rank_messages(self, kind: str) -> list[str]:
        """Return the messages of a kind's objects, the most important first."""

        def rank(message: str) -> tuple[bool, Priority, int, str]:
            names = names_by_message[message]
            first = message in self.of_control_plane
            return not first, self.priorities[message], -len(names), ",".join(names)

        names_by_message = self.names_by_message[kind]
        if len(names_by_message) == 1:
            return [*names_by_message]
        return sorted(names_by_message, key=rank)

    def line(self, kind: str, message: str) -> str:
        """Return a message with its objects, control plane Machines first."""
        names = self.names_by_message[kind][message]
        if self.control_plane:
            shown = sorted(names, key=lambda name: (name not in self.control_plane, name))
        else:
            shown = sorted(names)
        shown, more = shown[:SHOWN_OBJECTS], len(names) - SHOWN_OBJECTS
        who = f"{kind if len(names) == 1 else plural(kind)} {', '.join(shown)}"
        if more > 0:
            who += f", ... ({more} more)"
        return f"* {who}:{indent_message(message)}"

    def others(self, kind: str, messages: list[str]) -> Iterator[str]:
        """Return the number of objects whose messages were left out."""
        counts: Counter[Priority] = Counter()
        for message in messages:
            counts[self.priorities[message]] += len(self.names_by_message[kind][message])
        for priority in sorted(counts):
            count = counts[priority]
            yield f"And {count} {kind if count == 1 else plural(kind)} {_OTHERS[priority]}"
