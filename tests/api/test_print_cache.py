"""Tests of the cache of CRDs, which are printed again when a source of the Structs changes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kapy.api import print_cache
from kapy.api.crds import crds, print_crds
from kapy.kube import Document


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of sources of its own."""
    (tmp_path / "kind.py").write_text("a = 1\n")
    monkeypatch.setattr(print_cache, "_SOURCES", tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path


def made(*answers: str) -> list[Document]:
    return [{"kind": answer} for answer in answers]


def test_crds_are_printed_once(sources: Path) -> None:
    assert print_cache.load_or_print("x", lambda: made("one")) == made("one")
    assert print_cache.load_or_print("x", lambda: made("two")) == made("one")
    assert [path.name for path in sources.glob("*.json")] == []


def test_crds_are_printed_again_when_a_source_changes(sources: Path) -> None:
    print_cache.load_or_print("x", lambda: made("one"))
    (sources / "kind.py").write_text("a = 22\n")
    assert print_cache.load_or_print("x", lambda: made("two")) == made("two")


def test_a_broken_cache_file_is_ignored(sources: Path) -> None:
    print_cache.load_or_print("x", lambda: made("one"))
    (file,) = sources.rglob("*.json")
    file.write_bytes(file.read_bytes()[:-5])
    assert print_cache.load_or_print("x", lambda: made("two")) == made("two")


def test_nothing_is_cached_where_bytecode_is_not(
    sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert print_cache.load_or_print("x", lambda: made("one")) == made("one")
    assert list(sources.rglob("*.json")) == []


def test_the_cached_crds_equal_printed_ones() -> None:
    assert crds() == print_crds()
