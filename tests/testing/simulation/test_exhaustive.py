"""Every scenario with a fault at every write, and random faults for some time.

`make exhaustive` runs the first, `make soak` both (KAPY_SOAK_SECONDS is how long, KAPY_SEED where
the seeds begin).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import pytest

from kapy.testing.simulation import SCENARIOS, exhaustive, random_runs, shrunk
from kapy.testing.simulation.forking import always, in_rotation, sample_points
from kapy.testing.simulation.guided import read_corpus

CORPUS: Final = Path(__file__).with_name("interesting.txt")
WORTH: Final = 3
"""Pairs of a fault and a state that a run must be the first to reach to be printed."""
SOAK = bool(os.environ.get("KAPY_SOAK"))
SECONDS = float(os.environ.get("KAPY_SOAK_SECONDS", "600"))
SEED = int(os.environ.get("KAPY_SEED", "0"))
WRITES = ("crash-before", "crash-after", "lost-reply")
STALE = 15
"""One event in so many is held back."""


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_fault_at_every_write(name: str) -> None:
    """One of the kinds in turn; all of them with `make soak`."""
    share = SCENARIOS[name].share
    selects = always if SOAK else sample_points(in_rotation(WRITES), share)
    verdicts = exhaustive(SCENARIOS[name], SEED, WRITES, selects=selects)
    failing = [one for one in verdicts if one.violations]
    assert [shrunk(SCENARIOS[name], SEED, one).story for one in failing[:1]] == []
    assert len(verdicts) > 10 // share


@pytest.mark.parametrize("name", SCENARIOS)
def test_caches_that_lag_behind(name: str) -> None:
    every = STALE if SOAK else STALE * SCENARIOS[name].share
    verdicts = exhaustive(
        SCENARIOS[name], SEED, ["stale"], selects=lambda point, _: point.number % every == 4
    )
    failing = [one for one in verdicts if one.violations]
    assert [shrunk(SCENARIOS[name], SEED, one).story for one in failing[:1]] == []


@pytest.mark.skipif(not SOAK, reason="takes as long as asked for: make soak")
def test_random_faults() -> None:
    """Begin with the corpus; runs that reach more are printed, to be added to it."""
    known = read_corpus(CORPUS.read_text(encoding="utf-8"))
    for run, verdict, new in random_runs([], SEED, faults=4, seconds=SECONDS, corpus=known):
        if verdict.violations:
            pytest.fail(shrunk(SCENARIOS[run.scenario], run.seed, verdict).story)
        if new >= WORTH and run not in known:
            sys.stdout.write(f"{run}\n")
