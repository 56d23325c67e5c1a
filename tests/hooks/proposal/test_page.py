"""The proposal of the Runtime SDK, paragraph by paragraph: each has its row, each row its tests."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.hooks.proposal.pages import SECTIONS, page
from tests.hooks.proposal.section import Section
from tests.oracle.recorded import ROOT, SHARED

PROPOSAL: Final = SHARED / "seeds" / "runtime-sdk-proposal.md"
PAGE: Final = ROOT / "docs" / "concepts" / "runtime-sdk.md"
each_section = pytest.mark.parametrize(
    "section", SECTIONS, ids=lambda value: f"{value.title} {value.number}"
)


def blocks(text: str) -> Iterator[str]:
    """Headings, and paragraphs: what empty lines part; code is one paragraph."""
    for part in re.split(r"^(```.*?^```[^\n]*|#+ [^\n]*)$", text, flags=re.DOTALL | re.MULTILINE):
        if part.startswith(("```", "#")):
            yield part
        else:
            yield from (item.strip() for item in re.split(r"\n\s*\n", part) if item.strip())


def paragraphs(text: str) -> Counter[tuple[str, int]]:
    """How many paragraphs each section has; the second one of a title is number 2."""
    result: Counter[tuple[str, int]] = Counter()
    counts: Counter[str] = Counter()
    title = ""
    for block in blocks(text[text.index("## Glossary") :]):
        if block.startswith("#"):
            title = block.strip("# ")
            counts[title] += 1
        elif not re.match(r"<!--|\[[^]]+\]: ", block):
            result[title, counts[title]] += 1
    return result


@pytest.mark.recorded
def test_every_paragraph_has_its_row() -> None:
    covered = {
        (section.title, section.number): section.rows[-1].paragraphs[1] for section in SECTIONS
    }
    assert covered == paragraphs(PROPOSAL.read_text())
    assert len(covered) == len(SECTIONS)


@each_section
def test_rows_cover_the_paragraphs_without_a_gap(section: Section) -> None:
    expected = 1
    for row in section.rows:
        first, last = row.paragraphs
        assert first == expected
        assert last >= first
        expected = last + 1


@cache
def functions(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(statement.name for statement in tree.body if isinstance(statement, kinds))


@each_section
def test_every_row_has_tests_that_there_are(section: Section) -> None:
    for row in section.rows:
        assert row.tests, f"nothing shows: {row.says}"
        for test in row.tests:
            path, _, name = test.partition("::")
            assert Path(path).name.startswith("test_")
            assert name in functions(path), test


def test_the_page_is_the_one_that_is_printed() -> None:
    assert PAGE.read_text() == page(), "make reference prints it"
