"""Instructions of a workload, counted by Valgrind's `callgrind`.

A workload runs twice, with a different number of rounds. The difference is the cost of the
further rounds: the start of the process, imports and compiled schemas are in both counts.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.instructions.workloads import REFERENCE, STORY

_ROUNDS: Final = {STORY: (1, 3), REFERENCE: (20, 120)}
_TOTAL: Final = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)


def instructions_per_round(workload: str) -> float:
    """Instructions of one round of a workload in a process that is warm."""
    few, many = _ROUNDS[workload]
    return (instructions(workload, many) - instructions(workload, few)) / (many - few)


def instructions(workload: str, rounds: int) -> int:
    """Instructions of a whole process that plays a workload."""
    with TemporaryDirectory(prefix="kapy-instructions-") as folder:
        output = Path(folder, "callgrind.out")
        subprocess.run(
            [
                *("valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={output}"),
                *(sys.executable, "-m", "tests.instructions.workloads", workload, str(rounds)),
            ],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )
        return total(output.read_text())


def total(output: str) -> int:
    """Return the number of instructions in a file that callgrind wrote."""
    match = _TOTAL.search(output)
    if match is None:
        raise ValueError("callgrind wrote no total")
    return int(match[1])


def python_build() -> str:
    """Version of this Python, and a hash of its program: other builds count differently."""
    program = Path(sys.executable).resolve()
    digest = hashlib.sha256(program.read_bytes()).hexdigest()[:12]
    return f"{sys.implementation.name} {sys.version.split()[0]} {digest}"
