"""What this machine lacks for some of the tests, one line each."""

from __future__ import annotations

import shutil

from tests.oracle.recorded import PROVIDERS, absent
from tests.real.servers import not_real


def not_run() -> list[str]:
    """What did not run, and why."""
    lines = []
    if topics := absent():
        lines.append(f"not run, as ../shared is not there: recorded cases of {', '.join(topics)}")
    if not PROVIDERS.is_dir():
        lines.append("not run, as ../shared is not there: clusters of released providers")
    if not has_kubectl():
        lines.append("not run, as kubectl is not on PATH: tests/e2e")
    if not has_go():
        lines.append("not run, as go is not on PATH: programs in Go (tests/foreign, tests/e2e)")
    if why := not_real():
        lines.append(f"tests/real ran against the embedded server, as {why}")
    return lines


def has_kubectl() -> bool:
    """Whether the tests that drive the real kubectl can run."""
    return shutil.which("kubectl") is not None


def has_go() -> bool:
    """Whether programs in Go can be built."""
    return shutil.which("go") is not None
