"""The duration of commands, and the time from nothing to the first Ready cluster."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from benchmarks.measure import percentile

Row = dict[str, Any]
RUNS = 10
_PR_SET_CHILD_SUBREAPER = 36
"""The option of `prctl` that makes a process the parent of its orphaned descendants."""


async def start_up() -> list[Row]:
    """Median of some runs, warm file cache; `describe` asks a plane that runs meanwhile."""
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "HOME": home, "KUBECONFIG": f"{home}/config", "KAPY_HOME": home}
        rows = [_timed(entry, environ) for entry in (["--version"], ["version"], ["--help"])]
        rows += [_timed(entry, environ) for entry in _generating(Path(home))]
        rows.append(_timed(["plan", "--offline", "-f", str(_quickstart())], environ, code=2))
        rows += _reading(environ)
        large = Path(home) / "large.yaml"
        large.write_text(_quickstart().read_text().replace("replicas: 2", "replicas: 99"))
        of_a_hundred = _reading(environ, "--file", str(large))
        return [
            *rows,
            *(
                {**document, "step": f"{document['step']}, 100 machines"}
                for document in of_a_hundred
            ),
        ]


def _reading(environ: dict[str, str], *of_quickstart: str) -> list[Row]:
    """Commands that ask a plane with one cluster."""
    with _detached_children():
        _kapy(["quickstart", "--detach", "--port", "0", *of_quickstart], environ)
        try:
            request = (["describe", "cluster", "capybara"], ["get", "kubeconfig", "capybara"])
            return [_timed(entry, environ) for entry in request]
        finally:
            _kapy(["down", "--name", "quickstart"], environ)


@contextmanager
def _detached_children() -> Iterator[None]:
    """Adopt the processes that commands leave running, and wait for their end after the block, so
    that their CPU time counts as the benchmark's and not as other work."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    yield
    with suppress(ChildProcessError):  # all have ended
        while True:
            os.waitpid(-1, 0)


def _quickstart() -> Path:
    """The class, and the cluster of it, that a quickstart applies."""
    return Path(str(files("kapy.apps"))) / "samples" / "in-memory-class.yaml"


def _generating(home: Path) -> list[list[str]]:
    """Commands that read a template of a provider in a folder; it has six objects."""
    release = home / "infrastructure-acme" / "v1.0.0"
    release.mkdir(parents=True)
    template = release / "cluster-template.yaml"
    template.write_text("---\n".join(_OBJECT.format(number) for number in range(6)))
    config = home / ".config" / "cluster-api" / "clusterctl.yaml"
    config.parent.mkdir(parents=True)
    url = release / "infrastructure-components.yaml"
    config.write_text(
        f"providers: [{{name: acme, type: InfrastructureProvider, url: {url}}}]\nNAME: a\n"
    )
    return [
        ["completion", "bash"],
        ["generate", "yaml", "--from", str(template)],
        ["generate", "cluster", "c", "-n", "default", "--infrastructure", "acme:v1.0.0"],
    ]


_OBJECT = """\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {{name: "${{NAME}}-{0}", labels: {{a: b}}}}
spec:
  template:
    spec:
      backend:
        inMemory: {{vm: {{provisioning: {{startupDuration: "${{DURATION:=10s}}"}}}}}}
"""


async def cold_start() -> list[Row]:
    """`kapy quickstart --exit`: a new process, a new plane, the first Available cluster."""
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "HOME": home, "KUBECONFIG": str(Path(home) / "config")}
        took = []
        for _ in range(5):
            began = time.perf_counter()
            _kapy(["quickstart", "--exit", "--port", "0"], environ)
            took.append(time.perf_counter() - began)
    return [{"step": "kapy quickstart --exit", "wall_s": round(percentile(took, 0.5), 3)}]


def _named(arguments: list[str]) -> list[str]:
    """Without what is another file each time."""
    return [
        argument for argument in arguments if not argument.startswith("/") and argument != "--from"
    ]


def _timed(arguments: list[str], environ: dict[str, str], *, code: int = 0) -> Row:
    took, used = [], []
    for _ in range(RUNS):
        began, before = time.perf_counter(), _cpu_of_children()
        _kapy(arguments, environ, code=code)
        took.append(time.perf_counter() - began)
        used.append(_cpu_of_children() - before)
    median = percentile(took, 0.5)
    return {
        "step": f"kapy {' '.join(_named(arguments))}",
        "wall_s": round(median, 4),
        "cpu_ms_min": round(1000 * min(used), 1),
        "ms": round(1000 * median, 1),
        "ms_min": round(1000 * min(took), 1),
        "ms_max": round(1000 * max(took), 1),
    }


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _kapy(arguments: list[str], environ: dict[str, str], *, code: int = 0) -> None:
    # The console script of this environment: `python -m` would pay for finding the module.
    script = Path(sys.executable).with_name("kapy")
    done = subprocess.run(
        [str(script), *arguments], env=environ, check=False, stdout=subprocess.DEVNULL
    )
    assert done.returncode == code, arguments
