"""Tests of the record of the plane that runs in a folder."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from kapy.apps.pidfile import (
    NoPlane,
    PlaneIsRunning,
    PlaneRecord,
    announce,
    claim,
    is_claimed,
    last_plane,
    running_plane,
    terminate,
    write_record,
)
from kapy.apps.settings import Folder

HERE = PlaneRecord(
    os.getpid(), "https://127.0.0.1:1", "kapy", "config", "2026-01-01T00:00:00Z", "1"
)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "plane")


def test_a_plane_is_found_while_it_runs(folder: Folder) -> None:
    assert running_plane(folder) is None
    with claim(folder):
        assert is_claimed(folder)
        assert running_plane(folder) is None
        with announce(folder, HERE):
            assert running_plane(folder) == HERE
        assert running_plane(folder) is None
    assert not is_claimed(folder)


def test_the_record_of_a_killed_plane_is_not_that_of_the_next(folder: Folder) -> None:
    folder.make()
    write_record(folder, HERE)
    assert last_plane(folder) == HERE
    with claim(folder):
        assert running_plane(folder) is None
        assert last_plane(folder) == HERE


def test_a_second_plane_is_refused(folder: Folder) -> None:
    with claim(folder), pytest.raises(PlaneIsRunning, match="kapy down"), claim(folder):
        pass
    with claim(folder):
        assert is_claimed(folder)


def test_only_the_owner_may_look_inside(folder: Folder) -> None:
    with claim(folder), announce(folder, HERE):
        assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in folder.path.iterdir()} == {0o600}


def test_a_killed_plane_counts_as_stopped(folder: Folder) -> None:
    text = (
        "import sys, time; from pathlib import Path; from kapy.apps.pidfile import *; "
        "from kapy.apps.settings import Folder; import dataclasses\n"
        "folder = Folder(Path(sys.argv[1]))\n"
        "with claim(folder):\n"
        "  with announce(folder, PlaneRecord(1, 's', 'c', 'k', 't', 'v')):\n"
        "    print('up', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", text, str(folder.path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    assert running_plane(folder) is not None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert folder.running_record.exists()
    assert running_plane(folder) is None
    with pytest.raises(NoPlane):
        terminate(folder)
