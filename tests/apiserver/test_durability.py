"""kill -9 at twenty random moments: every acknowledged write is there, revisions only rise."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kapy.apiserver.store.store import Store

ROOT = Path(__file__).parents[2]


def _killed(directory: Path, seed: int) -> list[list[str]]:
    """What a writer said until it was killed."""
    command = [sys.executable, "-m", "tests.apiserver.writer", str(directory), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(random.Random(seed).uniform(0.01, 0.25))
        process.kill()
        said = process.stdout.read()
    return [line.split() for line in said.splitlines(keepends=True) if line.endswith("\n")]


@pytest.mark.parametrize("first", range(0, 20, 4))
def test_what_was_acknowledged_survives(tmp_path: Path, first: int) -> None:
    last = 0
    for seed in range(first, first + 4):
        said = _killed(tmp_path, seed)
        expected: dict[str, str | None] = {}
        highest = last
        for kind, name, *rest in said:
            expected[name] = rest[0] if kind == "put" else None
            if kind == "put":
                assert int(rest[1]) > last
            highest = max(highest, int(rest[-1]))
        store = Store.open(tmp_path)
        objects = store.table("configmaps").namespaces.get("default", {})
        assert store.revision >= highest
        # The write after the last that was said may be there, too: one for each of the writers.
        wrong = [
            name
            for name, value in expected.items()
            if (objects[name]["data"]["v"] if name in objects else None) != value
        ]
        assert len(wrong) <= 4
        for name in wrong:
            newer = objects.get(name)
            assert newer is None or int(newer["metadata"]["resourceVersion"]) > _said(said, name)
        last = store.revision
        store.close()


def _said(said: list[list[str]], name: str) -> int:
    return max(int(line[-1]) for line in said if line[1] == name and line[0] == "put")
