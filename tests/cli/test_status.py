"""The sentence about a full disk under a plane: of `kapy status`, and of a plane without a log."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from kapy.apps.pidfile import PlaneRecord, announce, claim
from kapy.apps.settings import Folder
from kapy.cli.background import last_words
from kapy.cli.daemon import status

FREE = {"enough": 1 << 20, "too little": 10}
"""Blocks of 4 KiB."""


@pytest.mark.parametrize("free", FREE)
def test_a_full_disk_is_reported(
    free: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = SimpleNamespace(f_bavail=FREE[free], f_frsize=4096)
    monkeypatch.setattr(os, "statvfs", lambda _: disk)
    folder = Folder(tmp_path)
    record = PlaneRecord(os.getpid(), "https://127.0.0.1:1", "kapy", "kc", "now", "0", "")
    with claim(folder), announce(folder, record):
        words = ["--data-dir", str(tmp_path)]
        printed = CliRunner().invoke(status, words).output
        document = json.loads(CliRunner().invoke(status, [*words, "-o", "json"]).output)
    sentence = f"the disk of {tmp_path} is full; free some space on it"
    assert document["disk"] == ("" if free == "enough" else sentence)
    assert (f"  disk        {sentence}\n" in printed) == (free == "too little")


@pytest.mark.parametrize("free", FREE)
def test_a_plane_that_could_not_write_its_log_ended_for_the_full_disk(
    free: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = SimpleNamespace(f_bavail=FREE[free], f_frsize=4096)
    monkeypatch.setattr(os, "statvfs", lambda _: disk)
    log = tmp_path / "kapy.log"
    log.touch()
    is_full = f": the disk of {tmp_path} is full; free some space on it, or use another --data-dir"
    assert last_words(log) == "the management plane ended before it was ready" + (
        is_full if free == "too little" else f", and said nothing in {log}"
    )
    log.write_text("Error: the port is in use\n")
    assert last_words(log) == "the port is in use"
