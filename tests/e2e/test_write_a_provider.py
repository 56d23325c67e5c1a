"""The tutorial is followed literally, in an empty folder; what comes of it is the example."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.e2e.shell import Shell
from tests.e2e.test_documents import ROOT, blocks

EXAMPLE = ROOT / "examples" / "provider-nimbus"
PATIENCE = 300.0
MADE = (".pytest_cache", "release", "__pycache__", "clusterctl.yaml", "blue.yaml", "green.yaml")
"""What the commands leave besides the project."""


def project(folder: Path) -> dict[str, str]:
    """The files of a project."""
    return {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and path.suffix not in (".log", ".kubeconfig")
        and not any(part in MADE for part in path.relative_to(folder).parts)
    }


@pytest.mark.sockets
def test_the_tutorial_leads_from_an_empty_folder_to_ready_clusters(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    work = tmp_path / "work"
    work.mkdir()
    commands = "\n".join(blocks("docs/tutorial/write-a-provider.md"))
    said = tmp_path / "said"  # a file: what is left running keeps a pipe open
    try:
        with said.open("w") as out:
            done = subprocess.run(
                ["bash", "-e", "-x", "-o", "pipefail", "-c", commands],
                env=shell.environ,
                cwd=work,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=PATIENCE,
                check=False,
                start_new_session=True,
            )
    finally:
        shell.run("kapy", "down")
    assert done.returncode == 0, said.read_text()[-5000:]
    assert project(work / "nimbus") == project(EXAMPLE)
