"""`kill -9` of the whole plane at any moment: nothing acknowledged is lost, nothing is doubled."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.apps.victim import SETTLED

ROOT = Path(__file__).resolve().parents[2]
KILLS = 5


def victim(folder: Path, seed: int, *mode: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.apps.victim", str(folder), str(seed), *mode]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def killed_after(process: subprocess.Popen[str], seconds: float) -> list[dict[str, Any]]:
    """Everything that the process said from its first word until it was killed."""
    assert process.stdout is not None
    lines = [process.stdout.readline()]
    killer = threading.Timer(seconds, process.kill)
    killer.start()
    lines += process.stdout.readlines()
    process.stdout.close()
    process.wait()
    killer.cancel()
    # The last line may have been cut off.
    return [json.loads(line) for line in lines if line.endswith("\n")]


@pytest.mark.sockets
@pytest.mark.parametrize("first", range(0, 4 * KILLS, KILLS))
def test_a_plane_survives_being_killed(first: int, tmp_path: Path) -> None:
    acknowledged: set[str] = set()
    for seed in range(first, first + KILLS):
        told = killed_after(victim(tmp_path, seed), Random(seed).uniform(0.0, 1.2))
        assert acknowledged <= {*told[0]["found"], "fleet"}, seed
        assert told[0]["planes"] <= 1, seed
        acknowledged |= {one["acknowledged"] for one in told if "acknowledged" in one}
    assert len(acknowledged) > KILLS
    out, _ = victim(tmp_path, first, "settle").communicate(timeout=120)
    end = json.loads(out)
    assert acknowledged <= {*end["found"], "fleet"}
    assert (end["planes"], end["machines"], end["nodes"]) == (1, 1 + SETTLED, 1 + SETTLED)
