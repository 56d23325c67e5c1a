"""`kapy move` between two planes over real sockets, as the how-to has it."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.shell import Shell

PATIENCE = 60.0


@contextmanager
def plane(shell: Shell, name: str) -> Iterator[str]:
    """`kapy up` of another plane until the block is left; answers its kubeconfig."""
    kubeconfig = str(shell.home / f"{name}.kubeconfig")
    command = ("kapy", "up", "--name", name, "--port", "0", "--kubeconfig", kubeconfig)
    with subprocess.Popen(
        command, env=shell.environ, cwd=shell.home, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert "management plane at" in process.stdout.readline()
        assert "is current" in process.stdout.readline()
        yield kubeconfig
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read().splitlines()[-1] == "stopped"


def until(shell: Shell, *command: str, says: str) -> None:
    """Ask again and again, as a person would."""
    deadline = time.monotonic() + PATIENCE
    while says not in (last := shell.run(*command)).stdout:
        assert time.monotonic() < deadline, f"{last.stdout}\n{last.stderr}"
        time.sleep(0.2)


@pytest.mark.sockets
def test_a_cluster_moves_to_another_plane_and_is_reached_there(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.ok("kapy", "quickstart", "--detach", "--port", "0")
    with plane(shell, "target") as kubeconfig:
        there = ("--kubeconfig", kubeconfig)
        rehearsed = shell.run("kapy", "move", "--dry-run", "-v", "1").stderr
        assert 'Creating Cluster="capybara" Namespace="default"' in rehearsed
        assert 'Leaving behind ConfigMap="kube-root-ca.crt" Namespace="default"' in rehearsed
        itself = shell.run("kapy", "move", "--to-kubeconfig", ".kube/config")
        assert "the source and the target are the same cluster" in itself.stderr

        alone = shell.run("kapy", "pivot", "capybara", "--dry-run")
        assert alone.returncode == 1
        assert alone.stderr.splitlines()[-1].startswith(
            "Error: the machines of Cluster default/capybara exist in memory only, and run no Pods"
        )

        saved = tmp_path / "saved"
        saved.mkdir()
        shell.ok("kapy", "move", "--to-directory", "saved")
        assert {path.stat().st_mode & 0o777 for path in saved.iterdir()} == {0o600}

        machines = shell.kubectl("get machines -o name")
        shell.ok("kapy", "move", "--to-kubeconfig", kubeconfig)
        assert shell.kubectl("get clusters,machines,secrets -o name") == ""
        available = ("wait", "cluster/capybara", "--for=condition=Available", "--timeout=300s")
        shell.ok("kubectl", *there, *available)
        assert "True   Available" in shell.ok("kapy", "describe", "cluster", "capybara", *there)
        assert shell.ok("kubectl", *there, "get", "machines", "-o", "name") == machines
        assert list((tmp_path / "kapy" / "moves").iterdir()) == []

        user = shell.ok("kapy", "get", "kubeconfig", "capybara", *there)
        (tmp_path / "capybara.kubeconfig").write_text(user)
        assert "stopped" in shell.ok("kapy", "down", "--name", "quickstart")
        nodes = ("kubectl", "--kubeconfig", "capybara.kubeconfig", "get", "nodes", "-o", "name")
        until(shell, *nodes, says="node/capybara-control-plane")
