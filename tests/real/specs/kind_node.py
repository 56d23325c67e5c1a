"""The program `docker` that kind calls, where a node of kind is a plane of kapy.

Upstream's specs make management clusters with kind's library. `docker run` starts a plane
(`management`), `docker rm` ends it, and other commands answer as for a node whose kubeadm succeeds.
`KAPY_SPECS_NODES` names the folder of the nodes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

FOLDER: Final = "KAPY_SPECS_NODES"
LABEL: Final = "io.x-k8s.kind.cluster"
PATIENCE: Final = 300.0
OF_SPECS: Final = ("GOPROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "KUBECONFIG")
"""Variables that are meant for upstream's specs alone."""
INFO: Final = {
    "CgroupDriver": "systemd",
    "CgroupVersion": "2",
    "MemoryLimit": True,
    "PidsLimit": True,
    "CPUShares": True,
    "SecurityOptions": [],
}


def main(arguments: list[str]) -> str:
    """The answer to a command, which is printed."""
    verb, rest = arguments[0], arguments[1:]
    if verb == "run":
        return _run(rest)
    if verb == "rm":
        return _remove(rest)
    if verb == "exec":
        return _exec(rest)
    if verb == "inspect":
        return _inspect(rest)
    if verb == "ps":
        return _listed(rest)
    return _of_engine(verb, rest)


def _of_engine(verb: str, rest: list[str]) -> str:
    if verb == "info":
        return json.dumps(INFO) if "{{json .}}" in rest else ""
    if verb == "logs":
        return "Reached target multi-user.target - Multi-User System."
    if verb == "network" and rest[0] == "ls":
        return "kind"
    if verb == "network" and rest[0] == "inspect":
        return json.dumps([{"Id": "kind", "Name": "kind", "Created": "2026-01-01T00:00:00Z"}])
    return "Docker version 27.0.0"


def _run(rest: list[str]) -> str:
    """Start a plane, and wait until it serves."""
    node = _folder() / rest[rest.index("--name") + 1]
    node.mkdir(parents=True)
    (node / "version").write_text(rest[-1].partition("@")[0].rpartition(":")[2])
    labels = dict(text.partition("=")[::2] for text in rest if text.startswith(LABEL))
    (node / "cluster").write_text(labels[LABEL])
    with (node / "log").open("wb") as log:
        started = subprocess.Popen(
            [sys.executable, "-m", "tests.real.specs.management", str(node)],
            env={name: value for name, value in os.environ.items() if name not in OF_SPECS},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    (node / "pid").write_text(str(started.pid))
    deadline = time.monotonic() + PATIENCE
    while not (node / "ready").exists():
        if started.poll() is not None or time.monotonic() > deadline:
            sys.exit((node / "log").read_text()[-2000:])
        time.sleep(0.1)
    return node.name


def _remove(rest: list[str]) -> str:
    """End planes."""
    for name in rest:
        node = _folder() / name
        if not name.startswith("-") and (node / "pid").exists():
            stop(node)
    return ""


def stop(node: Path) -> None:
    """End the plane of a node, and wait for it."""
    pid = int((node / "pid").read_text())
    (node / "pid").unlink()
    try:
        os.kill(pid, signal.SIGTERM)
        while not (node / "ended").exists():
            os.kill(pid, 0)
            time.sleep(0.1)
    except ProcessLookupError:
        return


def _listed(rest: list[str]) -> str:
    """The names of nodes, or of their clusters."""
    nodes = sorted(path.parent for path in _folder().glob("*/pid"))
    wanted = next((text for text in rest if text.startswith("label=")), "").partition("=")[2]
    cluster = wanted.partition("=")[2]
    clusters = [(node.name, (node / "cluster").read_text()) for node in nodes]
    return "\n".join(
        name if "{{.Names}}" in rest else of for name, of in clusters if cluster in ("", of)
    )


def _inspect(rest: list[str]) -> str:
    """Fields of a node; an image is always there."""
    request, name = rest[1] if len(rest) > 1 else "", rest[-1]
    if "io.x-k8s.kind.role" in request:
        return "control-plane"
    if "NetworkSettings.Networks" in request:
        return "127.0.0.1,::1"
    if "NetworkSettings.Ports" in request:
        return "\t".join(_address(_folder() / name))
    return ""


def _exec(rest: list[str]) -> str:
    """Return the output of a command in a node."""
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] == "-e" else rest[1:]
    node, command = _folder() / rest[0], rest[1:]
    if command == ["cat", "/kind/version"]:
        return (node / "version").read_text()
    if command == ["cat", "/etc/kubernetes/admin.conf"]:
        return (node / "kubeconfig").read_text()
    return ""


def _address(node: Path) -> tuple[str, str]:
    lines = (node / "kubeconfig").read_text().splitlines()
    server = next(line.split()[-1] for line in lines if "server:" in line)
    results = urlsplit(server)
    return str(results.hostname), str(results.port)


def _folder() -> Path:
    return Path(os.environ[FOLDER])


if __name__ == "__main__":
    if "-i" in sys.argv[1:4]:
        sys.stdin.buffer.read()
    if answer := main(sys.argv[1:]):
        print(answer)  # noqa: T201
