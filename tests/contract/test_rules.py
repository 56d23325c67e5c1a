"""Every rule of the contract documents has its row, and every row is true."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.contract.rules.pages import DOCUMENTS, pages
from tests.contract.rules.rule import Document
from tests.oracle.recorded import RECORDED, ROOT, must_be_there

PAGES = ROOT / "docs" / "contracts"
each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: one.name)


def test_the_pages_are_those_that_are_printed() -> None:
    """`make reference` writes them."""
    there = {one.name: one.read_text() for one in PAGES.glob("*.md")}
    assert there == pages()


@each_document
def test_every_rule_is_kept_somewhere_and_held_by_a_test(document: Document) -> None:
    for rule in document.rules:
        where = (document.name, rule.section, rule.says)
        assert rule.kept, where
        assert rule.held, where
        assert all((ROOT / "src" / "kapy" / one).exists() for one in rule.kept), rule.kept
        for test in rule.held:
            path, _, name = test.partition("::")
            assert name in names_of_tests(ROOT / "tests" / path), test


@each_document
def test_no_sentence_of_a_document_is_left_out(document: Document) -> None:
    source = RECORDED.parent / document.source
    if not source.is_file():
        assert not must_be_there(), source
        return
    covered = {*document.aside, *(line for rule in document.rules for line in rule.lines)}
    binding = {
        number: line
        for number, line in enumerate(source.read_text().splitlines(), start=1)
        if re.search(document.pattern, line) and "Other fields SHOULD be added" not in line
    }
    assert {number: line for number, line in binding.items() if number not in covered} == {}


@cache
def names_of_tests(path: Path) -> frozenset[str]:
    """The names of the tests in a file."""
    if not path.is_file():
        return frozenset()
    return frozenset(
        node.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    )
