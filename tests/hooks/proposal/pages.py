"""The page `docs/concepts/runtime-sdk.md`, printed from the rows.

python -m tests.hooks.proposal.pages docs/concepts/runtime-sdk.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from tests.hooks.proposal import authors, operators, purpose, rules
from tests.hooks.proposal.section import Row, Section

SECTIONS: Final = (
    *purpose.SECTIONS,
    *rules.SECTIONS,
    *authors.SECTIONS,
    *operators.SECTIONS,
)
_HEAD: Final = """\
# The Runtime SDK

A product on top of Cluster API has something to say in the life of clusters: whether one may be
made, when it may be upgraded, what its templates are to be, that a backup comes before its end. It
says so as a *runtime extension*: a server over HTTPS that controllers ask at *hooks*, which are
named moments of a Cluster's life. [Writing one](../how-to/write-an-extension.md) takes a function
with types, or any other language with [the OpenAPI
document](../reference/runtime-sdk-openapi.yaml). See also [extensions for operators of a
plane](../reference/runtime-extensions.md), [all hooks](../reference/hooks.md) and [new versions of
a hook](../how-to/add-a-hook-version.md).

Below is the proposal that the Runtime SDK was made from, paragraph by paragraph: what it asks for,
in our words and in the form that it has at v1.14, and the tests that show it. Printed from
`tests/hooks/proposal` (`make reference`).
"""
_COLUMNS: Final = "| paragraph | what it says | held by |\n|---|---|---|\n"


def page() -> str:
    """The text of the page."""
    return "".join([_HEAD, *(line for section in SECTIONS for line in _section(section))])


def _section(section: Section) -> Iterator[str]:
    again = " (again)" if section.number > 1 else ""
    yield f"\n## {section.title}{again}\n\n{_COLUMNS}"
    for row in section.rows:
        first, last = row.paragraphs
        number = str(first) if first == last else f"{first} to {last}"
        yield f"| {number} | {row.says} | {'<br>'.join(_tests(row))} |\n"


def _tests(row: Row) -> Iterator[str]:
    """The tests of a row; those of one file behind one link."""
    for path, group in groupby(row.tests, key=lambda test: test.partition("::")[0]):
        names = (test.partition("::")[2] for test in group)
        message = ", ".join(name.removeprefix("test_").replace("_", " ") for name in names)
        yield f"[{message}](../../tests/{path})"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page())
