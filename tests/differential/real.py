"""etcd and kube-apiserver as the recording server ran: `KUBEBUILDER_ASSETS` names their folder."""

from __future__ import annotations

import os
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from kapy.kube import pki
from tests.differential.peers import TOKENS
from tests.real.servers import free_port

ASSETS: Final = "KUBEBUILDER_ASSETS"
PROGRAMS: Final = ("kube-apiserver", "etcd")
PATIENCE: Final = 120.0
DISABLED: Final = "ServiceAccount,TaintNodesByCondition,Priority,StorageObjectInUseProtection"


class NoRealServer(Exception):
    """The real server's programs are not there; the message says what is missing."""


def assets() -> Path:
    """The folder with the programs. Raises NoRealServer."""
    named = os.environ.get(ASSETS)
    if not named:
        raise NoRealServer(f"set {ASSETS} to a folder with {' and '.join(PROGRAMS)}")
    missing = [name for name in PROGRAMS if not (Path(named) / name).is_file()]
    if missing:
        raise NoRealServer(f"{ASSETS}={named} has no {' and no '.join(missing)}")
    return Path(named)


@contextmanager
def kube_apiserver(programs: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """URL and certificate (PEM) of a new server. folder: where it may write."""
    users = f"{TOKENS['admin']},admin,admin,system:masters\n{TOKENS['alice']},alice,alice\n"
    (folder / "tokens.csv").write_text(users)
    key = pki.new_key()
    (folder / "accounts.key").write_bytes(key)
    (folder / "accounts.pub").write_bytes(pki.public_key(key))
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
        "service-cluster-ip-range": "10.0.0.0/16",
        "disable-admission-plugins": DISABLED,
        "endpoint-reconciler-type": "none",
        "enable-priority-and-fairness": "false",
        "max-requests-inflight": 0,
        "max-mutating-requests-inflight": 0,
    }
    with ExitStack() as stack:
        start = [str(programs / "etcd"), "--unsafe-no-fsync", *_flags(etcd)]
        stack.enter_context(_process(folder, "etcd.log", *start))
        start = [str(programs / "kube-apiserver"), *_flags(server)]
        stack.enter_context(_process(folder, "kube-apiserver.log", *start))
        url, certificate = f"https://127.0.0.1:{port}", folder / "certificates" / "apiserver.crt"
        _wait_until_ready(url, certificate, folder / "kube-apiserver.log")
        yield url, certificate.read_text()


def _flags(told: Mapping[str, object]) -> list[str]:
    return [f"--{name}={value}" for name, value in told.items()]


@contextmanager
def _process(folder: Path, log: str, *command: str) -> Iterator[None]:
    with (
        (folder / log).open("ab") as out,
        subprocess.Popen(
            command, cwd=folder, stdout=out, stderr=out, stdin=subprocess.DEVNULL
        ) as started,
    ):
        try:
            yield
        finally:
            started.terminate()


def _wait_until_ready(url: str, certificate: Path, log: Path) -> None:
    """Return when the server is ready and has made its default roles."""
    deadline = time.monotonic() + PATIENCE
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/admin"
    asked = urllib.request.Request(url + path, headers={"Authorization": "Bearer admin-token"})
    while True:
        try:
            context = ssl.create_default_context(cafile=str(certificate))
            with urllib.request.urlopen(asked, context=context, timeout=5):
                return
        except OSError as error:
            if time.monotonic() > deadline:
                tail = log.read_text()[-2000:]
                raise NoRealServer(f"kube-apiserver does not answer ({error}): {tail}") from error
            time.sleep(0.2)
