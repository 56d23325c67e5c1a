"""The folder of the nodes of kind, which are planes (`kind_node`)."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.real.servers import ROOT
from tests.real.specs.containers import SOCKET
from tests.real.specs.kind_node import FOLDER, stop
from tests.real.specs.no_engine import no_engine


@contextmanager
def nodes(folder: Path) -> Iterator[dict[str, str]]:
    """A folder for nodes, which end with the context; gives the environment of kind."""
    path, programs = folder / "nodes", folder / "programs"
    path.mkdir()
    programs.mkdir()
    docker = programs / "docker"
    python = shlex.quote(sys.executable)
    root = shlex.quote(str(ROOT))
    docker.write_text(
        "#!/bin/sh\n"
        f"export PYTHONPATH={root}:$PYTHONPATH\n"
        f'exec {python} -m tests.real.specs.kind_node "$@"\n'
    )
    docker.chmod(0o755)
    with no_engine(SOCKET):
        try:
            yield {FOLDER: str(path), "PATH": f"{programs}:{os.environ['PATH']}"}
        finally:
            for item in path.glob("*/pid"):
                stop(item.parent)
