"""The certificates of a management plane: its authority, its server's, its administrator's.

They have elliptic-curve keys: nobody's contract says otherwise, and starting must be quick.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from kapy.apps.settings import Serving
from kapy.kube.errors import KapyError
from kapy.kube.pki import InvalidPem, KeyPair, belongs_together, facts, issue, new_ca

LIFE: Final = timedelta(days=365)
ADMINISTRATOR: Final = "kubernetes-admin"
SUPERUSERS: Final = "system:masters"


class UnusableCredentials(KapyError):
    """The folder with the plane's certificate authority cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What the plane presents, and what its administrator presents to it."""

    authority: KeyPair = field(repr=False)
    server: KeyPair = field(repr=False)
    administrator: KeyPair = field(repr=False)


def credentials(serving: Serving, now: datetime) -> Credentials:
    """Certificates for a plane that listens as `serving` says (makes keys: call it in a thread).

    The authority is read from the folder, or made there; the others are made anew each time, so
    that they fit the address and are never about to expire. Raises UnusableCredentials.
    """
    authority = _authority(serving, now)
    server = issue(
        authority,
        "kapy",
        now=now,
        names=_names(serving.host),
        usages=("server",),
        valid=LIFE,
        algorithm=serving.algorithm,
    )
    administrator = issue(
        authority,
        ADMINISTRATOR,
        now=now,
        organizations=(SUPERUSERS,),
        valid=LIFE,
        algorithm=serving.algorithm,
    )
    return Credentials(authority, server, administrator)


def _authority(serving: Serving, now: datetime) -> KeyPair:
    if serving.pki is None:
        return new_ca("kapy", now=now, algorithm=serving.algorithm)
    certificate, key = serving.pki / "ca.crt", serving.pki / "ca.key"
    try:
        if certificate.exists() and key.exists():
            found = KeyPair(certificate.read_bytes(), key.read_bytes())
            if belongs_together(found) and facts(found.certificate).not_after > now + LIFE:
                return found
        made = new_ca("kapy", now=now, algorithm=serving.algorithm)
        serving.pki.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(certificate, made.certificate)
        write_private(key, made.key)
    except InvalidPem:
        raise UnusableCredentials(
            f"the certificate authority in {serving.pki} cannot be read; remove that folder and "
            "start again (kubeconfigs written before will not work any more)"
        ) from None
    except OSError as error:
        raise UnusableCredentials(
            f"the certificate authority in {serving.pki} cannot be kept: {error.strerror}; "
            "use another data directory"
        ) from None
    return made


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, all at once."""
    beside = path.with_name(f".{path.name}.new")
    with suppress(FileNotFoundError):
        beside.unlink()
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    beside.replace(path)


def _names(host: str) -> Sequence[str]:
    names = ["localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default.svc"]
    if host not in names and not _is_wildcard(host):
        names.append(host)
    if _is_wildcard(host):
        names.append(os.uname().nodename)
    return names


def _is_wildcard(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
