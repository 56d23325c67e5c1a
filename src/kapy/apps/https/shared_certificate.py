"""A certificate of a CA that replicas share in a Secret of the management cluster.

A replica that finds no CA creates one (create if absent). All replicas watch the Secret, so no
leader election is needed. A `tls.crt` and `tls.key` in the Secret, of cert-manager or a user, are
used as they are; those that cert-manager left behind are replaced before they expire
(`taken_over`). A deleted Secret is recreated with the same content.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from random import Random

from kapy._aio.clock import Clock
from kapy.apiserver.serving.tls import load_certificate
from kapy.apps.https.authorities import (
    CA,
    CLOCK_SECONDS,
    DEFAULT_PERIODS,
    LEAF,
    LEAF_KEY,
    Authorities,
    ValidityPeriods,
    authorities,
    given_pair,
    is_valid,
    leaf,
    leaf_renewal_time,
    own_authorities,
    secret_value,
    taken_over,
    takeover_time,
)
from kapy.apps.https.certificate import NoCertificate, ReadCounter, rejection_reason, run_in_thread
from kapy.client.client import Client
from kapy.client.stream import Event
from kapy.engine.reflector import Backoff, Reflector
from kapy.kube import Document, Key, pki
from kapy.kube.errors import AlreadyExists, Conflict, Forbidden, KapyError, NotFound
from kapy.kube.names import SECRETS

_log = logging.getLogger(__name__)


class SharedCertificate:
    """A `kapy.apps.https.certificate.Certificate` of the CA in a Secret.

    key: the namespace and name of the Secret. names: the server's DNS names and addresses.
    on_change: called when the Secret changes.
    """

    def __init__(
        self,
        client: Client,
        key: Key,
        names: Iterable[str],
        clock: Clock,
        random: Random,
        periods: ValidityPeriods = DEFAULT_PERIODS,
        on_change: Callable[[], None] | None = None,
    ) -> None:
        self._client = client
        self._tell = on_change
        self._key = key
        self._names = sorted(names)
        self._clock = clock
        self._random = random
        self._lives = periods
        self._secret: Document | None = None
        self._understood: Document | None = None
        self._authorities: Authorities | None = None
        self._shown: pki.KeyPair | None = None
        self._signer = b""
        self._changed = asyncio.Event()
        self._failure: KapyError | None = None
        self.reads = ReadCounter()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2

    @property
    def ca(self) -> bytes:
        """The CA bundle for clients, PEM."""
        return b"" if self._secret is None else secret_value(self._secret, CA)

    @property
    def is_own_ca(self) -> bool:
        """Whether the CA, or one of several, is of this program and its replicas."""
        return self._secret is not None and own_authorities(self._secret) is not None

    @property
    def missing(self) -> str:
        """The reason for which there is no certificate that clients accept, "" if there is one."""
        if self._shown is not None:
            what = f"the certificate in the Secret {self._key}"
            return rejection_reason(what, self._shown.certificate, self._clock())
        reason = self._failure or "it is not made yet"
        needs = ""
        if isinstance(self._failure, Forbidden):
            needs = (
                ": this program's Role needs get, list, watch, create and update of secrets in "
                f"the namespace {self._key.namespace}"
            )
        return f"no certificate in the Secret {self._key}: {reason}{needs}"

    async def make_valid(self) -> None:
        """Read or create the Secret and load a certificate. Raises NoCertificate, ApiError and
        Unreachable."""
        self._secret = await self._read()
        while self._shown is None:
            try:
                await self._renew_if_due()
            except pki.InvalidPem as error:
                raise NoCertificate(
                    f"the Secret {self._key} cannot be used ({error}): delete it, and a new "
                    "authority is made; or write tls.crt, tls.key and ca.crt into it"
                ) from None

    async def keep(self) -> None:
        """Watch the Secret and renew certificates in time, until cancelled.

        If `make_valid` was not called, there may be no certificate for some time: `missing` gives
        the reason.
        """
        fields = f"metadata.name={self._key.name}"
        followed = Reflector(
            self._client,
            SECRETS,
            self,
            self._random,
            namespace=self._key.namespace,
            fields=fields,
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(followed.run())
            group.create_task(self._settle_regularly())

    async def _settle_regularly(self) -> None:
        backoff = Backoff(self._random)
        while True:
            try:
                await (self.make_valid() if self._shown is None else self._renew_if_due())
                backoff.reset()
                seconds, self._failure = self._seconds_left(), None
            except KapyError as error:  # the served certificate is valid long enough to retry
                if str(error) != str(self._failure):
                    _log.warning("the certificate of the Secret %s: %s", self._key, error)
                seconds, self._failure = backoff.next(error), error
            # A timer for the due time; a change of the Secret ends the wait earlier.
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
            self._changed.clear()

    async def _renew_if_due(self) -> None:
        """Check the CA and the served certificate once, and renew them if due."""
        secret, now = self._secret, self._clock()
        if secret is not None and (pair := given_pair(secret)) is not None:
            due = takeover_time(secret, self._lives)
            is_due = due is not None and due <= now
            if not is_due or is_valid(pair.certificate, now):
                self._serve_pair(pair, b"")
            if is_due:
                await self._take_over(secret, now)
            return
        if secret is not None and secret is not self._understood:
            self._authorities, self._understood = Authorities.of(secret), secret
        current = self._authorities
        if secret is None or current is None or current.renewal_time(now, self._lives) <= now:
            await self._write(secret, now)
        else:
            await self._sign(current, now)

    async def _write(self, secret: Document | None, now: datetime) -> None:
        """Create the Secret, or add a CA to it."""
        current, periods = self._authorities, self._lives
        if current is None:
            current = await run_in_thread(partial(authorities, now, periods))
        elif current.renewal_time(now, periods) <= now:
            current = await run_in_thread(partial(current.rotate, now, periods))
            _log.info("a new authority, which signs in %s", periods.overlap)
        if secret is None:
            await self._create_secret(current)
        else:
            await self._update_secret(secret, current)
        self._changed.set()

    async def _take_over(self, secret: Document, now: datetime) -> None:
        """Replace a certificate that its issuer left behind, in two steps."""
        new = await run_in_thread(partial(authorities, now, self._lives))
        await self._replace_secret(taken_over(secret, new, now))
        _log.info("the Secret %s: nobody renews its certificate; this program does", self._key)
        self._changed.set()

    async def _create_secret(self, current: Authorities) -> None:
        try:
            self._secret = await self._client.create(SECRETS, self._document(current))
        except AlreadyExists:  # another replica was first
            self._secret = await self._read()

    async def _update_secret(self, secret: Document, current: Authorities) -> None:
        data = {**(secret.get("data") or {}), **current.data}
        await self._replace_secret({**secret, "data": data})

    async def _replace_secret(self, secret: Document) -> None:
        try:
            self._secret = await self._client.update(SECRETS, secret)
        except (Conflict, NotFound):  # another replica was first, or it is just deleted
            self._secret = await self._read()

    async def _sign(self, current: Authorities, now: datetime) -> None:
        signer = current.signer(now, self._lives)
        if (
            signer.certificate == self._signer
            and self._shown is not None
            and self._renewal_time(now) > now
        ):
            return
        make = partial(leaf, signer, self._names, now, self._lives)
        self._serve_pair(await run_in_thread(make), signer.certificate)

    def _serve_pair(self, pair: pki.KeyPair, signer: bytes) -> None:
        """Serve a certificate from now on. signer: the certificate of the CA that issued it, b""
        for a certificate that was put into the Secret. Raises InvalidPem.
        """
        if pair == self._shown:
            return
        with self.reads.count():
            _load(self.context, pair)
        self._shown, self._signer = pair, signer

    def _renewal_time(self, now: datetime) -> datetime:
        """Return the time when the served certificate must be renewed, if this CA signed it."""
        assert self._shown is not None
        return leaf_renewal_time(self._shown.certificate, self._signer, now, self._lives)

    def _seconds_left(self) -> float | None:
        """Seconds until the next action; None if only a change of the Secret can cause one."""
        now = self._clock()
        moments = list(self._moments(now))
        if not moments:
            return None
        return min(max((min(moments) - now).total_seconds(), 0.1), CLOCK_SECONDS)

    def _moments(self, now: datetime) -> Iterator[datetime]:
        """Yield the times of the next actions."""
        if not self._signer:
            due = self._secret and takeover_time(self._secret, self._lives)
        else:
            assert self._authorities is not None
            yield self._authorities.renewal_time(now, self._lives)
            yield self._renewal_time(now)
            due = self._authorities.next_signer_time(now, self._lives)
        if due:
            yield due

    async def _read(self) -> Document | None:
        try:
            return await self._client.get(SECRETS, self._key)
        except NotFound:
            return None

    def _document(self, current: Authorities) -> Document:
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "Opaque",
            "metadata": {"name": self._key.name, "namespace": self._key.namespace},
            "data": current.data,
        }

    async def replace(self, items: Sequence[Document], _version: str) -> bool:
        """Take the Secret from a list of a reflector (`kapy.engine.reflector.Sink`)."""
        self._on_secret(items[0] if items else None)
        return True

    def rewind(self) -> None:
        """Do nothing: `replace` accepts every list (`kapy.engine.reflector.Sink`)."""

    def take(self, event: Event) -> None:
        """Take the Secret from a watch event of a reflector (`kapy.engine.reflector.Sink`)."""
        if event.type != "BOOKMARK":
            self._on_secret(None if event.type == "DELETED" else event.document)

    def _on_secret(self, secret: Document | None) -> None:
        self._secret = secret
        self._changed.set()
        if self._tell is not None:
            self._tell()


def _load(context: ssl.SSLContext, pair: pki.KeyPair) -> None:
    if not pki.is_matching_pair(pair):  # half of a new pair must not break the one in use
        raise pki.InvalidPem(f"{LEAF} and {LEAF_KEY} do not belong together")
    try:
        load_certificate(context, pair.certificate, pair.key)
    except ssl.SSLError as error:
        raise pki.InvalidPem(f"{LEAF} or {LEAF_KEY} cannot be used: {error.reason}") from None
