"""The table of rules: complete, readable where it says, and each rule kept, checked or told to be
nobody's but the author's; and the pages that are printed from it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from kapy.contract.fields import Version, fields_of
from kapy.testing.conformance.behaviour import BEHAVIOUR
from kapy.testing.conformance.behaviour.setup import ROLE_SETUPS
from kapy.testing.conformance.check_results import ONCE
from kapy.testing.conformance.checks import CHECKS
from kapy.testing.conformance.rules import (
    DOCUMENTS,
    PROMISES,
    RULES,
    CheckMethod,
    Document,
    ResponsibleParty,
    Rule,
)
from tests.contract.rules.pages import KEPT, pages
from tests.contract.rules.row import Kept
from tests.oracle.recorded import ROOT, SHARED

PAGES: Final = ROOT / "docs" / "contracts"
DOCS: Final = SHARED / "upstream" / "docs" / "contracts"
ROWS: Final = 86
_ROW: Final = re.compile(r"^\| *\[(.+?)\] *\|", re.MULTILINE)
_HEADING: Final = re.compile(r"^(?:#+ |<h1>)(.+?)(?:</h1>)?$")
_BINDING: Final = re.compile(r"\bMUST\b|\bSHOULD\b")
_FILLER: Final = "Other fields SHOULD be added"
_COVERED_ELSEWHERE: Final = {
    # The subject of the whole document (its rule is that there is a CRD), and the box below it.
    "Contract rules for InfraCluster",
    "Contract rules for InfraMachine",
    "Contract rules for InfraMachinePool",
    "Contract rules for BootstrapConfig",
    "Contract rules for ControlPlane",
    # The beginning of the rules about group and version.
    "All resources: APIVersion field value",
    # Three sections of one name, whose rules are called after the files that they are about.
    "Naming conventions",
    # Boxes below sections that have rules.
    "Compatibility with the deprecated v1beta1 contract",
    "Heads up! this will change with the v1beta2 contract",
}
_REFERENCES: Final = {"Clusterctl support"}
"""Sections that only refer to another document, whose rules they repeat."""
each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda value: value.name)
each_table = pytest.mark.parametrize("table", KEPT, ids=lambda value: value.document.name)


def plain(heading: str) -> str:
    """A heading as the table writes it: rows and headings of the documents differ in small ways."""
    heading = heading.replace("`", "").replace("ObjectMetafield", "ObjectMeta field")
    return heading.strip().lower()


def text_of(document: Document) -> str:
    return (DOCS / f"{document.name}.md").read_text()


def sections_of(rules: dict[str, Rule], document: Document) -> set[str]:
    return {plain(rule.section) for rule in rules.values() if rule.document == document.name}


@each_table
def test_the_rule_of_a_field_is_in_the_table_and_is_checked(table: Kept) -> None:
    """A field has its path, the sentence about it and what schemas must have in one place."""
    fields = fields_of(table.view).values() if table.view is not None else ()
    for field in fields:
        if field.rule is not None:
            rule = RULES[f"{table.document.name}/{field.rule.name}"]
            assert (rule.section, rule.level, rule.when) == (
                field.rule.section,
                field.rule.level,
                field.rule.when,
            )
            assert rule.checked is CheckMethod.STATIC
            assert rule.id in CHECKS


@each_table
def test_the_sentence_of_a_field_names_it(table: Kept) -> None:
    fields = fields_of(table.view).values() if table.view is not None else ()
    for field in fields:
        if field.rule is not None and "{field}" in field.rule.says:
            assert all(field.path(version) in field.says for version in Version)


def test_a_rule_is_there_once() -> None:
    ids = [rule.id for document in DOCUMENTS for rule in document.rules]
    promised = [rule.id for document in DOCUMENTS for rule in document.promises]
    assert len(RULES | PROMISES) == len(ids) + len(promised)
    assert {rule.keeper for rule in RULES.values()} == {ResponsibleParty.PROVIDER}
    assert {promise.keeper for promise in PROMISES.values()} == {
        ResponsibleParty.CORE,
        ResponsibleParty.COMMAND,
    }


@pytest.mark.recorded
@each_document
def test_every_row_of_a_document_has_rules(document: Document) -> None:
    sections = sections_of(RULES, document) | set(map(plain, _REFERENCES))
    if {"all resources: api group", "all resources: version"} <= sections:
        sections.add("all resources: apiversion field value")
    rows = {plain(row) for row in _ROW.findall(text_of(document))}
    assert {row for row in rows if not any(text.startswith(row) for text in sections)} == set()


@pytest.mark.recorded
def test_the_documents_have_as_many_rows_as_is_reported() -> None:
    texts = list(map(text_of, DOCUMENTS))
    if all(texts):
        assert sum(len(_ROW.findall(text)) for text in texts) == ROWS


@pytest.mark.recorded
@each_document
def test_every_section_that_asks_for_something_has_rules(document: Document) -> None:
    section, asking = "", set()
    for line in text_of(document).splitlines():
        if heading := _HEADING.match(line):
            section = plain(heading[1])
        elif _BINDING.search(line) and _FILLER not in line:
            asking.add(section)
    assert asking - sections_of(RULES, document) - set(map(plain, _COVERED_ELSEWHERE)) == set()


@pytest.mark.recorded
@each_document
def test_a_rule_links_to_its_sentence_in_the_document(document: Document) -> None:
    text = text_of(document)
    headings = {plain(match[1]) for line in text.splitlines() if (match := _HEADING.match(line))}
    assert sections_of(RULES | PROMISES, document) - headings == set()


@pytest.mark.recorded
@each_table
def test_no_sentence_of_a_document_is_left_out(table: Kept) -> None:
    source = SHARED / table.source
    covered = {*table.aside, *(line for row in table.rows for line in row.lines)}
    binding = {
        number: line
        for number, line in enumerate(source.read_text().splitlines(), start=1)
        if re.search(table.pattern, line) and _FILLER not in line
    }
    assert {number: line for number, line in binding.items() if number not in covered} == {}


@each_table
def test_every_kept_row_is_a_rule_with_tests(table: Kept) -> None:
    document = table.document
    names = {rule.name for rule in (*document.rules, *document.promises)}
    for row in table.rows:
        assert row.kept, row
        assert row.held, row
        assert set(row.names) <= names, row
        assert all((ROOT / "src" / "kapy" / text).exists() for text in row.kept), row
        for test in row.held:
            path, _, name = test.partition("::")
            assert name in names_of_tests(ROOT / "tests" / path), test


@each_table
def test_every_rule_is_kept_checked_or_left_to_the_author(table: Kept) -> None:
    names = {name for row in table.rows for name in row.names}
    rules = [*table.document.rules, *table.document.promises]
    assert [rule.id for rule in rules if rule.name not in names and not is_checked(rule)] == []


SEEN: Final = {
    *CHECKS,
    *(check.rule for check in BEHAVIOUR),
    *(f"{setup}/{ONCE}" for setup in ROLE_SETUPS),
}
"""Rules that files, a running provider, or its bad days show."""


def is_checked(rule: Rule) -> bool:
    """By the conformance kit, whose mutants show that each check can fail."""
    return rule.checked is CheckMethod.AUTHOR or rule.id in SEEN


def test_the_pages_are_those_that_are_printed() -> None:
    """`make reference` writes them."""
    there = {path.name: path.read_text() for path in PAGES.glob("*.md")}
    assert there == pages()


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
