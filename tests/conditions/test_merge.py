"""Merges that the recorded cases do not show."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kapy.api.names import Label
from kapy.conditions import (
    CannotMerge,
    Merge,
    Merged,
    Operation,
    Owned,
    aggregate,
    by_polarity,
    false,
    summary,
    true,
    unknown,
)
from kapy.kube.meta import ObjectMeta
from kapy.kube.names import Resource
from tests.conditions.recorded import Reporter, Status


def reporter(name: str, *conditions: object, labels: dict[str, str] | None = None) -> Reporter:
    return Reporter(
        Resource("cluster.x-k8s.io", "v1beta2", "machines", "Machine"),
        ObjectMeta(name=name, labels=labels or {}),
        Status(list(conditions)),  # type: ignore[arg-type]
    )


def test_many_machines_are_reported_in_few_words() -> None:
    machines = [reporter(f"w-{number}", false("Ready", "R", "is slow")) for number in range(5)]
    machines.append(reporter("cp", false("Ready", "R", "is odd"), labels={Label.CONTROL_PLANE: ""}))
    machines.append(reporter("new", unknown("Ready", "R", "starts")))
    assert aggregate(machines, "Ready").message == (
        "* Machine cp: is odd\n"
        "* Machines w-0, w-1, w-2, ... (2 more): is slow\n"
        "* Machine new: starts"
    )


def test_omitted_messages_are_counted() -> None:
    machines = [reporter(f"m-{n}", false("Ready", "R", f"problem {n}")) for n in range(5)]
    assert aggregate(machines, "Ready").message.splitlines()[-1] == (
        "And 2 Machines with other issues"
    )


def test_lines_can_be_changed_at_the_end() -> None:
    def shorter(lines: list[str]) -> list[str]:
        return lines[:1]

    merge = Merge(priority=by_polarity(["Deleting"]), summary_lines=shorter)
    obj = reporter("m", true("Deleting", "Deleting", "a"), false("NodeReady", "R", "b"))
    assert summary(obj, "Ready", ["Deleting", "NodeReady"], merge=merge).message == "* Deleting: a"


def test_a_merge_can_be_customized() -> None:
    def count(operation: Operation, conditions: Sequence[Owned], types: Sequence[str]) -> Merged:
        return Merged("True", operation.value, f"{len(conditions)} of {len(types)}")

    merged = summary(reporter("m", true("A", "R")), "Ready", ["A", "B"], merge=count)
    assert (merged.reason, merged.message) == ("Summary", "2 of 2")


def test_an_empty_merge_is_refused() -> None:
    with pytest.raises(CannotMerge):
        Merge()(Operation.SUMMARY, [], ["A"])
