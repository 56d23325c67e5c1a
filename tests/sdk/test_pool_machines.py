"""The choice of machines in a pool to create and to delete."""

from __future__ import annotations

import pytest

from kapy.sdk.pool_machines import Member, Plan, plan


def member(text: str) -> Member:
    """`name`, then r (ready), o (outdated), a (asked to go first)."""
    name, _, marks = text.partition(":")
    return Member(name, ready="r" in marks, current="o" not in marks, delete_first="a" in marks)


@pytest.mark.parametrize(
    ("members", "wanted", "missing", "surplus"),
    [
        ("", 3, 3, ""),
        ("a:r b:r c:r", 3, 0, ""),
        ("a:r b:r c:r", 1, 0, "a b"),
        ("a:r b:r c:ra", 2, 0, "c"),
        ("a:r b: c:ra", 1, 0, "c b"),
        ("a:r b:", 1, 0, "b"),
        ("a:r b:", 0, 0, "b a"),
        ("a:ro b:ro", 2, 2, ""),
        ("a:ro b:ro c: d:", 2, 0, ""),
        ("a:ro b:ro c:r d:", 2, 0, "a"),
        ("a:ro b:ro c:r d:r", 2, 0, "a b"),
        ("a:ro b:roa c:r d:", 2, 0, "b"),
        ("a:o b:ro", 2, 2, "a"),
        ("a:ro", 0, 0, "a"),
    ],
)
def test_a_plan_has_missing_and_surplus_machines(
    members: str, wanted: int, missing: int, surplus: str
) -> None:
    results = [member(part) for part in members.split()]
    assert plan(results, wanted) == Plan(missing, surplus.split())
