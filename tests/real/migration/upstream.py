"""Upstream's managers as processes: `python -m tests.real.migration.upstream` builds them.

They are built from the Go modules sigs.k8s.io/cluster-api and sigs.k8s.io/cluster-api/test, and
kept in a cache outside of the repository.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kapy._aio.clock import system_clock
from kapy.apps.manager.programs import PROGRAMS
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube import pki
from kapy.kube.yaml import dump
from tests.real.processes import account_of
from tests.real.servers import free_port, not_real

HERE: Final = Path(__file__).parent / "managers"
CACHE: Final = Path(
    os.environ.get("KAPY_REAL_CLUSTERS_CACHE") or Path.home() / ".cache" / "kapy-real-clusters"
)
WANTED: Final = "KAPY_UPSTREAM_MANAGERS"
PACKAGES: Final[Mapping[str, str]] = {
    "core": "core",
    "bootstrap-kubeadm": "bootstrap/kubeadm",
    "control-plane-kubeadm": "controlplane/kubeadm",
    "infrastructure-dev": "test/infrastructure/docker",
}
"""By the name of kapy's manager, the package of upstream's."""
_GATES: Final = "ClusterTopology=true"
_END: Final = 60.0


def is_wanted() -> bool:
    """Whether the tests are to run. They need kube-apiserver, too."""
    return bool(os.environ.get(WANTED))


def programs() -> Path:
    """The folder with the programs, which are built if the cache has them not."""
    source = (HERE / "go.mod").read_bytes()
    folder = CACHE / f"managers-{hashlib.sha256(source).hexdigest()[:12]}"
    if folder.exists():
        return folder
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(HERE, part)
    _go(part, "mod", "tidy")
    for name, package in PACKAGES.items():
        sys.stderr.write(f"building upstream's {name}\n")
        _go(part, "build", "-ldflags", "-s -w", "-o", name, f"sigs.k8s.io/cluster-api/{package}")
    part.rename(folder)
    return folder


def _go(folder: Path, *arguments: str) -> None:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod -buildvcs=false"}
    done = subprocess.run(
        ["go", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"go {' '.join(arguments)} failed:\n{done.stderr[-2000:]}")


@contextmanager
def running(folder: Path, access: Kubeconfig, *names: str) -> Iterator[None]:
    """Upstream's managers at work. names: of kapy's managers that they stand in for.

    They get no --namespace: with it, v1.14's MachineDeployment controller fails ("failed to cast
    MachineSet informer").
    """
    started = [_started(folder, access, name) for name in names]
    try:
        yield
    finally:
        for process in started:
            process.send_signal(signal.SIGTERM)
        codes = [process.wait(_END) for process in started]
    assert codes == [0] * len(names), f"they ended with {codes}; see {folder}"


def pod_of(name: str) -> str:
    """The pod whose writes they are in the audit log."""
    return f"upstream-{name}"


def _started(folder: Path, access: Kubeconfig, name: str) -> subprocess.Popen[bytes]:
    kubeconfig = folder / f"{pod_of(name)}.kubeconfig"
    account = account_of(access, PROGRAMS[name], pod_of(name))
    # The release that is installed is kapy's; the rights in it are not what is looked at here.
    account["users"][0]["user"]["as-groups"].append("system:masters")
    kubeconfig.write_text(dump(account))
    command = [
        str(programs() / name),
        f"--kubeconfig={kubeconfig}",
        f"--webhook-cert-dir={_certificates(folder)}",
        f"--webhook-port={free_port()}",
        f"--health-addr=127.0.0.1:{free_port()}",
        "--diagnostics-address=0",
        f"--feature-gates={_GATES}",
    ]
    with (folder / f"{pod_of(name)}.log").open("ab") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, "POD_IP": "127.0.0.1"},  # of simulated API servers
        )


def _certificates(folder: Path) -> Path:
    """A certificate for webhooks that nobody asks."""
    folder_there = folder / "webhooks"
    if not folder_there.exists():
        folder_there.mkdir()
        now = system_clock()
        authority = pki.new_ca("webhooks", now=now)
        leaf = pki.issue(authority, "webhooks", now=now, names=("localhost",), usages=("server",))
        (folder_there / "tls.crt").write_bytes(leaf.certificate)
        (folder_there / "tls.key").write_bytes(leaf.key)
    return folder_there


def main() -> None:
    """Build everything, or say what is missing."""
    if shutil.which("go") is None:
        sys.exit("upstream's managers are built with Go 1.26 or newer")
    if why := not_real():
        sys.exit(f"the migration needs a real API server: {why}")
    CACHE.mkdir(parents=True, exist_ok=True)
    programs()


if __name__ == "__main__":
    main()
