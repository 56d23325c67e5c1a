"""A certificate of a CA that replicas share in a Secret of the management cluster.

A replica that finds no CA creates one (create if absent). All replicas watch the Secret, so no
leader election is needed. A `tls.crt` and `tls.key` in the Secret, of cert-manager or a user, are
used as they are. A deleted Secret is recreated with the same content.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from random import Random

from kapy._aio.clock import Clock
from kapy.apiserver.serving.tls import show
from kapy.apps.https.authorities import (
    CA,
    CLOCK_SECONDS,
    USUAL,
    Authorities,
    Lives,
    authorities,
    leaf,
    leaf_due,
    value,
)
from kapy.apps.https.certificate import NoCertificate, not_good, off_the_loop
from kapy.apps.https.reads import Reads
from kapy.client.client import Client
from kapy.client.stream import Event
from kapy.engine.reflector import Backoff, Reflector
from kapy.kube import Document, Key, pki
from kapy.kube.errors import AlreadyExists, Conflict, Forbidden, KapyError, NotFound
from kapy.kube.names import SECRETS

_log = logging.getLogger(__name__)
_LEAF, _KEY = "tls.crt", "tls.key"


class SharedCertificate:
    """A `kapy.apps.https.certificate.Certificate` of the CA in a Secret.

    key: the Secret's. names: the server's DNS names and addresses. told: called when the Secret
    changes.
    """

    def __init__(
        self,
        client: Client,
        key: Key,
        names: Iterable[str],
        clock: Clock,
        random: Random,
        lives: Lives = USUAL,
        told: Callable[[], None] | None = None,
    ) -> None:
        self._client = client
        self._tell = told
        self._key = key
        self._names = sorted(names)
        self._clock = clock
        self._random = random
        self._lives = lives
        self._secret: Document | None = None
        self._understood: Document | None = None
        self._authorities: Authorities | None = None
        self._shown: pki.KeyPair | None = None
        self._signer = b""
        self._changed = asyncio.Event()
        self._failure: KapyError | None = None
        self.reads = Reads()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2

    @property
    def ca(self) -> bytes:
        """The CA bundle for clients, PEM."""
        return b"" if self._secret is None else value(self._secret, CA)

    @property
    def missing(self) -> str:
        """The reason for which there is no certificate that clients accept, "" if there is one."""
        if self._shown is not None:
            what = f"the certificate in the Secret {self._key}"
            return not_good(what, self._shown.certificate, self._clock())
        why = self._failure or "it is not made yet"
        needs = ""
        if isinstance(self._failure, Forbidden):
            needs = (
                ": this program's Role needs get, list, watch, create and update of secrets in "
                f"the namespace {self._key.namespace}"
            )
        return f"no certificate in the Secret {self._key}: {why}{needs}"

    async def make_valid(self) -> None:
        """Read or create the Secret and load a certificate. Raises NoCertificate, ApiError and
        Unreachable."""
        self._secret = await self._read()
        while self._shown is None:
            try:
                await self._settle()
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
            group.create_task(self._settling())

    async def _settling(self) -> None:
        backoff = Backoff(self._random)
        while True:
            try:
                await (self.make_valid() if self._shown is None else self._settle())
                backoff.reset()
                seconds, self._failure = self._seconds_left(), None
            except KapyError as error:  # what is shown is good for long: time to try again
                if str(error) != str(self._failure):
                    _log.warning("the certificate of the Secret %s: %s", self._key, error)
                seconds, self._failure = backoff.next(error), error
            # A timer: nothing tells that a moment has come. What changes the Secret ends it.
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
            self._changed.clear()

    async def _settle(self) -> None:
        """One round: check the CA and the served certificate, and renew them if due."""
        secret = self._secret
        if secret is not None and value(secret, _LEAF) and value(secret, _KEY):
            self._show(pki.KeyPair(value(secret, _LEAF), value(secret, _KEY)), b"")
            return
        if secret is not None and secret is not self._understood:
            self._authorities, self._understood = Authorities.of(secret), secret
        now = self._clock()
        known = self._authorities
        if secret is None or known is None or known.due(now, self._lives) <= now:
            await self._write(secret, now)
        else:
            await self._sign(known, now)

    async def _write(self, secret: Document | None, now: datetime) -> None:
        """Create the Secret, or add a CA to it."""
        known, lives = self._authorities, self._lives
        if known is None:
            known = await off_the_loop(partial(authorities, now, lives))
        elif known.due(now, lives) <= now:
            known = await off_the_loop(partial(known.succeeded, now, lives))
            _log.info("a new authority, which signs in %s", lives.overlap)
        if secret is None:
            await self._created(known)
        else:
            await self._updated(secret, known)
        self._changed.set()

    async def _created(self, known: Authorities) -> None:
        try:
            self._secret = await self._client.create(SECRETS, self._document(known))
        except AlreadyExists:  # another replica was first
            self._secret = await self._read()

    async def _updated(self, secret: Document, known: Authorities) -> None:
        data = {**(secret.get("data") or {}), **known.data}
        try:
            self._secret = await self._client.update(SECRETS, {**secret, "data": data})
        except (Conflict, NotFound):  # another replica was first, or it is just deleted
            self._secret = await self._read()

    async def _sign(self, known: Authorities, now: datetime) -> None:
        signer = known.signing(now, self._lives)
        if signer.certificate == self._signer and self._shown is not None and self._due(now) > now:
            return
        make = partial(leaf, signer, self._names, now, self._lives)
        self._show(await off_the_loop(make), signer.certificate)

    def _show(self, pair: pki.KeyPair, signer: bytes) -> None:
        """Serve a certificate. Raises InvalidPem."""
        if pair == self._shown:
            return
        with self.reads.counted():
            _load(self.context, pair)
        self._shown, self._signer = pair, signer

    def _due(self, now: datetime) -> datetime:
        """When the served certificate must be renewed, if this CA signed it."""
        assert self._shown is not None
        return leaf_due(self._shown.certificate, self._signer, now, self._lives)

    def _seconds_left(self) -> float | None:
        """Seconds until the next action; None if only a change of the Secret can cause one."""
        if self._authorities is None or not self._signer:
            return None
        now, lives = self._clock(), self._lives
        moments = [self._authorities.due(now, lives), self._due(now)]
        if following := self._authorities.signs_next(now, lives):
            moments.append(following)
        return min(max((min(moments) - now).total_seconds(), 0.1), CLOCK_SECONDS)

    async def _read(self) -> Document | None:
        try:
            return await self._client.get(SECRETS, self._key)
        except NotFound:
            return None

    def _document(self, known: Authorities) -> Document:
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "Opaque",
            "metadata": {"name": self._key.name, "namespace": self._key.namespace},
            "data": known.data,
        }

    def replace(self, items: Sequence[Document], _version: str) -> bool:
        """Implements `kapy.engine.reflector.Sink`."""
        self._told(items[0] if items else None)
        return True

    def rewind(self) -> None:
        """Implements `Sink`: every list is accepted."""

    def take(self, event: Event) -> None:
        """Implements `kapy.engine.reflector.Sink`."""
        if event.type != "BOOKMARK":
            self._told(None if event.type == "DELETED" else event.document)

    def _told(self, secret: Document | None) -> None:
        self._secret = secret
        self._changed.set()
        if self._tell is not None:
            self._tell()


def _load(context: ssl.SSLContext, pair: pki.KeyPair) -> None:
    if not pki.belongs_together(pair):  # half of a pair would spoil what is in use
        raise pki.InvalidPem(f"{_LEAF} and {_KEY} do not belong together")
    try:
        show(context, pair.certificate, pair.key)
    except ssl.SSLError as error:
        raise pki.InvalidPem(f"{_LEAF} or {_KEY} cannot be used: {error.reason}") from None
