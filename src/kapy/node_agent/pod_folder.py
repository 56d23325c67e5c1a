"""The folder of one Pod, which only the owner of the plane can read.

pods/<uid>/volumes/<name>/          volumes, and the ServiceAccount's token
pods/<uid>/kubeconfig
pods/<uid>/<container>/0.log        output, one file for each start
pods/<uid>/<container>/process.json
"""

from __future__ import annotations

import shutil
from pathlib import Path

from kapy.kube import Document
from kapy.kube.digits import parse_digits


class PodFolder:
    """The folder of one Pod in the agent's folder."""

    def __init__(self, agent: Path, pod: Document) -> None:
        self.path: Path = agent / "pods" / str(pod["metadata"]["uid"])

    @property
    def volumes(self) -> Path:
        return self.path / "volumes"

    @property
    def kubeconfig(self) -> Path:
        return self.path / "kubeconfig"

    def container(self, name: str) -> Path:
        """Return the folder of a container; it is created if missing."""
        result = self.path / name
        result.mkdir(mode=0o700, parents=True, exist_ok=True)
        return result

    def log(self, container: str, restarts: int) -> Path:
        """Return the log file of a container's start with this number."""
        return self.path / container / f"{restarts}.log"

    def forget_logs(self, container: str, restarts: int) -> None:
        """Delete the logs of all starts except this one and the previous one."""
        for log in (self.path / container).glob("*.log"):
            number = parse_digits(log.stem)
            if number is not None and number < restarts - 1:
                log.unlink(missing_ok=True)

    def remove(self) -> None:
        """Delete the folder with its content."""
        shutil.rmtree(self.path, ignore_errors=True)
