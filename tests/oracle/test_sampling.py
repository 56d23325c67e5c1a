"""The sample in `tests/data` is what `python -m tests.oracle.sampling` makes of recorded data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

from tests.oracle.recorded import RECORDED, ROOT, SAMPLES, TOPICS
from tests.oracle.sampling import KEPT, SAMPLE, Row

PLACE: Final = re.compile(r"""/ ["']shared["']|["'](\.\./)?shared/""")
"""A path to `../shared`, as code writes it."""

KNOWS_THE_PLACE: Final = ("tests/oracle/recorded.py", "tests/oracle/test_sampling.py")
TIMED: Final = re.compile(r"(?<!-)\bdeadline=\d|\bderandomize=|HealthCheck\.too_slow")


def sources() -> list[Path]:
    folders = ("tests", "benchmarks", "examples")
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


@pytest.mark.recorded
@pytest.mark.parametrize("row", SAMPLE, ids=lambda row: row.target)
def test_a_file_of_the_sample_is_made_from_the_recorded_data(row: Row) -> None:
    assert row.kept() == row.made(), "run: make samples"


def test_every_kept_file_is_sampled_or_named() -> None:
    targets = {row.target for row in SAMPLE}
    files = {str(path.relative_to(SAMPLES)) for path in SAMPLES.rglob("*") if path.is_file()}
    unknown = {
        file for file in files - targets if not file.startswith(KEPT) and "__pycache__" not in file
    }
    assert unknown == set()
    assert targets - files == set()


@pytest.mark.recorded
def test_every_recorded_topic_is_compared() -> None:
    assert {path.name for path in RECORDED.iterdir() if path.is_dir()} == set(TOPICS)


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_has_a_sample(topic: str) -> None:
    assert any(row.target.startswith(f"{topic}/") for row in SAMPLE)


def test_one_module_knows_the_place_of_recorded_data() -> None:
    """Everything else asks it, so that a clone without the data runs the same tests."""
    paths = [str(path.relative_to(ROOT)) for path in sources() if PLACE.search(path.read_text())]
    assert [text for text in paths if text not in KNOWS_THE_PLACE] == []


def test_examples_are_fixed_and_have_no_deadline() -> None:
    assert settings().deadline is None
    own = [
        str(path.relative_to(ROOT))
        for path in sources()
        if path != ROOT / "tests" / "conftest.py" and TIMED.search(path.read_text())
    ]
    assert [text for text in own if text not in KNOWS_THE_PLACE] == []
