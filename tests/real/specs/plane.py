"""Processes of planes: how they are started, and how one knows that they serve."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from kapy.client import kubeconfig_files
from kapy.client.blocking import BlockingApiTransport, run_without_loop
from kapy.client.client import Client
from kapy.kube.errors import KapyError

PATIENCE: Final = 180.0


class NotReady(Exception):
    """A plane that does not serve."""


def kapy() -> str:
    """The program `kapy` of this environment."""
    return str(Path(sys.executable).with_name("kapy"))


@contextmanager
def process(
    log: Path, command: list[str], environment: dict[str, str] | None = None
) -> Iterator[None]:
    """A process, which ends with the context."""
    with (
        log.open("ab") as result,
        subprocess.Popen(
            command, env=environment, stdout=result, stderr=result, stdin=subprocess.DEVNULL
        ) as started,
    ):
        try:
            yield
        finally:
            started.terminate()


def serves(kubeconfig: Path) -> bool:
    """Whether the API server of a kubeconfig answers."""
    if not kubeconfig.exists():
        return False
    transport = BlockingApiTransport(kubeconfig_files.load([kubeconfig], ""))
    with closing(transport), suppress(KapyError):
        run_without_loop(Client(transport).raw("GET", "/api/v1/namespaces/kube-public"))
        return True
    return False


def until(holds: Callable[[], bool], log: Path) -> None:
    """Wait until something holds. log: of the process. Raises NotReady."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise NotReady(f"after {PATIENCE:.0f} s: {log.read_text()[-2000:]}")
        time.sleep(0.1)
