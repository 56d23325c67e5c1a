"""RE2's patterns run by Python's engine."""

from __future__ import annotations

import pytest

from kapy.kube.schema.formats import Pattern


@pytest.mark.parametrize(
    ("pattern", "value", "matches"),
    [
        ("^[A-Z]{2}[0-9]+$", "AB1", True),
        ("^[A-Z]{2}[0-9]+$", "AB1\n", False),
        ("b", "abc", True),
        (r"^a\z", "a\n", False),
        (r"^\d+$", "٣", False),
        (r"^\w$", "é", False),
        ("^[[:alpha:]_]+$", "ab_C", True),
        ("^[[:alpha:]_]+$", "a1", False),
        ("^[$[]+$", "$[", True),
        (r"^\Qa.b\E+$", "a.bb", True),
        (r"^\Qa.b\E$", "axb", False),
        (r"^a\$$", "a$", True),
        ("(?i)^abc$", "ABC", True),
        ("^(?P<x>a)+$", "aa", True),
    ],
)
def test_a_pattern_matches_as_in_go(pattern: str, value: str, matches: bool) -> None:
    assert Pattern(pattern).matches(value) is matches


def test_a_pattern_that_cannot_be_used_matches_nothing_and_says_why() -> None:
    pattern = Pattern("(")
    assert pattern.error
    assert not pattern.matches("(")
