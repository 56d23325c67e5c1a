"""`kill -9` of the whole plane at any moment: nothing acknowledged is lost, nothing is doubled."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.apps.victim import SETTLED
from tests.waiting import LIMIT

ROOT = Path(__file__).resolve().parents[2]
KILLS = 5
WRITES = 60
PATIENCE = LIMIT


class Victims:
    """Planes in one folder, one after the other."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "tests.apps.victim", str(folder)]
        self._process = subprocess.Popen(
            command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def begin(self, *words: object) -> int:
        """Start one; its process."""
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self._process.stdin.flush()
        pid: int = self.says()["pid"]
        return pid

    def says(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        document: dict[str, Any] = json.loads(self._process.stdout.readline())
        return document

    def rest(self) -> Iterator[dict[str, Any]]:
        """The documents that it prints until it ends."""
        while "status" not in (document := self.says()):
            yield document
        assert document["status"] in (0, signal.SIGKILL)

    def end(self) -> None:
        self._process.communicate(timeout=PATIENCE)


@contextmanager
def victims(folder: Path) -> Iterator[Victims]:
    begun = Victims(folder)
    try:
        yield begun
    finally:
        begun.end()


def killed(here: Victims, seed: int) -> list[dict[str, Any]]:
    """Everything that a plane said until it was killed: some writes later, at any moment then."""
    random = Random(seed)
    pid = here.begin(seed)
    rest = here.rest()
    messages = list(islice(rest, 1 + random.randrange(WRITES)))
    time.sleep(random.uniform(0.0, 0.1))
    os.kill(pid, signal.SIGKILL)
    return [*messages, *rest]


@pytest.mark.sockets
@pytest.mark.parametrize("first", range(0, 4 * KILLS, KILLS))
def test_a_plane_survives_being_killed(first: int, tmp_path: Path) -> None:
    acknowledged: set[str] = set()
    with victims(tmp_path) as here:
        for seed in range(first, first + KILLS):
            messages = killed(here, seed)
            assert acknowledged <= {*messages[0]["found"], "fleet"}, seed
            assert messages[0]["planes"] <= 1, seed
            acknowledged |= {
                document["acknowledged"] for document in messages if "acknowledged" in document
            }
        assert len(acknowledged) > KILLS
        here.begin(first, "settle")
        (end,) = here.rest()
    assert acknowledged <= {*end["found"], "fleet"}
    assert (end["planes"], end["machines"], end["nodes"]) == (1, 1 + SETTLED, 1 + SETTLED)
