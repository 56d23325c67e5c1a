"""The file that a move goes on from."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.move.graph import Ref
from kapy.clusterctl.move.journal import (
    Journal,
    Mode,
    MoveStarted,
    ObjectCreated,
    PauseStarted,
    Place,
    PriorState,
    RollbackStarted,
    TargetVerified,
    unfinished_moves,
)
from kapy.clusterctl.move.plan import Plan, PlannedMove, Treatment
from kapy.kube.names import SECRETS

REF = Ref("", "Secret", "fleet", "a")
BEGUN = MoveStarted("1", Mode.CLUSTERS, "fleet", Place("/a", "c", "id-1"), Place("/b", "", "id-2"))
OBJECT = PlannedMove(REF, SECRETS, Treatment.MOVED, 0, {"metadata": {"name": "a", "uid": "u"}})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "moves" / "one.jsonl"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    result = Journal.new(path, BEGUN)
    yield result
    result.close()


def reopened(journal: Journal) -> Journal:
    journal.close()
    return Journal.open(journal.path)


def test_a_reopened_journal_has_all_records(journal: Journal) -> None:
    prior = PriorState(REF, {"metadata": {"name": "a"}})
    journal.write(PauseStarted((REF,)), prior, ObjectCreated(((REF, "new"),)))
    journal.plan("forth", Plan([OBJECT]))
    journal.write(TargetVerified("forth"), RollbackStarted())
    state = reopened(journal).state
    assert (state.begun, state.paused, state.prior) == (BEGUN, {REF}, {REF: prior.document})
    assert (state.created_uids, state.verified, state.turned_back) == (
        {REF: "new"},
        {"forth"},
        True,
    )
    [planned] = state.plans["forth"].objects.values()
    assert (planned.ref, planned.document, planned.way) == (REF, OBJECT.document, Treatment.MOVED)


@pytest.mark.parametrize("cut", range(1, 400, 7))
def test_a_truncated_journal_can_be_read(journal: Journal, cut: int) -> None:
    journal.write(PauseStarted((REF,)))
    whole = journal.path.stat().st_size
    journal.plan("forth", Plan([OBJECT]))
    content = journal.path.read_bytes()
    rest = content[: max(whole, len(content) - cut)]
    journal.path.write_bytes(rest)
    again = reopened(journal)
    assert (again.state.paused, "forth" in again.state.plans) == ({REF}, rest == content)
    again.write(TargetVerified("forth"))
    assert reopened(again).state.verified == {"forth"}


def test_a_journal_is_private_and_deleted_after_the_move(journal: Journal) -> None:
    assert journal.path.stat().st_mode & 0o777 == 0o600
    assert journal.path.parent.stat().st_mode & 0o777 == 0o700
    journal.end()
    assert not journal.path.exists()


def test_a_move_that_has_not_ended_is_found(journal: Journal, path: Path) -> None:
    assert unfinished_moves(path.parent) == {path: BEGUN}
    (path.parent / "other.jsonl").write_text("{}\n")
    journal.end()
    assert unfinished_moves(path.parent) == {}


def test_a_journal_has_one_writer(journal: Journal, path: Path) -> None:
    with pytest.raises(MoveError, match="another kapy works with the journal"):
        Journal.open(path)
    with pytest.raises(MoveError, match=r"there is a journal at .* already"):
        Journal.new(path, BEGUN)


def test_a_full_disk_is_one_sentence_and_written_records_count(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def full(file: int, content: Any) -> int:
        if len(content) > 10:
            return write(file, content[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(MoveError, match="No space left on device; nothing was done that it"):
            journal.write(PauseStarted((REF,)))
    assert journal.state.paused == set()
    journal.write(ObjectCreated(((REF, "new"),)))
    state = reopened(journal).state
    assert (state.paused, state.created_uids) == (set(), {REF: "new"})


@pytest.mark.parametrize("text", ["", "{}\n", '{"type":"done"}\n', "kind: Secret\n"])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    with pytest.raises(MoveError, match="is no journal of a move"):
        Journal.open(path)
