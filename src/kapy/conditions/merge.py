"""Merge several conditions into one: status, reason and message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, TypeAlias

from kapy.conditions.lookup import FALSE, TRUE, UNKNOWN
from kapy.conditions.messages import aggregate_message, summary_line
from kapy.conditions.owned import Owned
from kapy.conditions.priority import Prioritise, Priority, by_polarity
from kapy.kube.errors import KapyError


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
"""The reason of a merged condition, from the issues, the unknown ones and the others."""


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
