"""The certificates of a management plane: its CA, server certificate and administrator certificate.

They use elliptic-curve keys: no contract requires another type, and the start must be fast.
"""

from __future__ import annotations

import ipaddress
import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from kapy.apps.settings import Serving
from kapy.kube.errors import KapyError
from kapy.kube.pki import (
    EARLIEST,
    InvalidPem,
    KeyPair,
    backdate_ca,
    facts,
    is_matching_pair,
    issue,
    new_ca,
)

_log = logging.getLogger(__name__)

CERTIFICATE_VALIDITY: Final = timedelta(days=365)
CA_VALIDITY: Final = timedelta(days=3650)
_REPLACE_HINT: Final = (
    "have a new one made with `kapy up --replace-keys` (kubeconfigs written before do not work "
    "with it)"
)
ADMINISTRATOR: Final = "kubernetes-admin"
SUPERUSERS: Final = "system:masters"


class UnusableCredentials(KapyError):
    """The folder with the plane's CA cannot be used; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The certificates of the plane's server and of its administrator."""

    authority: KeyPair = field(repr=False)
    server: KeyPair = field(repr=False)
    administrator: KeyPair = field(repr=False)


def issue_credentials(serving: Serving, now: datetime, published_ca: bytes = b"") -> Credentials:
    """Certificates for a plane that listens as `serving` says (generates keys: call it in a
    thread).

    The CA is read from the folder, or created there once. The other certificates are new at each
    start, so that they match the address and never expire soon. published_ca: the CA that the
    plane's store has recorded, PEM, b"" for none. Raises UnusableCredentials.
    """
    authority = _authority(serving, now, published_ca)
    server = issue(
        authority,
        "kapy",
        now=now,
        names=_names(serving.host),
        usages=("server",),
        valid=CA_VALIDITY,  # a process may run for long
        algorithm=serving.algorithm,
    )
    administrator = issue(
        authority,
        ADMINISTRATOR,
        now=now,
        organizations=(SUPERUSERS,),
        valid=CERTIFICATE_VALIDITY,
        algorithm=serving.algorithm,
    )
    return Credentials(authority, server, administrator)


def _authority(serving: Serving, now: datetime, published_ca: bytes) -> KeyPair:
    """Read or create the CA. It is only replaced at the user's request. Raises
    UnusableCredentials."""
    if now < EARLIEST:
        raise UnusableCredentials(
            f"the clock of this machine says {now:%F %T} UTC, which is long ago: set it, as "
            "certificates depend on it"
        )
    if serving.pki is None:
        return _new_authority(serving, now)
    certificate, key = serving.pki / "ca.crt", serving.pki / "ca.key"
    try:
        if not certificate.exists() and not key.exists():
            if published_ca and not serving.replace_keys:
                raise UnusableCredentials(
                    f"the certificate authority in {serving.pki} is missing, but the plane had "
                    f"one: put ca.crt and ca.key back, or {_REPLACE_HINT}"
                )
        elif not serving.replace_keys:
            if key.exists() and not certificate.exists():
                _complete_authority(certificate, key.read_bytes(), published_ca, serving, now)
            return _load_authority(certificate, key, now)
        serving.pki.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in (certificate, key):
            if path.exists():
                path.replace(path.with_name(f"{path.name}.replaced"))
        authority = _new_authority(serving, now)
        write_private(key, authority.key)
        write_private(certificate, authority.certificate)
    except OSError as error:
        raise UnusableCredentials(
            f"the certificate authority in {serving.pki} cannot be read or kept: "
            f"{error.strerror}; make the folder readable and writable for this user, or use "
            "another data directory"
        ) from None
    return authority


def _new_authority(serving: Serving, now: datetime, key: bytes | None = None) -> KeyPair:
    # Valid since long ago, so that it stays valid if the machine's clock, now ahead, is corrected.
    return new_ca("kapy", now=now, algorithm=serving.algorithm, key=key, since=EARLIEST)


def _complete_authority(
    certificate: Path, key: bytes, published_ca: bytes, serving: Serving, now: datetime
) -> None:
    """Write the certificate that a key lacks: the recorded one, or a new one if the first start was
    interrupted."""
    with suppress(InvalidPem):
        if not published_ca:
            published_ca = _new_authority(serving, now, key).certificate
        if is_matching_pair(KeyPair(published_ca, key)):
            write_private(certificate, published_ca)


def _load_authority(certificate: Path, key: Path, now: datetime) -> KeyPair:
    """Read the existing CA from its files. Raises UnusableCredentials, OSError."""
    folder = certificate.parent
    for path in (certificate, key):
        if not path.exists():
            raise UnusableCredentials(
                f"{path.name} of the certificate authority in {folder} is missing: put it back, or "
                f"{_REPLACE_HINT}"
            )
    pair = KeyPair(certificate.read_bytes(), key.read_bytes())
    try:
        together, ca_facts = is_matching_pair(pair), facts(pair.certificate)
    except InvalidPem:
        raise UnusableCredentials(
            f"the certificate authority in {folder} cannot be read: restore ca.crt and ca.key, or "
            f"{_REPLACE_HINT}"
        ) from None
    if not together:
        raise UnusableCredentials(
            f"ca.crt and ca.key in {folder} do not belong together: restore them, or "
            f"{_REPLACE_HINT}"
        )
    if ca_facts.not_after <= now:
        raise UnusableCredentials(
            f"the certificate authority in {folder} is good until {ca_facts.not_after:%F %T} UTC, "
            "and "
            f"the clock of this machine says {now:%F %T}: set the clock, or, if that is the time, "
            f"{_REPLACE_HINT}"
        )
    if ca_facts.not_after <= now + CERTIFICATE_VALIDITY:
        _log.warning(
            "the certificate authority in %s ends at %s UTC; before that, %s",
            folder,
            f"{ca_facts.not_after:%F %T}",
            _REPLACE_HINT,
        )
    if ca_facts.not_before > now:  # made by an earlier version while the clock was ahead
        _log.warning(
            "the certificate authority in %s begins at %s UTC only, as the clock was wrong when it "
            "was made: its certificate is written again, with the same key",
            folder,
            f"{ca_facts.not_before:%F %T}",
        )
        pair = backdate_ca(pair, EARLIEST)
        write_private(certificate, pair.certificate)
    return pair


def write_private(path: Path, content: bytes) -> None:
    """Write a file atomically, readable by its owner only. Raises OSError with its name."""
    beside = path.with_name(f".{path.name}.new")
    with suppress(FileNotFoundError):
        beside.unlink()
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


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
