"""A transport over the network: one POST over TLS per call."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import aiohttp

from kapy._aio.limited_read import TooLarge, read_limited
from kapy._aio.tracing import propagation_headers
from kapy.api.extension_config import ClientConfig
from kapy.apiserver.webhooks.client_config import ClientConfig as Place
from kapy.apiserver.webhooks.client_config import Services
from kapy.apiserver.webhooks.webhook_client import describe_connection_error
from kapy.client.proxies import proxy_for
from kapy.hooks.transport import LARGEST_ANSWER, Answer, NoAnswer
from kapy.kube.model import encode

_HEADERS: Final = {"content-type": "application/json", "accept": "application/json"}


class ClientCertificate(NamedTuple):
    """Files of the client certificate for extensions, and of its key."""

    certificate: Path
    key: Path


class HttpsTransport:
    """Sends requests over TLS that trusts the `caBundle`, or the system's CAs if there is none.

    Redirects are not followed: only the configured host is called. services: base URLs of Services,
    for a program outside of the cluster; None if names of Services resolve. environ: has the proxy
    settings (`kapy.client.proxies`).
    """

    def __init__(
        self,
        services: Services | None = None,
        own: ClientCertificate | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._services = services
        self._own = own
        self._environ = environ
        self._session: aiohttp.ClientSession | None = None
        self._is_closed = False

    async def __call__(self, client: ClientConfig, url: str, body: bytes) -> Answer:
        if self._is_closed:
            # At the end of the program, callers end before this client.
            await asyncio.get_running_loop().create_future()
        place = Place.from_document(encode(client))
        try:
            resolved = self._resolve_url(place, url)
            response = await self._open_session().post(
                resolved,
                data=body,
                proxy=proxy_for(resolved, self._environ) or None,
                headers={**_HEADERS, **propagation_headers()},
                ssl=_trust(place.authority, self._stamp()),
                server_hostname=place.host or None,
                allow_redirects=False,
            )
            async with response:
                return Answer(response.status, await _read(response))
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise NoAnswer(describe_connection_error(error)) from None

    def _resolve_url(self, place: Place, url: str) -> str:
        if not place.service or self._services is None:
            return url
        base = place.resolve_url(self._services)
        if not base:
            name = f"{place.namespace}/{place.service}"
            raise NoAnswer(
                f'service "{name}" not found; say where it is: --webhook-service {name}=HOST:PORT'
            )
        return base + url.removeprefix(place.display_url)

    def _stamp(self) -> tuple[str, str, int] | None:
        """Return a stamp of the client certificate's files, which changes with them."""
        if self._own is None:
            return None
        files = self._own
        return str(files.certificate), str(files.key), files.certificate.stat().st_mtime_ns

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
            )
        return self._session

    async def aclose(self) -> None:
        """Close all connections permanently."""
        self._is_closed = True
        session, self._session = self._session, None
        if session is not None:
            await session.close()


async def _read(response: aiohttp.ClientResponse) -> bytes:
    too_large = NoAnswer(f"the answer is larger than {LARGEST_ANSWER} bytes")
    if (response.content_length or 0) > LARGEST_ANSWER:
        raise too_large
    try:
        return await read_limited(response.content.iter_any(), LARGEST_ANSWER)
    except TooLarge:
        raise too_large from None


@lru_cache(maxsize=64)
def _trust(authority: str, own: tuple[str, str, int] | None) -> ssl.SSLContext:
    """Return a TLS context that trusts certificates in PEM. Raises NoAnswer."""
    try:
        context = ssl.create_default_context(cadata=authority or None)
        if own is not None:
            context.load_cert_chain(own[0], own[1])
    except (ssl.SSLError, ValueError) as error:
        raise NoAnswer(f"the caBundle or the client certificate is no PEM ({error})") from None
    # A CA without a key identifier, or a serving certificate that is trusted itself, is enough for
    # clients in Go.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context
