"""Webhook calls: one POST over TLS, with the error messages of Go's client."""

from __future__ import annotations

import asyncio
import errno
import ssl
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

import aiohttp
import msgspec

from kapy._aio.limited_read import read_limited
from kapy.apiserver.encoding.go_json import syntax_error
from kapy.apiserver.request.body import InvalidJson, decode_yaml, not_an_object_error
from kapy.apiserver.resources.review_versions import KNOWN
from kapy.apiserver.webhooks.client_config import (
    ClientConfig,
    ServiceResolver,
    Services,
    ServiceUnresolved,
)
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.foreign_json import BadJson, TooDeep, decode_json, decode_json_in_pieces
from kapy.kube.names import split_api_version

_encode = msgspec.json.Encoder().encode
_ANSWER_LIMIT: Final = 64 * 1024 * 1024
_CONVERTED: Final = ("response", "convertedObjects")
_HEADERS: Final = {"content-type": "application/json", "accept": "application/json, */*"}


class CallFailed(KapyError):
    """The call brought no readable response; the message is kube-apiserver's."""


@lru_cache(maxsize=64)
def _tls_context(authority: str) -> ssl.SSLContext:
    """Return a TLS context that trusts these PEM certificates. Raises CallFailed."""
    try:
        return ssl.create_default_context(cadata=authority or None)
    except (ssl.SSLError, ValueError) as error:
        raise CallFailed(
            f"unable to load root certificates: unable to parse bytes as PEM block ({error})"
        ) from None


class WebhookClient:
    """The HTTP client of one server. It keeps connections only between `open` and `aclose`."""

    __slots__ = ("_kept", "_lookup", "_session", "services")

    def __init__(self, services: Services | None, lookup: ServiceResolver) -> None:
        self.services = services
        self._lookup = lookup
        self._session: aiohttp.ClientSession | None = None
        self._kept = False

    def open(self) -> None:
        """Keep connections from now on; the caller must call `aclose`."""
        self._kept = True

    async def aclose(self) -> None:
        """Close all connections, and stop keeping new ones."""
        self._kept = False
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def call(self, client: ClientConfig, review: Document, seconds: int) -> Document:
        """Send a review and return the response, which has the same apiVersion and kind.

        Raises CallFailed.
        """
        raw = await self._post(client, _encode(review), seconds)
        return await _decode(raw, review["apiVersion"], review["kind"])

    def _resolve_service(self, client: ClientConfig) -> str:
        """Return the URL of a Service that is not in the server's configuration. Raises
        ServiceUnresolved.
        """
        return self._lookup.resolve(client.namespace, client.service, client.port) + client.path

    async def _post(self, client: ClientConfig, body: bytes, seconds: int) -> bytes:
        question = "&" if "?" in client.display_url else "?"
        result = f'Post "{client.display_url}{question}timeout={seconds}s"'
        try:
            url = client.resolve_url(self.services) or self._resolve_service(client)
        except ServiceUnresolved as error:
            raise CallFailed(f"{result}: {error}") from None
        trust = _tls_context(client.authority)
        session = self._session or _new_session()
        if self._kept:
            self._session = session
        try:
            async with asyncio.timeout(seconds):
                response = await session.post(
                    f"{url}{question}timeout={seconds}s",
                    data=body,
                    headers=_HEADERS,
                    ssl=trust,
                    server_hostname=client.host or None,
                    allow_redirects=False,
                )
                async with response:
                    raw = await read_limited(response.content.iter_any(), _ANSWER_LIMIT)
        except TimeoutError:
            raise CallFailed(f"{result}: context deadline exceeded") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise CallFailed(f"{result}: {describe_connection_error(error)}") from None
        finally:
            if session is not self._session:
                await session.close()
        if not 200 <= response.status <= 206:
            raise CallFailed(_status_error(response, raw))
        if not raw:
            media = response.headers.get("Content-Type", "")
            raise CallFailed(
                f"0-length response with status code: {response.status} and content type: {media}"
            )
        return raw


def _new_session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
    )


