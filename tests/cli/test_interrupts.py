"""Ctrl-C while modules are imported: no traceback, whichever import it meets.

The command forks at each of its imports; the child gets the signal there, and goes on.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FORKING = """
import json, os, sys

parent, results = os.getpid(), []

def interrupt(event, arguments):
    if event != "import" or os.getpid() != parent:
        return
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writing, 2)
        os.close(reading)
        os.close(writing)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.kill(os.getpid(), 2)
        return
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        text = said.read().decode()
    status = os.waitpid(child, 0)[1]
    results.append((arguments[0], os.waitstatus_to_exitcode(status), text))
    with open(os.environ["RESULTS"], "w") as file:
        json.dump(results, file)

sys.addaudithook(interrupt)
"""


@pytest.mark.parametrize("arguments", [["version"], ["get", "kubeconfig", "x"]], ids=" ".join)
def test_ctrl_c_at_any_import_prints_no_traceback(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "sitecustomize.py").write_text(FORKING)
    results = tmp_path / "results"
    environ = {"HOME": str(tmp_path), "RESULTS": str(results), "PATH": os.environ["PATH"]}
    search = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    subprocess.run(
        [sys.executable, str(ROOT / "bin" / "kapy"), *arguments],
        env={**environ, "PYTHONPATH": search},
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    met = json.loads(results.read_text())
    assert {name for name, _, _ in met} >= {"kapy.cli.main", "kapy.cli.fast_path"}
    ended = (-signal.SIGINT, 130)
    assert [item for item in met if item[1] not in ended or item[2].strip()] == []
