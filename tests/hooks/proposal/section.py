"""Requirements of a section of the Runtime SDK proposal, and the tests that show them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """Paragraphs that say one thing.

    paragraphs: the first and the last by number in their section. says: it in our words, as it is
    at v1.14. tests: `<path below tests>::<name>`.
    """

    paragraphs: tuple[int, int]
    says: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """Rows of one heading. number: which one of those that are called so."""

    title: str
    rows: tuple[Row, ...]
    number: int = 1


def row(paragraphs: int | tuple[int, int], says: str, *tests: str) -> Row:
    """A row of one paragraph, or of several."""
    both = (paragraphs, paragraphs) if isinstance(paragraphs, int) else paragraphs
    return Row(both, says, tests)
