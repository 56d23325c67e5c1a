"""The tutorial is followed literally, in an empty folder; what comes of it is the example.

Only ports differ: those of the tutorial may be in use on this machine.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.e2e.shell import Shell
from tests.e2e.test_documents import ROOT, blocks
from tests.real.servers import free_port

EXAMPLE = ROOT / "examples" / "provider-nimbus"
DOCUMENT = "docs/tutorial/write-a-provider.md"
CLOUD, HEALTH = ":8800", ":9440"
PATIENCE = 300.0
END_CHILDREN = "trap 'kill $(jobs -p) 2> /dev/null || true; wait' EXIT\n"
MADE = (".pytest_cache", "release", "__pycache__", "clusterctl.yaml", "blue.yaml", "green.yaml")
"""Files that the commands create in the folder of the project."""


def project(folder: Path, ports: Mapping[str, str]) -> dict[str, str]:
    """The files of a project, with the tutorial's ports."""
    return {
        str(path.relative_to(folder)): with_ports(
            path.read_text(encoding="utf-8"), {other: own for own, other in ports.items()}
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and path.suffix not in (".log", ".kubeconfig")
        and not any(part in MADE for part in path.relative_to(folder).parts)
    }


def with_ports(text: str, ports: Mapping[str, str]) -> str:
    """A text with the keys of `ports` replaced by their values."""
    for key, other in ports.items():
        text = text.replace(key, other)
    return text


def tutorial(ports: Mapping[str, str]) -> str:
    """The commands of the tutorial with these ports."""
    commands = with_ports("\n".join(blocks(DOCUMENT)), ports)
    flags = {
        "-m kapy.testing.cloud ": f"--port {ports[CLOUD][1:]} ",
        "-m nimbus --install ": f"--health-addr 127.0.0.1{ports[HEALTH]} --webhook-port "
        f"{free_port()} --diagnostics-address 0 ",
    }
    for command, more in flags.items():
        assert commands.count(command) == 1
        commands = commands.replace(command, command + more)
    return commands


def follow(shell: Shell, commands: str, folder: Path, path: Path) -> int:
    """Run commands to their end; no process of theirs is left behind, however they end."""
    with (
        path.open("w") as out,
        subprocess.Popen(
            ["bash", "-e", "-x", "-o", "pipefail", "-c", END_CHILDREN + commands],
            env=shell.environ,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as bash,
    ):
        try:
            return bash.wait(PATIENCE)
        except BaseException:
            os.killpg(bash.pid, signal.SIGTERM)
            raise


@pytest.mark.sockets
def test_the_tutorial_leads_from_an_empty_folder_to_ready_clusters(tmp_path: Path) -> None:
    shell = Shell(tmp_path, forks=False)  # a script of a reader: every start is a true one
    work = tmp_path / "work"
    work.mkdir()
    ports = {text: f":{free_port()}" for text in (CLOUD, HEALTH)}
    path = tmp_path / "said"  # a file: what is left running keeps a pipe open
    try:
        code = follow(shell, tutorial(ports), work, path)
    finally:
        shell.run("kapy", "down")
    assert code == 0, path.read_text()[-5000:]
    assert project(work / "nimbus", ports) == project(EXAMPLE, {})


@pytest.mark.sockets
def test_no_process_is_left_when_a_command_fails(tmp_path: Path) -> None:
    path = tmp_path / "said"
    commands = "sleep 600 &\necho $! > pid\nfalse\n"
    assert follow(Shell(tmp_path), commands, tmp_path, path) == 1
    process = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
