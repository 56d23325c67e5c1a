"""Tests that names and numbers in the documents match the source."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from kapy.testing.conformance.rules import DOCUMENTS as CONTRACTS
from tests.oracle.known import APISERVER

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(ROOT.glob("docs/**/*.md"))
MODULE = re.compile(r"`(kapy(?:\.[a-z_]+)+)(?:\.[A-Z]\w+)?`")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")
CODE = re.compile(r"`[^`\n]*`")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_modules_and_files_in_the_documents_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    missing = [name for name in MODULE.findall(text) if not _is_there(name)]
    prose = CODE.sub("", text)  # patterns of fields look like links
    missing += [link for link in LINK.findall(prose) if not (path.parent / link).exists()]
    assert missing == []


def _is_there(name: str) -> bool:
    """A module, or a name in one."""
    try:
        if find_spec(name) is not None:
            return True
    except ModuleNotFoundError:
        pass
    module, _, attribute = name.rpartition(".")
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return False
    return re.search(rf"\b{attribute}\b", Path(spec.origin).read_text(encoding="utf-8")) is not None


def test_the_layers_in_the_document_are_those_that_are_enforced() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    figure = text.split("```text\n")[1].split("```")[0]
    drawn = [re.split(r" {3,}", line)[0].strip() for line in figure.splitlines()]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    enforced = re.findall(r'^    "([\w |:]+)",$', project.split("layers = [")[1], re.MULTILINE)
    assert drawn == enforced[: len(drawn)]


def test_every_known_difference_of_the_api_server_is_explained() -> None:
    text = (ROOT / "docs" / "reference" / "api-server.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z]+-\d+)` \| (.+) \|$", text, re.MULTILINE))
    assert rows == dict(APISERVER)


def test_the_readme_counts_the_rules_of_each_contract() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    match = re.search(r"are (\d+) rules for providers \(([^)]*)\)", text)
    assert match is not None
    words = [part.split() for part in match[2].replace("\n", " ").split(", ")]
    counted = [[contract.title, str(len(contract.rules))] for contract in CONTRACTS]
    assert words == counted
    assert int(match[1]) == sum(len(contract.rules) for contract in CONTRACTS)


def test_controllers_outside_of_the_reconcile_frame_are_explained() -> None:
    """Each module that makes a Controller has a Reconciler, or a row with the reason."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text.partition("## The frame of a reconcile\n")[2].partition("\n## ")[0]
    explained = {
        name for row in section.splitlines() if row.startswith("| `") for name in modules_in(row)
    }
    source = ROOT / "src" / "kapy"
    sources = {
        path: path.read_text()
        for path in source.rglob("*.py")
        if source / "apiserver" not in path.parents
    }
    outside = {
        ".".join(("kapy", *path.relative_to(source).with_suffix("").parts))
        for path, code in sources.items()
        if re.search(r"(?<![\w.])Controller\(", code) and "econciler" not in code
    }
    assert explained == outside


def modules_in(row: str) -> list[str]:
    """Return the modules that the first cell of a table row names."""
    return re.findall(r"`(kapy[\w.]+)`", row.split(" | ")[0])
