"""TAB in the shells themselves: those of bash, zsh and fish that this machine has."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from kapy.cli.completion_code import CODE
from kapy.client import kubeconfig_files
from kapy.client.kubeconfig import Kubeconfig, with_context
from tests.waiting import LIMIT

COMMANDS: Final = {
    "bash": "bash --norc --noprofile -i",
    "zsh": "zsh -f -i",
    "fish": "fish --no-config -i",
}
SHELLS: Final = [name for name in COMMANDS if shutil.which(name)]
BEGIN: Final = {
    "bash": "PS1=; bind 'set enable-bracketed-paste off'; source ./code; echo REA''DY",
    "zsh": "PROMPT=; autoload -U compinit; compinit -u -D; source ./code; echo REA''DY",
    "fish": "source ./code; echo REA''DY",
}
CONTEXTS: Final = ("kapy-two", "arn:aws:eks:one", "spaced out")


@dataclass
class Terminal:
    """A shell at a terminal. said: its output up to now."""

    handle: int
    said: str = ""

    def type(self, text: str) -> None:
        os.write(self.handle, text.encode())

    def until(self, pattern: str) -> None:
        """Read until a pattern occurs; what was said before is forgotten then."""
        deadline = time.monotonic() + LIMIT
        while not (match := re.search(pattern, self.said)):
            seconds = deadline - time.monotonic()
            assert seconds > 0, f"{pattern} is not in {self.said!r}"
            if select.select([self.handle], [], [], seconds)[0]:
                self.said += os.read(self.handle, 1 << 16).decode(errors="replace")
        self.said = self.said[match.end() :]


@contextmanager
def terminal(shell: str, folder: Path) -> Iterator[Terminal]:
    """The shell with the code that completes `kapy`, in a folder of its own."""
    pid, handle = pty.fork()
    if not pid:
        os.chdir(folder)
        path = f"{folder}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "TERM": "dumb", "HOME": str(folder)}
        command = COMMANDS[shell].split()
        os.execvpe(command[0], command, environment)
    try:
        result = Terminal(handle)
        result.type(f"{BEGIN[shell]}\n")
        result.until("READY")
        yield result
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(handle)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program `kapy`, a kubeconfig and files."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    for name in CONTEXTS:
        to = Kubeconfig(server="https://127.0.0.1:1", token="x")
        kubeconfig_files.edit(tmp_path / "kubeconfig", partial(with_context, name=name, to=to))
    program = tmp_path / "kapy"
    program.write_text(
        "#!/bin/sh\n"
        f'[ -n "$_KAPY_COMPLETE" ] && exec {sys.executable} -m kapy.cli.main\n'
        'for one; do printf "<%s>" "$one"; done; echo\n'
    )
    program.chmod(0o755)
    (tmp_path / "some file").touch()
    return tmp_path


WORDS: Final = {
    "desc": "<describe>",
    "down --na": "<down><--name>",
    "plan --kubeconfig-context ka": "<plan><--kubeconfig-context><kapy-two>",
    "plan --kubeconfig-context=ka": "<plan><--kubeconfig-context=kapy-two>",
    "plan --kubeconfig-context sp": "<plan><--kubeconfig-context><spaced out>",
    "plan --kubeconfig-context spaced\\ o": "<plan><--kubeconfig-context><spaced out>",
    "plan --kubeconfig-context ar": "<plan><--kubeconfig-context><arn:aws:eks:one>",
    "plan --kubeconfig-context arn:aws:e": "<plan><--kubeconfig-context><arn:aws:eks:one>",
    "plan --kubeconfig-context arn:": "<plan><--kubeconfig-context><arn:aws:eks:one>",
    "plan --kubeconfig-context=arn:a": "<plan><--kubeconfig-context=arn:aws:eks:one>",
    "plan -f som": "<plan><-f><some file>",
    "plan --filename=som": "<plan><--filename=some file>",
}
"""Words typed before TAB, and the arguments that the program then gets."""


@pytest.mark.parametrize("shell", SHELLS)
def test_a_tab_completes_the_typed_word(shell: str, folder: Path) -> None:
    (folder / "code").write_text(CODE[shell])
    with terminal(shell, folder) as there:
        for typed, expected in WORDS.items():
            there.type(f"kapy {typed}\t\n")
            there.until(re.escape(expected))


def test_a_known_shell_is_available() -> None:
    assert SHELLS
