"""Commands in the documents are run as they stand there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.shell import PATIENCE, Shell

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)( make)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ALONE = (
    "docs/how-to/from-laptop-to-production.md",
    "docs/how-to/install-create-move-upgrade.md",
    "docs/how-to/run-extensions.md",
    "docs/how-to/write-an-extension.md",
    "docs/tutorial/first-cluster.md",
)
ON_A_QUICKSTART = (
    "docs/reference/cli.md",
    "docs/how-to/change-a-fleet-with-a-plan.md",
    "docs/how-to/use-the-client.md",
    "README.md",
)
"""These take for granted that a quickstart's plane runs. README deletes its cluster at last."""

TRUE_START = "docs/tutorial/first-cluster.md"
"""Its commands are processes that Python starts; those of the others are forks."""

DOCUMENT_TIMEOUT = 5 * PATIENCE
"""Seconds for all commands of a document; each of them has its own limits."""
AT_THE_END = "trap 'kill $(jobs -p) 2> /dev/null || true' EXIT"
"""The trap ends the background jobs of a document, even if a command fails."""


def blocks(document: str, *, make: bool = False) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return [
        block
        for language, of_make, block in BLOCK.findall(text)
        if language == "sh" and bool(of_make) == make
    ]


@pytest.mark.sockets
@pytest.mark.parametrize("document", ALONE)
def test_the_commands_of_a_document_work(document: str, tmp_path: Path) -> None:
    shell = Shell(tmp_path, forks=document != TRUE_START)
    commands = "\n".join(blocks(document))
    try:
        follow(shell, commands)
    finally:
        for plane in ["quickstart", *re.findall(r"kapy up --name (\S+)", commands)]:
            shell.run("kapy", "down", "--name", plane)


@pytest.mark.sockets
def test_the_commands_of_documents_about_a_quickstart_work(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.ok("kapy", "quickstart", "--detach")
    try:
        for document in ON_A_QUICKSTART:
            follow(shell, "\n".join(blocks(document)))
    finally:
        shell.run("kapy", "down")


def follow(shell: Shell, commands: str) -> None:
    """Run the commands of a document, which has at least one."""
    assert commands
    script = f"{AT_THE_END}\n{commands}"
    shell.ok("bash", "-e", "-o", "pipefail", "-c", script, timeout=DOCUMENT_TIMEOUT)


def test_the_make_targets_of_the_readme_exist() -> None:
    targets = re.findall(r"^make (\S+)", "\n".join(blocks("README.md", make=True)), re.MULTILINE)
    assert {"quickstart", "test", "check", "bench"} <= set(targets)
    for target in targets:
        subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)


def test_the_readme_is_short_and_begins_with_the_two_commands() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150
    first = next(number for number, line in enumerate(lines) if line.startswith("```"))
    assert first < 10
    assert [line.split("#")[0].split() for line in lines[first + 1 : first + 3]] == [
        ["make", "quickstart"],
        ["make", "test"],
    ]
