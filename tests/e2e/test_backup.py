"""`kapy backup` of a plane that runs, `kapy restore` after it ended, with the real kubectl."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.shell import Shell

PLANE = ("--name", "quickstart")


@contextmanager
def up(shell: Shell) -> Iterator[None]:
    """`kapy up` until the block is left."""
    command = ("kapy", "up", *PLANE, "--port", "0")
    with subprocess.Popen(
        command, env=shell.environ, cwd=shell.home, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert "management plane at" in process.stdout.readline()
        assert "is current" in process.stdout.readline()
        yield
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read().splitlines()[-1] == "stopped"


@pytest.mark.sockets
def test_a_plane_is_restored_from_a_backup(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.ok("kapy", "quickstart", "--detach", "--port", "0")
    shell.kubectl("create configmap early")
    assert "it holds private keys" in shell.ok("kapy", "backup", "plane.tar.gz")
    shell.kubectl("create configmap late")
    running = shell.run("kapy", "restore", "plane.tar.gz", *PLANE, "--force")
    assert (running.returncode, "runs in" in running.stderr) == (1, True)
    shell.ok("kapy", "down")
    restored = shell.run("kapy", "restore", "plane.tar.gz", *PLANE)
    assert (restored.returncode, "--force replaces them" in restored.stderr) == (1, True)
    shell.ok("kapy", "restore", "plane.tar.gz", *PLANE, "--force")
    with up(shell):
        shell.kubectl("wait cluster/capybara --for=condition=Available --timeout=300s")
        names = shell.kubectl("get configmaps -o name").split()
        assert "configmap/early" in names
        assert "configmap/late" not in names
        shell.kubectl("scale machinedeployment capybara-md-0 --replicas 2")
        shell.kubectl(
            "wait machinedeployment/capybara-md-0 --for=jsonpath={.status.availableReplicas}=2 "
            "--timeout=300s"
        )