def describe_connection_error(error: Exception) -> str:
    """Return the reason why no response arrived, in the words of Go's client."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return f"tls: failed to verify certificate: x509: {_certificate_error(error)}"
        case aiohttp.ClientConnectorDNSError():
            return f"dial tcp: lookup {error.host}: no such host"
        case aiohttp.ClientConnectorError():
            place = f"dial tcp {error.host}:{error.port}"
            number = error.os_error.errno
            if number == errno.ECONNREFUSED:
                return f"{place}: connect: connection refused"
            return f"{place}: {error.os_error.strerror or error}"
        case aiohttp.ServerDisconnectedError():
            return "EOF"
        case _:
            return str(error) or type(error).__name__


def _certificate_error(error: aiohttp.ClientConnectorCertificateError) -> str:
    result = error.certificate_error
    text = getattr(result, "verify_message", "") or str(result)
    if "self-signed" in text or "unable to get local issuer" in text:
        return "certificate signed by unknown authority"
    return text


_REFUSALS: Final = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be "
    "processing the request",
}


def _status_error(response: aiohttp.ClientResponse, raw: bytes) -> str:
    """Return the error that Go's client reports for a response with an error status."""
    status = response.status
    try:
        document: Any = decode_json(raw)
    except BadJson:
        document = None
    if isinstance(document, dict) and document.get("status") == "Failure":
        return str(document.get("message") or "unknown")
    if status in _REFUSALS:
        return _REFUSALS[status]
    text = raw.decode(errors="replace").strip() if response.content_type == "text/plain" else ""
    if status == 403:
        return f"forbidden: {text or 'unknown'}"
    if status >= 500:
        result = f'an error on the server ("{text or "unknown"}")'
        return f"{result} has prevented the request from succeeding"
    return f"the server responded with the status code {status} but did not return more information"


async def _decode(raw: bytes, api_version: str, kind: str) -> Document:
    """Decode the response as an object of the requested kind. Raises CallFailed."""
    document: Any = None
    try:
        for document in decode_json_in_pieces(raw, _CONVERTED):
            if document is None:
                await asyncio.sleep(0)  # let other tasks run
    except TooDeep:
        raise CallFailed(
            "couldn't get version/kind; json parse error: exceeded max depth"
        ) from None
    except BadJson:
        document = _decode_yaml(raw)
    if document is None:
        return {}  # as Go decodes a null
    if not isinstance(document, dict):
        raise CallFailed(f"couldn't get version/kind; {not_an_object_error(document)}")
    # A missing field defaults to the requested value; in v1 the verification refuses it later.
    results = document.get("apiVersion", ""), document.get("kind", "")
    if not all(isinstance(item, str) for item in results):
        raise CallFailed("couldn't get version/kind; json parse error: they are no strings")
    results = results[0] or api_version, results[1] or kind
    if results != (api_version, kind):
        raise CallFailed(_wrong_kind_error(*results, api_version, kind))
    return document


_MOST_YAML: Final = 16 * 1024


def _decode_yaml(raw: bytes) -> Any:
    """Decode a response that is not JSON; it may be YAML if it does not start with `{`.

    Raises CallFailed.
    """
    if not raw.lstrip().startswith(b"{") and len(raw) <= _MOST_YAML:
        with suppress(InvalidJson):
            return decode_yaml(raw)
    why = syntax_error(raw, encoding="latin-1")
    raise CallFailed(f"couldn't get version/kind; json parse error: {why}")


_META: Final = ("ListOptions", "GetOptions", "DeleteOptions", "CreateOptions", "UpdateOptions")
"""Kinds that exist in every API group."""
_UNVERSIONED: Final = ("Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList")
"""Kinds of the core group that decoders accept for every group."""


def _wrong_kind_error(version: str, kind: str, wanted: str, wanted_kind: str) -> str:
    """Return the error for a response of another kind or version."""
    group, version_name = split_api_version(version)
    same = group == split_api_version(wanted)[0] and version_name in KNOWN
    of_group = same and kind in (wanted_kind, "WatchEvent", "PatchOptions", *_META)
    if of_group or (version == "v1" and kind in _UNVERSIONED):
        target = f"{wanted.rpartition('/')[2]}.{wanted_kind}"
        return f"converting ({version_name}.{kind}) to ({target}): unknown conversion"
    scheme = "pkg/runtime/scheme.go:111"
    return f'no kind "{kind}" is registered for version "{version}" in scheme "{scheme}"'
