"""The certificate of an HTTPS server: issued by its own CA, or supplied in a folder.

Both are in a folder with kubelet's file names, `tls.crt` and `tls.key`; the own CA is `ca.crt` and
`ca.key` beside them. A changed certificate is used for new connections. Reads of the files are
counted.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from kapy._aio.clock import Clock
from kapy.apiserver.serving.tls import load_certificate
from kapy.apps.https.authorities import (
    CLOCK_SECONDS,
    ValidityPeriods,
    is_valid,
    leaf,
    leaf_renewal_time,
    single_authority,
)
from kapy.kube import pki
from kapy.kube.errors import KapyError
from kapy.kube.prometheus import counter

if TYPE_CHECKING:
    from prometheus_client.core import Metric


VALIDITY_PERIODS: Final = ValidityPeriods(ca=timedelta(days=3650))
POLL_SECONDS: Final = 10.0
"""The interval of checks of a folder. A timer, because mounted Secrets are links that change their
target, which the standard library cannot watch."""

_CA: Final = "ca.crt"
_CA_KEY: Final = "ca.key"
_LEAF: Final = "tls.crt"
_KEY: Final = "tls.key"
_log = logging.getLogger(__name__)
T = TypeVar("T")


class NoCertificate(KapyError):
    """There is no certificate to serve with."""


class Certificate(Protocol):
    """A server's TLS context, and a service that renews it. reads: counts reads of the files."""

    context: ssl.SSLContext
    reads: ReadCounter

    async def keep(self) -> None:
        """Renew the certificate in time, until cancelled."""

    @property
    def ca(self) -> bytes:
        """The CA for clients, PEM; empty if the folder has none."""

    @property
    def missing(self) -> str:
        """The reason for which verifying clients cannot connect, "" if they can."""


async def certificate_in(folder: Path, names: Sequence[str], clock: Clock) -> Certificate:
    """Return the certificate in a folder: supplied files, else one of its own CA, created on
    demand.

    names: the server's DNS names and addresses. Raises NoCertificate.
    """
    if (folder / _LEAF).exists() and not (folder / _CA_KEY).exists():
        return SuppliedCertificate(folder, clock)
    own = SelfIssuedCertificate(folder, names, clock)
    await own.make_valid()
    return own


class SuppliedCertificate:
    """A certificate that cert-manager or a user renews. Raises NoCertificate."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.reads = ReadCounter()
        self._folder = folder
        self._clock = clock
        self._failure = ""
        with self.reads.count():
            self._shown = _pair_in(folder)
            self.context = _context(folder, self._shown)

    @property
    def ca(self) -> bytes:
        path = self._folder / _CA
        return path.read_bytes() if path.exists() else b""

    @property
    def missing(self) -> str:
        return rejection_reason(f"{self._folder / _LEAF}", self._shown.certificate, self._clock())

    async def keep(self) -> None:
        """Reload the folder's files when they change."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                with self.reads.count():
                    self._reload()
            except NoCertificate as error:
                self._log_once(f"{error}; the one before counts")
            else:
                self._log_once(self.missing)

    def _reload(self) -> None:
        """Load the files; while certificate and key do not match, the old pair is used."""
        result = _pair_in(self._folder)
        if result != self._shown:
            _context(self._folder, result)  # half of a new pair must not break the one in use
            _load(self.context, self._folder, result)
            self._shown = result

    def _log_once(self, failure: str) -> None:
        """Log a problem, once."""
        if failure and failure != self._failure:
            _log.warning("%s", failure)
        self._failure = failure


