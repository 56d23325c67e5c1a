"""Certificates and keys. `cryptography` is imported when the first one is made.

Making an RSA key costs 30 ms of CPU: call these from a thread (`loop.run_in_executor`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

Algorithm = Literal["RSA-2048", "RSA-3072", "RSA-4096", "ECDSA-P256", "ECDSA-P384"]


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


def new_key(algorithm: Algorithm = "RSA-2048") -> bytes:
    """A private key, PEM in PKCS#1 (RSA) or SEC 1 (EC) form as kubeadm writes it."""
    raise NotImplementedError


def new_ca(
    common_name: str,
    *,
    now: datetime,
    valid: timedelta = timedelta(days=3650),
    algorithm: Algorithm = "RSA-2048",
    key: bytes | None = None,
) -> KeyPair:
    """A self-signed CA with keyUsage, SKI and AKI."""
    raise NotImplementedError


def issue(
    ca: KeyPair,
    common_name: str,
    *,
    now: datetime,
    organizations: Sequence[str] = (),
    names: Sequence[str] = (),
    usages: Sequence[Literal["client", "server"]] = ("client",),
    valid: timedelta = timedelta(days=365),
    algorithm: Algorithm = "RSA-2048",
    key: bytes | None = None,
) -> KeyPair:
    """A leaf certificate of `ca`; `names` are DNS names or IP addresses; `key` reuses a key."""
    raise NotImplementedError
