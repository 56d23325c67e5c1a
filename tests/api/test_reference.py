"""The reference pages are the Structs' own words."""

from __future__ import annotations

from pathlib import Path

import pytest

from kapy.api.reference import pages

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference" / "api"
PAGES = pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_the_fields_of_the_structs(name: str) -> None:
    """`make reference` writes them."""
    assert (FOLDER / name).read_text() == PAGES[name]


def test_pages_of_removed_kinds_are_deleted() -> None:
    assert {path.name for path in FOLDER.glob("*.md")} == set(PAGES)


def test_a_field_is_documented_with_its_bounds() -> None:
    (row,) = [
        line for line in PAGES["machine.md"].splitlines() if line.startswith("| `spec.version`")
    ]
    assert row.startswith("| `spec.version` | string | version is the desired Kubernetes version")
    assert row.endswith("(1 to 256 characters) |")
