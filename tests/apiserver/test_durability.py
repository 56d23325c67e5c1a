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


def _content(directory: Path) -> tuple[int, dict[str, str]]:
    """The revision and the values that a new process finds."""
    store = Store.open(directory)
    objects = store.table("configmaps").namespaces.get("default", {})
    values = {name: one.read()["data"]["v"] for name, one in objects.items()}
    revision = store.revision
    store.close()
    return revision, values


def _in_flight(said: list[list[str]]) -> set[tuple[str, str]]:
    """Name and value of what was tried and not acknowledged: one for each writer at most."""
    open_writes: dict[str, tuple[str, str]] = {}
    for verb, name, value, *_ in said:
        writer = name.partition("-")[0]
        if verb == "try":
            open_writes[writer] = (name, value)
        else:
            del open_writes[writer]
    return set(open_writes.values())


@pytest.mark.parametrize("first", range(0, 20, 4))
def test_what_was_acknowledged_survives(tmp_path: Path, first: int) -> None:
    stored: dict[str, str] = {}
    revision = 0
    for seed in range(first, first + 4):
        said = _killed(tmp_path, seed)
        done = [line for line in said if line[0] == "done"]
        assert all(int(number) > revision for _, _, value, number in done if value != "-")
        wanted = stored | {name: value for _, name, value, _ in done}
        highest = max((int(line[3]) for line in done), default=revision)
        revision, stored = _content(tmp_path)
        assert revision >= highest
        maybe = _in_flight(said)
        lost = {
            name: (wanted.get(name, "-"), stored.get(name, "-"))
            for name in {*wanted, *stored}
            if stored.get(name, "-") != wanted.get(name, "-")
            and (name, stored.get(name, "-")) not in maybe
        }
        assert lost == {}
