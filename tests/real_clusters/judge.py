"""`kapy conformance run` of a provider's program, as a command."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kapy.kube import Document
from kapy.kube.yaml import dump
from tests.real_clusters.parts import OLD, ROOT, tell

FAULTS: Final = os.environ.get("KAPY_REAL_FAULTS") or "2"
"""Number of runs with injected faults."""
PARALLEL: Final = os.environ.get("KAPY_REAL_PARALLEL") or "1"
"""Number of checks at a time."""
WITHIN: Final = os.environ.get("KAPY_REAL_WITHIN") or "120"
"""Seconds for each operation of the provider; more on a machine with other work."""
_LIMIT: Final = 5400.0
_NOT_HERE: Final = "webhooks are called only where it runs in a cluster"


async def judge(
    release: Path,
    program: Sequence[str],
    examples: Sequence[Document],
    variables: Mapping[str, str],
    environment: Mapping[str, str],
) -> str:
    """Run all checks with machines of the old version, and return the report.

    program: a module of Python, and its arguments. Fails unless each MUST and SHOULD holds, and
    is checked.
    """
    file = release / "examples.yaml"
    file.write_text("---\n".join(map(dump, examples)))
    words = ["--examples", str(file), "--parallel", PARALLEL, "--within", WITHIN]
    for name, value in {"KUBERNETES_VERSION": OLD.version, **variables}.items():
        words += ["--variable", f"{name}={value}"]
    words += ["--faults", FAULTS, "--fail-on", "SHOULD"]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "providers" / "hosts")])
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kapy.cli.main", "conformance", "run", str(release), *words),
        *("--", sys.executable, "-m", *program),
        env={**os.environ, "PYTHONPATH": path, **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    lines = []
    try:
        async with asyncio.timeout(_LIMIT):
            async for line in process.stdout:
                lines.append(line.decode())
                tell(lines[-1].rstrip())
            code = await process.wait()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    report = "".join(lines)
    tell(f"all checks: {time.monotonic() - began:.0f} s")
    assert code == 0, report
    assert [line for line in lines if _is_unexpected(line)] == []
    return report


def _is_unexpected(line: str) -> bool:
    """Whether a rule was not checked, though it can be checked here."""
    return line.split()[:2] == ["not", "run"] and _NOT_HERE not in line
