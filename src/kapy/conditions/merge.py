"""Merge several conditions into one: status, reason and message.

Messages are equal to upstream's byte by byte.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from kapy.api.condition import Condition
from kapy.conditions.lookup import FALSE, TRUE, UNKNOWN
from kapy.conditions.owned import Owned
from kapy.conditions.priority import Prioritise, Priority, by_polarity
from kapy.kube.errors import KapyError
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
    """Return the line of a condition in a summary's message: its message or, without one, its
    reason.
    """
    said = indent_message(condition.message) if condition.message else f" {condition.reason}"
    return f"* {condition.type}:{said}"


def indent_message(message: str) -> str:
    """Return a message in the form that follows a colon: on the same line, or as an indented list
    if it has several lines.
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
    """Return the message of an aggregated condition.

    It has at most three messages, each with at most three object names, and the number of other
    objects. Messages of control plane Machines come first, then issues before unknown states, then
    the most frequent messages.
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
    """Collects the messages of conditions and the objects that report them. names_by_message: the
    names of the objects, by their kind and then by message."""

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


class CannotMerge(KapyError):
    """The merge is impossible because of a caller's error; the message is upstream's."""


class Operation(Enum):
    """The kind of merge: different conditions of one object, or one condition of many objects."""

    SUMMARY = "Summary"
    AGGREGATE = "Aggregate"


class Merged(NamedTuple):
    """The result of a merge."""

    status: str
    reason: str
    message: str


Merging: TypeAlias = Callable[[Operation, Sequence[Owned], Sequence[str]], Merged]
"""Merges conditions. The types come in the order of their relevance."""

Reasoning: TypeAlias = Callable[[list[Owned], list[Owned], list[Owned]], str]
"""Selects the reason of a merged condition from the conditions with issues, the unknown ones and
the others."""


def reasons(issue: str, unknown: str, info: str) -> Reasoning:
    """Return a function that selects the reason of the highest priority that occurs."""

    def reason(issues: list[Owned], unknowns: list[Owned], _: list[Owned]) -> str:
        return issue if issues else unknown if unknowns else info

    return reason


@dataclass(frozen=True, slots=True)
class Merge:
    """The default merge (a `Merging`).

    positive: whether True is the good status of the result. summary_lines: post-processes the lines
    of a summary's message.
    """

    priority: Prioritise = field(default_factory=by_polarity)
    reason: Reasoning = field(
        default_factory=lambda: reasons("IssuesReported", "UnknownReported", "InfoReported")
    )
    positive: bool = True
    summary_lines: Callable[[list[str]], list[str]] | None = None

    def __call__(
        self, operation: Operation, conditions: Sequence[Owned], types: Sequence[str]
    ) -> Merged:
        if not conditions:
            raise CannotMerge("can't merge an empty list of conditions")
        if operation is Operation.AGGREGATE and self._is_healthy_and_silent(conditions):
            # Fast path for the usual case: many objects that have the same state and no message.
            return Merged(TRUE if self.positive else FALSE, self.reason([], [], [*conditions]), "")
        conditions = _by_relevance(conditions, types)
        issues, unknowns, infos = self._split(conditions)
        if issues:
            status = FALSE if self.positive else TRUE
        elif unknowns:
            status = UNKNOWN
        else:
            status = TRUE if self.positive else FALSE
        if operation is Operation.SUMMARY:
            message = self._summary(conditions, status)
        elif issues or unknowns:
            message = aggregate_message([*issues, *unknowns], self.priority)
        else:
            message = aggregate_message(infos, self.priority, drop_empty=True)
        return Merged(status, self.reason(issues, unknowns, infos), message)

    def _is_healthy_and_silent(self, conditions: Sequence[Owned]) -> bool:
        """Return whether every condition is good and none has a message."""
        priority = self.priority
        for condition in conditions:
            if condition.condition.message or priority(condition.condition) is not Priority.INFO:
                return False
        return True

    def _split(self, conditions: Sequence[Owned]) -> tuple[list[Owned], list[Owned], list[Owned]]:
        parts: tuple[list[Owned], list[Owned], list[Owned]] = ([], [], [])
        for condition in conditions:
            parts[self.priority(condition.condition)].append(condition)
        return parts

    def _summary(self, conditions: Sequence[Owned], status: str) -> str:
        lines = []
        for owner in conditions:
            condition = owner.condition
            if self.priority(condition) is Priority.INFO and (
                status != TRUE or not condition.message
            ):
                continue
            lines.append(summary_line(condition))
        if self.summary_lines is not None:
            lines = self.summary_lines(lines)
        return "\n".join(lines)


def _by_relevance(conditions: Sequence[Owned], types: Sequence[str]) -> list[Owned]:
    """Sort conditions by type, then by transition time, the oldest first."""
    places = {type_: place for place, type_ in enumerate(types)}
    return sorted(
        conditions,
        key=lambda condition: (
            places.get(condition.condition.type, 0),
            condition.condition.last_transition_time,
        ),
    )
