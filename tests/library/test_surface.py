"""The page of public names is the library's; the documents import no other names."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from kapy.api import kinds
from tests.library.surface import MODULES, PAGE, names_of, page

ROOT = Path(__file__).resolve().parents[2]
FOR_CONTRIBUTORS = {"docs/how-to/add-a-hook-version.md"}
FOR_USERS = [
    str(path.relative_to(ROOT))
    for folder in ("docs/how-to", "docs/tutorial")
    for path in sorted((ROOT / folder).glob("*.md"))
]
IMPORT = re.compile(r"^(?:>>> )?from (kapy[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


def test_the_page_is_printed_anew_with_each_change() -> None:
    assert (ROOT / PAGE).read_text(encoding="utf-8") == page(), "run `make reference`"


@pytest.mark.parametrize("document", sorted(set(FOR_USERS) - FOR_CONTRIBUTORS))
def test_documents_for_users_import_public_names(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    private = [
        f"{module}.{name}"
        for module, names in IMPORT.findall(text)
        for name in re.findall(r"\w+", names)
        if not _is_public(module, name)
    ]
    assert private == []


def _is_public(module: str, name: str) -> bool:
    if module in MODULES:
        return name in names_of(import_module(module))
    return (module, name) in {(f"kapy.api.{kind.module}", kind.name) for kind in kinds.KINDS}


def test_annotations_are_printed_as_in_the_source() -> None:
    """Annotations stand on the page as in the source, without rules of fields."""
    text = page()
    assert "Annotated[" not in text
    assert "async def get(self, kind: Any, key: Key) -> Any" in text
