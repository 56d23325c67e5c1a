"""The check before a spec runs, with a program in the place of upstream's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real.specs import parts
from tests.real.specs.run import selected


@pytest.mark.parametrize("count", [0, 1, 2])
def test_the_specs_that_a_pattern_selects_are_counted(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(tmp_path, monkeypatch, f"Will run {count} of 39 specs")
    assert selected("some", tmp_path, {}) == count


def test_a_program_without_specs_is_refused_with_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(tmp_path, monkeypatch, "Failed to get stable version")
    with pytest.raises(ValueError, match="Failed to get stable version"):
        selected("some", tmp_path, {})


def _program(folder: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    """A program that does not run specs, and prints a line."""
    program = folder / "e2e.test"
    program.write_text(
        f'#!/bin/sh\ncase " $* " in *" --ginkgo.dry-run "*) ;; *) exit 1 ;; esac\necho \'{line}\'\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr(parts, "specs", lambda: program)
