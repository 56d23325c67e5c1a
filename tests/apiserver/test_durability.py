"""`kill -9` at random moments: what was acknowledged is there, revisions only rise, and a watcher
that resumes sees every change once.

Twenty seeds; KAPY_SEEDS=200 for more.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kapy.apiserver.store.store import Store

ROOT = Path(__file__).parents[2]
SEEDS = int(os.environ.get("KAPY_SEEDS", "20"))
AT_A_TIME = 5
"""Kills that one data directory survives."""

Lines = list[list[str]]


def _killed(directory: Path, seed: int, revision: int) -> Lines:
    """The lines that a writer and its watcher printed until they were killed."""
    command = [sys.executable, "-m", "tests.apiserver.writer", str(directory)]
    with subprocess.Popen(
        [*command, str(seed), str(revision)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(random.Random(seed).uniform(0.01, 0.25))
        process.kill()
        message = process.stdout.read()
    return [line.split() for line in message.splitlines(keepends=True) if line.endswith("\n")]


def _content(directory: Path) -> tuple[int, dict[str, str]]:
    """The revision and the values that a new process finds."""
    store = Store.open(directory)
    results = store.table("configmaps").scan("default")
    values = {document["metadata"]["name"]: document["data"]["v"] for document in results}
    revision = store.revision
    store.close()
    return revision, values


def _in_flight(messages: Lines) -> set[tuple[str, str]]:
    """Name and value of what was tried and not acknowledged: one for each writer at most."""
    open_writes: dict[str, tuple[str, str]] = {}
    for verb, *rest in messages:
        if verb in ("try", "done"):
            name, value = rest[:2]
            writer = name.partition("-")[0]
            open_writes[writer] = (name, value)
            if verb == "done":
                del open_writes[writer]
    return set(open_writes.values())


@dataclass
class Watcher:
    """The state that a watcher knows across all kills of the server."""

    revision: int = 1
    known: dict[str, str] = field(default_factory=dict)

    def hear(self, messages: Lines) -> None:
        """Apply a watcher's lines, which must have every acknowledged change up to the last one."""
        writes: dict[int, tuple[str, str]] = {}
        floor = self.revision
        for verb, *rest in messages:
            if verb == "list":
                floor = self.revision = int(rest[0])
                self.known = dict(pair.split("=") for pair in rest[1:])
            elif verb == "saw":
                revision, name, value = int(rest[0]), rest[1], rest[2]
                assert revision > self.revision, "doubled, or out of order"
                self.revision, writes[revision] = revision, (name, value)
                self._learn(name, value)
        lost = {
            (int(revision), name, value)
            for _, name, value, revision in said_by(messages, "done")
            if value != "-" and floor < int(revision) <= self.revision
        } - {(revision, *what) for revision, what in writes.items()}
        assert lost == set()

    def _learn(self, name: str, value: str) -> None:
        if value == "-":
            assert name in self.known, "deleted twice"
            del self.known[name]
        else:
            self.known[name] = value


def said_by(messages: Lines, verb: str) -> Iterable[list[str]]:
    return (line for line in messages if line[0] == verb)


@pytest.mark.parametrize("first", range(0, SEEDS, AT_A_TIME))
def test_acknowledged_writes_survive_a_kill(tmp_path: Path, first: int) -> None:
    stored: dict[str, str] = {}
    revision = 0
    watcher = Watcher()
    for seed in range(first, first + AT_A_TIME):
        messages = _killed(tmp_path, seed, watcher.revision)
        done = list(said_by(messages, "done"))
        assert all(int(number) > revision for _, _, value, number in done if value != "-")
        wanted = stored | {name: value for _, name, value, _ in done}
        highest = max((int(line[3]) for line in done), default=revision)
        watcher.hear(messages)
        revision, stored = _content(tmp_path)
        assert revision >= max(highest, watcher.revision)
        maybe = _in_flight(messages)
        lost = {
            name: (wanted.get(name, "-"), stored.get(name, "-"))
            for name in {*wanted, *stored}
            if stored.get(name, "-") != wanted.get(name, "-")
            and (name, stored.get(name, "-")) not in maybe
        }
        assert lost == {}
        if watcher.revision == revision:
            assert watcher.known == stored
