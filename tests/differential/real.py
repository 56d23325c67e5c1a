"""etcd and kube-apiserver as the recording server ran: `KUBEBUILDER_ASSETS` names their folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.differential.peers import TOKENS
from tests.real.servers import ASSETS, PROGRAMS, kubernetes


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
    users = {
        TOKENS["admin"]: "admin,admin,system:masters",
        TOKENS["alice"]: "alice,alice",
    }
    with kubernetes(programs, folder, users=users, flags=_FLAGS) as access:
        yield access.server, access.certificate_authority.decode()


_FLAGS: Final = {
    "service-cluster-ip-range": "10.0.0.0/16",
    "disable-admission-plugins": (
        "ServiceAccount,TaintNodesByCondition,Priority,StorageObjectInUseProtection"
    ),
    "allow-privileged": "true",
    "enable-aggregator-routing": None,
    "audit-log-path": None,
    "audit-policy-file": None,
    "enable-priority-and-fairness": "false",
    "max-requests-inflight": 0,
    "max-mutating-requests-inflight": 0,
}
