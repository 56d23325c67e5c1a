"""Every scenario with a fault at every write, and random faults for some time.

`make exhaustive` runs the first, `make soak` both (KAPY_SOAK_SECONDS is how long, KAPY_SEED where
the seeds begin, KAPY_SOAK_WRITE adds the runs that reach most to the corpus). KAPY_EVENTS=1 holds
back every watch event.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import pytest

from kapy.testing.simulation import SCENARIOS, exhaustive, random_runs, shrunk
from kapy.testing.simulation.forking import Selects, always, in_rotation
from kapy.testing.simulation.guided import read_corpus

CORPUS: Final = Path(__file__).with_name("interesting.txt")
WORTH: Final = 5
"""Pairs of a fault and a state that a run must be the first to reach to be printed."""
SOAK = bool(os.environ.get("KAPY_SOAK"))
SECONDS = float(os.environ.get("KAPY_SOAK_SECONDS", "600"))
WRITES_CORPUS = bool(os.environ.get("KAPY_SOAK_WRITE"))
SEED = int(os.environ.get("KAPY_SEED", "0"))
WRITES = ("crash-before", "crash-after", "lost-reply")
EVENTS = int(os.environ.get("KAPY_EVENTS", "10"))
"""One watch event in so many is held back."""


def selection(share: int) -> Selects:
    """Return which faults are tried: at a write one of the kinds in turn, or all with `make soak`;
    and one watch event in EVENTS is held back, unless it tells the manager of a write whose reply
    it has: that changes nothing in its cache. share: one such point in so many is tried."""
    at_writes = always if SOAK else in_rotation(WRITES, share)
    every = EVENTS if SOAK else EVENTS * share
    return lambda point, kind: (
        not point.is_known and point.number % every == every // 2
        if kind == "stale"
        else at_writes(point, kind)
    )


@pytest.mark.parametrize("name", SCENARIOS)
def test_rules_hold_with_a_fault_at_every_write_and_stale_caches(name: str) -> None:
    """Both in one run: its processes begin where it is, and it is played once."""
    share = SCENARIOS[name].share
    kinds = (*WRITES, "stale")
    verdicts = exhaustive(SCENARIOS[name], SEED, kinds, selects=selection(share), merges=not SOAK)
    failing = [verdict for verdict in verdicts if verdict.violations]
    assert [shrunk(SCENARIOS[name], SEED, verdict).story for verdict in failing[:1]] == []
    count = sum(verdict.faults[0].kind == "stale" for verdict in verdicts)
    assert len(verdicts) - count > 10 // share
    assert count > 0


@pytest.mark.skipif(not SOAK, reason="takes as long as asked for: make soak")
def test_rules_hold_under_random_faults() -> None:
    """Begin with the corpus. Runs that reach more are printed, and added to it with
    KAPY_SOAK_WRITE; a failure does not end the exploration."""
    corpus = read_corpus(CORPUS.read_text(encoding="utf-8"))
    stories = []
    for run, verdict, new in random_runs([], SEED, faults=4, seconds=SECONDS, corpus=corpus):
        if verdict.violations:
            stories.append(shrunk(SCENARIOS[run.scenario], run.seed, verdict).story)
            sys.stdout.write(f"{stories[-1]}\n")
        elif new >= WORTH and run not in corpus:
            sys.stdout.write(f"{run}\n")
            if WRITES_CORPUS:
                with CORPUS.open("a", encoding="utf-8") as file:
                    file.write(f"{run}\n")
    assert stories == []