class SelfIssuedCertificate:
    """A certificate of its own CA: the leaf is renewed when a third of its validity is left."""

    def __init__(self, folder: Path, names: Sequence[str], clock: Clock) -> None:
        self._folder = folder
        self._names = tuple(names)
        self._clock = clock
        self.reads = ReadCounter()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

    @property
    def ca(self) -> bytes:
        return (self._folder / _CA).read_bytes()

    @property
    def missing(self) -> str:
        return ""

    async def make_valid(self) -> None:
        """Create or renew what is needed, and load it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        if not (self._folder / _CA_KEY).exists() or not (self._folder / _CA).exists():
            await self._make_ca()
        if self._seconds_left() <= 0:
            await self._make_leaf()
        self.context = _context(self._folder, self._pair())

    async def keep(self) -> None:
        """Renew the certificate in time, by a timer, since no event announces the expiry."""
        while True:
            await asyncio.sleep(min(max(self._seconds_left(), 1.0), CLOCK_SECONDS))
            if self._seconds_left() > 0:
                continue
            try:
                await self._make_leaf()
                _load(self.context, self._folder, self._pair())
            except NoCertificate as error:  # keep serving the present certificate
                _log.error("%s", error)
                await asyncio.sleep(POLL_SECONDS)

    def _seconds_left(self) -> float:
        """Seconds until the renewal; 0 if it is due or there is no matching certificate."""
        path = self._folder / _LEAF
        if not path.exists() or not (self._folder / _KEY).exists():
            return 0.0
        shown = path.read_bytes()
        if not set(self._names) <= set(pki.facts(shown).names):
            return 0.0
        now = self._clock()
        return max(
            (leaf_renewal_time(shown, self.ca, now, VALIDITY_PERIODS) - now).total_seconds(), 0.0
        )

    async def _make_ca(self) -> None:
        result = await run_in_thread(partial(single_authority, self._clock(), VALIDITY_PERIODS))
        self._write(_CA_KEY, result.key)
        self._write(_CA, result.certificate)
        (self._folder / _LEAF).unlink(missing_ok=True)

    async def _make_leaf(self) -> None:
        """Issue a new certificate. Raises NoCertificate."""
        ca, now = self._authority(), self._clock()
        if pki.EARLIEST <= now < pki.facts(ca.certificate).not_before:
            # Created while the clock was ahead: reissue it with the same key, valid since long ago.
            ca = pki.backdate_ca(ca, pki.EARLIEST)
            self._write(_CA, ca.certificate)
        if not is_valid(ca.certificate, now):
            raise NoCertificate(
                f"the authority in {self._folder / _CA} is not good at {now:%F %T} UTC: where that "
                f"is the time, take {_CA} and {_CA_KEY} away, so that a new one is made, and "
                "register the extension again"
            )
        pair = await run_in_thread(partial(leaf, ca, self._names, now, VALIDITY_PERIODS))
        self._write(_KEY, pair.key)
        self._write(_LEAF, pair.certificate)

    def _authority(self) -> pki.KeyPair:
        """Return the CA of the folder. Raises NoCertificate."""
        ca = pki.KeyPair(self.ca, (self._folder / _CA_KEY).read_bytes())
        try:
            if pki.is_matching_pair(ca):
                return ca
            reason = "they do not belong together"
        except pki.InvalidPem as error:
            reason = str(error)
        raise NoCertificate(f"{self._folder} has {_CA} and {_CA_KEY}, but {reason}")

    def _pair(self) -> pki.KeyPair:
        with self.reads.count():
            return _pair_in(self._folder)

    def _write(self, name: str, content: bytes) -> None:
        """Write a file whole or not at all; nobody else can read keys."""
        there = self._folder / f".{name}.new"
        there.touch(mode=0o600)
        there.write_bytes(content)
        there.replace(self._folder / name)


def require_clients_of(ca: Path, certificate: Certificate) -> None:
    """Require client certificates of a CA. Raises NoCertificate."""
    try:
        certificate.context.load_verify_locations(ca)
    except (OSError, ssl.SSLError) as error:
        raise NoCertificate(f"{ca} has no certificate of an authority: {error}") from None
    certificate.context.verify_mode = ssl.CERT_REQUIRED


def rejection_reason(name: str, certificate: bytes, now: datetime) -> str:
    """Return the reason for which clients reject a certificate now, "" if they accept it. name: its
    name in messages.
    """
    if is_valid(certificate, now):
        return ""
    facts = pki.facts(certificate)
    return (
        f"{name} is good from {facts.not_before:%F %T} to {facts.not_after:%F %T} UTC, and not "
        "now: put a new one there"
    )


async def run_in_thread(make: Callable[[], T]) -> T:
    """Run in a thread, because key generation is slow."""
    return await asyncio.get_running_loop().run_in_executor(None, make)


def _pair_in(folder: Path) -> pki.KeyPair:
    try:
        return pki.KeyPair((folder / _LEAF).read_bytes(), (folder / _KEY).read_bytes())
    except OSError as error:
        raise _unreadable_pair(folder, error) from None


def _context(folder: Path, pair: pki.KeyPair) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _load(context, folder, pair)
    return context


def _load(context: ssl.SSLContext, folder: Path, pair: pki.KeyPair) -> None:
    try:
        load_certificate(context, pair.certificate, pair.key)
    except ssl.SSLError as error:
        raise _unreadable_pair(folder, error) from None


def _unreadable_pair(folder: Path, error: Exception) -> NoCertificate:
    return NoCertificate(f"{folder} has no {_LEAF} and {_KEY} that belong together: {error}")


class ReadCounter:
    """Counts of one certificate (a `kapy.kube.prometheus.Collector`)."""

    def __init__(self) -> None:
        self.total = 0
        self.failed = 0

    @contextmanager
    def count(self) -> Iterator[None]:
        """Count one read, and its failure, which is raised again."""
        self.total += 1
        try:
            yield
        except KapyError:
            self.failed += 1
            raise

    def collect(self) -> Iterable[Metric]:
        """The metric families with their current values."""
        for name, what, count in (
            ("certificate", "Reads of the certificate.", self.total),
            ("certificate_errors", "Reads that found nothing to show.", self.failed),
        ):
            yield counter(f"certwatcher_read_{name}_total", what, [], [([], count)])
