"""The table has every rule of the contract documents of v1.14."""

from __future__ import annotations

import re
from typing import Final

import pytest

from kapy.testing.conformance.rules import DOCUMENTS, RULES, Document
from tests.oracle.recorded import ROOT, must_be_there

DOCS: Final = ROOT.parent / "shared" / "upstream" / "docs" / "contracts"
ROWS: Final = 86
_ROW: Final = re.compile(r"^\| *\[(.+?)\] *\|", re.MULTILINE)
_HEADING: Final = re.compile(r"^#+ (.+)$")
_BINDING: Final = re.compile(r"\bMUST\b|\bSHOULD\b")
_FILLER: Final = "Other fields SHOULD be added"
_COVERED_ELSEWHERE: Final = {
    # What the whole document is about (its rule is that there is a CRD), and the box below it.
    "Contract rules for InfraCluster",
    "Contract rules for InfraMachine",
    "Contract rules for InfraMachinePool",
    "Contract rules for BootstrapConfig",
    "Contract rules for ControlPlane",
    # How the rules about group and version begin.
    "All resources: APIVersion field value",
    # Three sections of one name, whose rules are called after the files that they are about.
    "Naming conventions",
}


def plain(heading: str) -> str:
    """A heading as the table writes it: rows and headings of the documents differ in small ways."""
    return heading.replace("`", "").replace("ObjectMetafield", "ObjectMeta field").strip().lower()


def text_of(document: Document) -> str:
    path = DOCS / f"{document.name}.md"
    if not path.is_file():
        assert not must_be_there(), path
        return ""
    return path.read_text()


def known(document: Document) -> set[str]:
    return {plain(rule.section) for rule in document.rules}


def test_a_rule_is_there_once() -> None:
    assert len(RULES) == sum(len(document.rules) for document in DOCUMENTS)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: one.name)
def test_every_row_of_a_document_has_rules(document: Document) -> None:
    rows = {plain(row) for row in _ROW.findall(text_of(document))}
    missing = {row for row in rows if not any(one.startswith(row) for one in groups(document))}
    assert missing == set()


def groups(document: Document) -> set[str]:
    """Sections, and the rows that they are written under."""
    found = known(document)
    if "all resources: api group" in found and "all resources: version" in found:
        found.add("all resources: apiversion field value")
    return found


def test_the_documents_have_as_many_rows_as_is_said() -> None:
    texts = list(map(text_of, DOCUMENTS))
    if all(texts):
        assert sum(len(_ROW.findall(text)) for text in texts) == ROWS


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: one.name)
def test_every_section_that_asks_for_something_has_rules(document: Document) -> None:
    elsewhere = {plain(one) for one in _COVERED_ELSEWHERE}
    section, missing = "", set()
    for line in text_of(document).splitlines():
        if heading := _HEADING.match(line):
            section = plain(heading[1])
        elif _BINDING.search(line) and _FILLER not in line:
            missing.add(section)
    assert missing - known(document) - elsewhere == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: one.name)
def test_a_rule_can_be_read_where_it_is_said_to_be(document: Document) -> None:
    text = text_of(document)
    headings = {plain(one) for one in re.findall(r"^(?:#+ |<h1>)(.+?)(?:</h1>)?$", text, re.M)}
    assert not text or known(document) - headings == set()
