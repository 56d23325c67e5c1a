"""The name of a test is a sentence with a subject."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.library.sentences import files

_RIDDLE = re.compile(r"test_(?:who|whom|whose|what|which)(?:ever)?_")


def riddles(path: str, text: str) -> Iterator[str]:
    """Yield `path:line: name` for each test whose name has a question word as its subject."""
    if "def test_wh" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if _RIDDLE.match(name):
                    yield f"{path}:{node.lineno}: {name}"


def test_test_names_do_not_open_with_a_question_word() -> None:
    names = [
        name for path, text in files(("tests", "providers"), ".py") for name in riddles(path, text)
    ]
    assert names == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("def test_what_is_gone_stays_gone(): ...", 1),
        ("class A:\n    async def test_whoever_asks_waits(self): ...", 1),
        ("def test_whatsapp(): ...", 0),
        ("def test_pages_show_what_is_missing(): ...", 0),
        ("def what_is_there(): ...", 0),
    ],
)
def test_a_riddle_is_found(text: str, count: int) -> None:
    assert len(list(riddles("x.py", text))) == count
