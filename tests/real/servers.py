"""The API server that the tests of this folder run against: a real one, where there is one.

* `KAPY_TEST_KUBECONFIG` names a kubeconfig: that server. The tests install Cluster API's CRDs
  there, and work in namespaces of their own. `KAPY_TEST_ADDRESS`: this machine's address, as that
  server reaches it (127.0.0.1 where nothing is said).
* `KUBEBUILDER_ASSETS` names a folder with `kube-apiserver` and `etcd`: one is started.
* Otherwise kapy's embedded server, over HTTPS and with RBAC, as a process of its own.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

from kapy.apps.settings import ManagerName
from kapy.client import kubeconfig_files
from kapy.client.blocking import Blocking, run
from kapy.client.client import Client
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube import pki
from kapy.kube.errors import KapyError

KUBECONFIG: Final = "KAPY_TEST_KUBECONFIG"
ASSETS: Final = "KUBEBUILDER_ASSETS"
ADDRESS: Final = "KAPY_TEST_ADDRESS"
PROGRAMS: Final = ("kube-apiserver", "etcd")
PATIENCE: Final = 60.0


@dataclass(frozen=True, slots=True)
class Place:
    """A server and its administrator. is_real: it is Kubernetes' own. here: this machine, as the
    server reaches it."""

    access: Kubeconfig
    is_real: bool
    here: str = "127.0.0.1"


def not_real() -> str:
    """Why there is no real server, "" where there is one."""
    if os.environ.get(KUBECONFIG):
        return ""
    folder = os.environ.get(ASSETS)
    if not folder:
        return f"neither {ASSETS} nor {KUBECONFIG} is set"
    missing = [name for name in PROGRAMS if not (Path(folder) / name).is_file()]
    return f"{ASSETS} has no {' and no '.join(missing)}" if missing else ""


@contextmanager
def place(folder: Path) -> Iterator[Place]:
    """The server, running. folder: where it may write."""
    if path := os.environ.get(KUBECONFIG):
        access = kubeconfig_files.load([Path(path)], "")
        yield Place(access, is_real=True, here=os.environ.get(ADDRESS, "127.0.0.1"))
    elif not_real():
        with _embedded(folder) as access:
            yield Place(access, is_real=False)
    else:
        with _kubernetes(Path(os.environ[ASSETS]), folder) as access:
            yield Place(access, is_real=True)


@contextmanager
def _embedded(folder: Path) -> Iterator[Kubeconfig]:
    """`kapy up` without a controller."""
    path = folder / "kubeconfig"
    without = [f"--without={name}" for name in get_args(ManagerName)]
    command = ["up", "--in-memory", "--port=0", f"--kubeconfig={path}", *without]
    with _process(folder, sys.executable, "-m", "kapy.cli.main", *command):
        _wait(folder, path.exists)
        yield kubeconfig_files.load([path], "")


@contextmanager
def _kubernetes(assets: Path, folder: Path) -> Iterator[Kubeconfig]:
    """etcd and kube-apiserver, with RBAC; etcd forgets all if the machine fails."""
    token = secrets.token_hex(16)
    (folder / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n")
    key = pki.new_key()
    (folder / "accounts.key").write_bytes(key)
    (folder / "accounts.pub").write_bytes(pki.public_key(key))
    clients, peers, port = free_port(), free_port(), free_port()
    with ExitStack() as stack:
        etcd = {
            "data-dir": "etcd",
            "listen-client-urls": f"http://127.0.0.1:{clients}",
            "advertise-client-urls": f"http://127.0.0.1:{clients}",
            "listen-peer-urls": f"http://127.0.0.1:{peers}",
            "initial-advertise-peer-urls": f"http://127.0.0.1:{peers}",
            "initial-cluster": f"default=http://127.0.0.1:{peers}",
        }
        started = _process(folder, str(assets / "etcd"), "--unsafe-no-fsync", *_flags(etcd))
        stack.enter_context(started)
        server = {
            "etcd-servers": f"http://127.0.0.1:{clients}",
            "bind-address": "127.0.0.1",
            "secure-port": port,
            "cert-dir": "certificates",
            "token-auth-file": "tokens.csv",
            "authorization-mode": "RBAC",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": "accounts.pub",
            "service-account-signing-key-file": "accounts.key",
            "service-cluster-ip-range": "10.0.0.0/24",
            "disable-admission-plugins": "ServiceAccount",
            "endpoint-reconciler-type": "none",
        }
        stack.enter_context(_process(folder, str(assets / PROGRAMS[0]), *_flags(server)))
        certificate = folder / "certificates" / "apiserver.crt"
        _wait(folder, certificate.exists)
        access = Kubeconfig(
            f"https://127.0.0.1:{port}",
            certificate_authority=certificate.read_bytes(),
            token=token,
        )
        _wait(folder, lambda: _is_ready(access))
        yield access


def _flags(told: Mapping[str, object]) -> list[str]:
    return [f"--{name}={value}" for name, value in told.items()]


@contextmanager
def _process(folder: Path, *command: str) -> Iterator[None]:
    with (
        (folder / "log").open("ab") as log,
        subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL
        ) as started,
    ):
        try:
            yield
        finally:
            started.terminate()


def _wait(folder: Path, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, (folder / "log").read_text()[-4000:]
        time.sleep(0.05)


def _is_ready(access: Kubeconfig) -> bool:
    transport = Blocking(access)
    with closing(transport), suppress(KapyError):
        # Its own roles come a moment after it answers.
        run(Client(transport).raw("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/admin"))
        return True
    return False


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
