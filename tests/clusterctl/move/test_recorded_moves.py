"""Upstream's moves of two running clusters, done again with the same objects."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.clusterctl.move.recorded import as_recorded
from tests.oracle.topic import Record

DATA = Path(__file__).parents[2] / "data" / "clusterctl" / "move.jsonl.gz"
RUNS: list[Record] = [json.loads(line) for line in gzip.decompress(DATA.read_bytes()).splitlines()]
BEFORE = next(run["objects_before"] for run in RUNS if "objects_before" in run)


@pytest.mark.parametrize("record", RUNS, ids=lambda value: value["title"])
def test_a_move_prints_and_does_the_same_as_upstream(record: Record) -> None:
    assert list(as_recorded(record, BEFORE)) == []
