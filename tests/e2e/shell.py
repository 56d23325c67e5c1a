"""Commands as a person types them, in a home of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from kapy.cli.root import run
from tests.fork_server.client import shims
from tests.waiting import LIMIT

PATIENCE = LIMIT


@dataclass(frozen=True)
class Shell:
    """A person at home: nothing outside of `home` is read or written.

    more: environment variables of one's own. forks: `kapy` is a fork of a process that has imported
    it, which takes a tenth of the time; False for tests of the real start.
    """

    home: Path
    more: Mapping[str, str] = field(default_factory=dict)
    forks: bool = True

    @property
    def environ(self) -> dict[str, str]:
        own = str(Path(sys.executable).parent)
        path = [str(shims()), own] if self.forks else [own]
        variables = {
            name: value for name, value in os.environ.items() if not name.startswith("KUBE")
        }
        return {
            **variables,
            "HOME": str(self.home),
            "KAPY_HOME": str(self.home / "kapy"),
            "PATH": os.pathsep.join([*path, os.environ["PATH"]]),
            **self.more,
        }

    def run(
        self, *command: str, text: str = "", timeout: float = PATIENCE
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, whatever its exit code. timeout: seconds."""
        return subprocess.run(
            command,
            env=self.environ,
            cwd=self.home,
            input=text,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def run_here(self, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run `kapy …` in this process. Most of the CPU time of a short command is its start."""
        environ = {**dict.fromkeys(os.environ), **self.environ}
        with chdir(self.home), CliRunner().isolation(text, environ) as (output, errors, _):
            code = run(arguments)
            sys.stderr.flush()
            return subprocess.CompletedProcess(
                arguments, code, output.getvalue().decode(), errors.getvalue().decode()
            )

    def ok(self, *command: str, text: str = "", timeout: float = PATIENCE) -> str:
        """Return the output of a command that must succeed. timeout: seconds."""
        done = self.run(*command, text=text, timeout=timeout)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def kubectl(self, line: str, text: str = "") -> str:
        """`kubectl …`, which must succeed; arguments have no spaces in them."""
        return self.ok("kubectl", *line.split(), text=text)

    def json(self, line: str) -> Any:
        """Return the answer of `kubectl … -o json`."""
        return json.loads(self.kubectl(f"{line} -o json"))
