"""Runs of commands as upstream's clusterctl was run: the same files, environment and input.

`ran` runs one in this process; `as_recorded` compares exit code and output, the output as YAML
objects in their order if the command asks for YAML. `mistakes` compares the messages of errors.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from kapy.cli.root import run
from kapy.kube import yaml
from tests.oracle.recorded import data
from tests.oracle.topic import Record, compared

LISTED = (
    ("cluster-api", "CoreProvider", "cluster-api/v1.14.0/core-components.yaml"),
    ("kubeadm", "BootstrapProvider", "bootstrap-kubeadm/v1.14.0/bootstrap-components.yaml"),
    (
        "kubeadm",
        "ControlPlaneProvider",
        "control-plane-kubeadm/v1.14.0/control-plane-components.yaml",
    ),
    (
        "docker",
        "InfrastructureProvider",
        "infrastructure-docker/v1.14.0/infrastructure-components-development.yaml",
    ),
    (
        "aws",
        "InfrastructureProvider",
        "infrastructure-aws/v2.11.0/infrastructure-components.yaml",
    ),
    (
        "vsphere",
        "InfrastructureProvider",
        "infrastructure-vsphere/v1.17.0/infrastructure-components.yaml",
    ),
    (
        "openstack",
        "InfrastructureProvider",
        "infrastructure-openstack/v0.15.0/infrastructure-components.yaml",
    ),
)
"""The providers of the configuration that the recording used."""

PROVIDERS = data("upstream/providers")


@dataclass(frozen=True)
class Run:
    """The result of a command; the machine's paths are written as in the recording."""

    code: int
    output: str
    errors: str


def ran(record: Record) -> Run:
    """Run a recorded command here, and return the result."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        (home / "work").mkdir()
        arguments = [*record["args"], *_config(record, home)]
        output, errors = io.StringIO(), io.StringIO()
        environ = {"HOME": str(home), "PATH": os.environ["PATH"], **record["env"]}
        with (
            _surroundings(environ, home / "work", record.get("stdin") or ""),
            redirect_stdout(output),
            redirect_stderr(errors),
        ):
            code = run([argument.replace("${PROVIDERS}", str(PROVIDERS)) for argument in arguments])
        places = {str(PROVIDERS): "${PROVIDERS}", str(home / "work"): "${WORK}", scratch: "${HOME}"}
        return Run(code, _named(output.getvalue(), places), _named(errors.getvalue(), places))


def as_recorded(record: Record) -> Iterator[str]:
    """Yield the differences of exit code and output from the recorded ones."""
    here = ran(record)
    if here.code != record["rc"]:
        yield f"rc: recorded {record['rc']}, given {here.code}: {here.errors.strip()}"
    elif "yaml" in record["args"] and record["rc"] == 0:
        yield from compared(yaml.load_all(record["stdout"]), yaml.load_all(here.output), "stdout")
    else:
        yield from compared(_folded(record["stdout"]), _folded(here.output), "stdout")


def _folded(text: str) -> str:
    """Tables have wider columns where the machine's paths are longer."""
    return re.sub("  +", "  ", text)


def _config(record: Record, home: Path) -> list[str]:
    if record["title"] == "missing config file":
        return ["--config", "missing.yaml"]
    text = record.get("config")
    if text is None:
        if record["title"].endswith("default config"):
            return []
        text = yaml.dump(
            {
                "providers": [
                    {"name": name, "type": kind, "url": f"{PROVIDERS}/{place}"}
                    for name, kind, place in LISTED
                ]
            }
        )
    path = home / "clusterctl.yaml"
    path.write_text(text)
    return ["--config", str(path)]


@contextmanager
def _surroundings(environ: Mapping[str, str], folder: Path, stdin: str) -> Iterator[None]:
    reader = io.TextIOWrapper(io.BytesIO(stdin.encode()))
    with patch.dict(os.environ, environ, clear=True), chdir(folder), patch("sys.stdin", reader):
        yield


def _named(text: str, places: Mapping[str, str]) -> str:
    for path, name in places.items():
        text = text.replace(path, name)
    return text
