"""The API server that the tests of this folder run against: a real one, where there is one.

* `KAPY_TEST_KUBECONFIG` names a kubeconfig: that server. The tests install Cluster API's CRDs
  there, and work in namespaces of their own. `KAPY_TEST_ADDRESS`: this machine's address, as that
  server reaches it (by default the one by which this machine reaches others).
  `KAPY_TEST_AUDIT_LOG`: the server's audit log, a file; who wrote what is read there.
* `KUBEBUILDER_ASSETS` names a folder with `kube-apiserver` and `etcd`: one is started.
* Otherwise kapy's embedded server, over HTTPS and with RBAC, as a process of its own
  (`tests.real.embedded`).
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
from typing import Final

from kapy.client import kubeconfig_files
from kapy.client.blocking import BlockingApiTransport, run_without_loop
from kapy.client.client import Client
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube import pki
from kapy.kube.errors import KapyError
from kapy.kube.yaml import dump
from tests.waiting import LIMIT

KUBECONFIG: Final = "KAPY_TEST_KUBECONFIG"
ASSETS: Final = "KUBEBUILDER_ASSETS"
ADDRESS: Final = "KAPY_TEST_ADDRESS"
AUDIT_LOG: Final = "KAPY_TEST_AUDIT_LOG"
PROGRAMS: Final = ("kube-apiserver", "etcd")
PATIENCE: Final = LIMIT
ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Place:
    """A server and its administrator. here: this machine, as the server reaches it. audit: its
    audit log, None where it shows none."""

    access: Kubeconfig
    here: str
    audit: Path | None


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
        log = os.environ.get(AUDIT_LOG)
        yield Place(access, os.environ.get(ADDRESS) or own_address(), Path(log) if log else None)
    elif not_real():
        with embedded(folder) as access:
            yield Place(access, own_address(), folder / "audit.log")
    else:
        with kubernetes(Path(os.environ[ASSETS]), folder) as access:
            yield Place(access, own_address(), folder / "audit.log")


@contextmanager
def embedded(folder: Path) -> Iterator[Kubeconfig]:
    path = folder / "kubeconfig"
    with _process(folder, sys.executable, "-m", "tests.real.embedded", str(folder)):
        _wait(folder, path.exists)
        yield kubeconfig_files.load([path], "")


@contextmanager
def kubernetes(
    assets: Path,
    folder: Path,
    *,
    users: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> Iterator[Kubeconfig]:
    """etcd and kube-apiserver, with RBAC; etcd forgets all if the machine fails.

    users: `name,uid,groups` by token; the first is the administrator, by default the only one.
    flags: of kube-apiserver, instead of the usual ones; None for none.
    """
    users = users or {secrets.token_hex(16): "admin,admin,system:masters"}
    lines = [f"{token},{user}\n" for token, user in users.items()]
    (folder / "tokens.csv").write_text("".join(lines))
    key = pki.new_key()
    (folder / "accounts.key").write_bytes(key)
    (folder / "accounts.pub").write_bytes(pki.public_key(key))
    policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}
    (folder / "audit.yaml").write_text(dump({**policy, "omitStages": ["RequestReceived"]}))
    clients, peers, port = free_port(), free_port(), free_port()
    etcd = {
        "data-dir": "etcd",
        "listen-client-urls": f"http://127.0.0.1:{clients}",
        "advertise-client-urls": f"http://127.0.0.1:{clients}",
        "listen-peer-urls": f"http://127.0.0.1:{peers}",
        "initial-advertise-peer-urls": f"http://127.0.0.1:{peers}",
        "initial-cluster": f"default=http://127.0.0.1:{peers}",
    }
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
        "enable-aggregator-routing": "true",  # to webhooks, where no node forwards
        "audit-log-path": "audit.log",
        "audit-policy-file": "audit.yaml",
        **(flags or {}),
    }
    with ExitStack() as stack:
        started = _process(folder, str(assets / "etcd"), "--unsafe-no-fsync", *_flags(etcd))
        stack.enter_context(started)
        stack.enter_context(_process(folder, str(assets / PROGRAMS[0]), *_flags(server)))
        certificate = folder / "certificates" / "apiserver.crt"
        _wait(folder, certificate.exists)
        access = Kubeconfig(
            f"https://127.0.0.1:{port}",
            certificate_authority=certificate.read_bytes(),
            token=next(iter(users)),
        )
        _wait(folder, lambda: _is_ready(access))
        yield access


def _flags(messages: Mapping[str, object]) -> list[str]:
    return [f"--{name}={value}" for name, value in messages.items() if value is not None]


@contextmanager
def _process(folder: Path, *command: str) -> Iterator[None]:
    with (
        (folder / "log").open("ab") as log,
        subprocess.Popen(
            command, cwd=folder, env=_environ(), stdout=log, stderr=log, stdin=subprocess.DEVNULL
        ) as started,
    ):
        try:
            yield
        finally:
            started.terminate()


def _environ() -> dict[str, str]:
    """Programs of these tests are found wherever they are started."""
    there = os.environ.get("PYTHONPATH", "")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), there]))}


def _wait(folder: Path, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, (folder / "log").read_text()[-4000:]
        time.sleep(0.05)


def _is_ready(access: Kubeconfig) -> bool:
    transport = BlockingApiTransport(access)
    with closing(transport), suppress(KapyError):
        # Its own roles come a moment after it answers.
        run_without_loop(
            Client(transport).raw("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/admin")
        )
        return True
    return False


def own_address() -> str:
    """This machine's, as others reach it: no datagram is sent to find it out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as value:
        value.connect(("192.0.2.1", 9))
        address: str = value.getsockname()[0]
        return address


def free_port() -> int:
    with socket.socket() as value:
        value.bind(("127.0.0.1", 0))
        port: int = value.getsockname()[1]
        return port
