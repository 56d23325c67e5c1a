"""Parameters and local variables have nouns as names."""

from __future__ import annotations

import pytest

from tests.library.local_names import vague_names
from tests.library.sentences import files

TREES = ("src", "providers", "tests", "benchmarks", "examples")
RECORDED = "tests/data/"
"""Copies of recorded files, which stay as they are."""


def test_parameters_and_variables_are_named_by_nouns() -> None:
    names = [
        name
        for path, text in files(TREES, ".py")
        if not path.startswith(RECORDED)
        for name in vague_names(path, text)
    ]
    assert names == []


@pytest.mark.parametrize(
    "text",
    [
        "def f(known): ...",
        "def f():\n    for one in (): ...",
        "x = [one for one in ()]",
        "x = lambda given: given",
        "def f():\n    match 1:\n        case found: ...",
        "def f():\n    while (left := 1): ...",
        "def f(right):\n    def g(left): ...",
    ],
)
def test_a_vague_name_is_found(text: str) -> None:
    assert len(list(vague_names("x.py", text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "def f(left, right): ...",
        "class A:\n    known: int",
        "def f():\n    class A:\n        known: int",
        "def f():\n    print(known)",
    ],
)
def test_other_names_are_left_alone(text: str) -> None:
    assert list(vague_names("x.py", text)) == []
