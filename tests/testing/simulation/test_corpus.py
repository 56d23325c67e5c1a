"""Faults that broke a rule once."""

from __future__ import annotations

import pytest

from tests.testing.simulation.corpus import CORPUS, Entry


@pytest.mark.slow
@pytest.mark.parametrize("entry", CORPUS, ids=str)
def test_runs_that_failed_once_pass(entry: Entry) -> None:
    outcome = entry.play()
    assert outcome.violations == []
    happened = [step["fault"] for step in outcome.steps if step["what"] == "fault"]
    assert len(happened) == len(entry.faults)
