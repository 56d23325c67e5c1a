"""A story that costs more instructions than recorded does not pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.instructions import __main__ as program
from tests.instructions import counting, figure
from tests.instructions.figure import Figure

_BEFORE = Figure("cpython 3.11.7 aaa", story=1_000_000, reference=10_000)


@pytest.mark.parametrize(
    ("build", "story", "reference", "passes"),
    [
        ("cpython 3.11.7 aaa", 1_029_000, 10_000, True),
        ("cpython 3.11.7 aaa", 1_031_000, 10_000, False),
        ("cpython 3.11.7 aaa", 500_000, 10_000, True),
        # With another Python, the number of reference rounds counts.
        ("cpython 3.14.0 bbb", 2_200_000, 20_000, True),
        ("cpython 3.14.0 bbb", 2_400_000, 20_000, False),
    ],
)
def test_an_increase_beyond_the_limit_fails(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    build: str,
    story: int,
    reference: int,
    passes: bool,
) -> None:
    counts = {"story": story, "reference": reference}
    monkeypatch.setattr(figure, "FILE", tmp_path / "figure.json")
    monkeypatch.setattr(program, "which", lambda _: "valgrind")
    monkeypatch.setattr(program, "python_build", lambda: build)
    monkeypatch.setattr(program, "instructions_per_round", counts.__getitem__)
    figure.record(_BEFORE)
    assert program.main([]) == (0 if passes else 1)


def test_a_recorded_figure_is_read_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(figure, "FILE", tmp_path / "figure.json")
    figure.record(_BEFORE)
    assert figure.recorded() == _BEFORE


def test_the_report_names_the_limit_that_holds() -> None:
    same = Figure(_BEFORE.python_build, story=1_010_000, reference=10_000)
    other = Figure("cpython 3.14.0 bbb", story=1_010_000, reference=10_000)
    assert "+1.00% of the recorded 1,000,000 (limit +3%)" in figure.report(_BEFORE, same)
    assert "another Python (limit +15%)" in figure.report(_BEFORE, other)


def test_further_rounds_are_counted_without_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def instructions(_workload: str, rounds: int) -> int:
        return 5_000_000 + 700 * rounds

    monkeypatch.setattr(counting, "instructions", instructions)
    assert counting.instructions_per_round("story") == 700


@pytest.mark.parametrize("line", ["summary: 4711", "totals: 4711"])
def test_the_total_of_callgrind_is_read(line: str) -> None:
    assert counting.total(f"events: Ir\nfn=(1) main\n12 +3\n{line}\n") == 4711


def test_output_without_a_total_is_an_error() -> None:
    with pytest.raises(ValueError, match="no total"):
        counting.total("events: Ir\n")


def test_a_figure_is_recorded_in_the_repository() -> None:
    before = figure.recorded()
    assert before.story > before.reference > 0
