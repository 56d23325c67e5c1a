"""HTTP requests to servers with releases: with retries, limits and checks of the answers.

Redirects are followed, without credentials if they lead to another server. The proxies in
HTTP_PROXY, HTTPS_PROXY and NO_PROXY are used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from kapy import __version__
from kapy.client.no_answer import NO_ANSWER, describe_failure
from kapy.clusterctl.errors import RepositoryError
from kapy.kube.foreign_json import BadJson, decode_json

if TYPE_CHECKING:
    from kapy.clusterctl.config.variables import Variables

PAUSES: Final = (1.0, 2.0, 4.0)
"""Seconds before each retry."""
MAX_BYTES: Final = 128 * 2**20
MAX_JSON_BYTES: Final = 16 * 2**20
MAX_PAGES: Final = 200
"""The maximum length of a list: a server that sends more is broken or malicious."""
_TIMEOUT: Final = aiohttp.ClientTimeout(total=600, sock_connect=10, sock_read=30)
_RETRIED_STATUSES: Final = frozenset((500, 502, 503, 504))


class ServerUnreached(RepositoryError):
    """A server gave no usable answer."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The response of a web server. headers: names in lower case."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the value of the JSON in the body. Raises ServerUnreached."""
        if len(self.body) > MAX_JSON_BYTES:
            raise ServerUnreached(
                f"{self.url} answered with more than {MAX_JSON_BYTES} bytes of JSON"
            )
        try:
            return decode_json(self.body)
        except BadJson as error:
            raise ServerUnreached(
                f"{self.url} answered with something that is not JSON ({error}): is there a proxy "
                "or a login page in between?"
            ) from None

    def file(self) -> bytes:
        """Return the body as a release file. Raises ServerUnreached for a web page."""
        if self.headers.get("content-type", "").startswith("text/html"):
            raise ServerUnreached(
                f"{self.url} answered with a web page and not with the file: is there a proxy or a "
                "login page in between?"
            )
        return self.body


class WebClient:
    """Sends HTTP requests, and retries them. pauses: the seconds before each retry."""

    def __init__(self, pauses: Sequence[float] = PAUSES) -> None:
        self._pauses = pauses

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> HttpResponse:
        """Return the response to a GET, with any status. Raises ServerUnreached."""
        return await self.ask("GET", url, headers or {})

    async def ask(
        self, method: str, url: str, headers: Mapping[str, str], data: bytes | None = None
    ) -> HttpResponse:
        """Return the response to an idempotent request, with retries. Raises ServerUnreached."""
        for pause in self._pauses:
            try:
                answer = await _answer(method, url, headers, data)
                if answer.status not in _RETRIED_STATUSES:
                    return answer
            except ServerUnreached:
                pass
            # A timer: no event shows that a foreign server works again.
            await asyncio.sleep(pause)
        return await _answer(method, url, headers, data)


def pages(place: str) -> Iterator[int]:
    """The page numbers of a list, from 1 on. Raises ServerUnreached if the list does not end."""
    yield from range(1, MAX_PAGES + 1)
    raise ServerUnreached(f"{place} lists more than {MAX_PAGES} pages: is it the right server?")


@contextmanager
def documented_errors(answer: HttpResponse) -> Iterator[None]:
    """Turn errors of the context, which reads the JSON of a response, into ServerUnreached: the
    JSON does not have the documented shape.
    """
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise ServerUnreached(
            f"{answer.url} answered with JSON that is not what such a server says: is it another "
            "one, or is there a proxy in between?"
        ) from error


def refusal(answer: HttpResponse) -> str:
    """Return the server's error message, if it has one, and the status."""
    try:
        json = decode_json(answer.body)
        message = json.get("message") or json.get("error") if isinstance(json, dict) else ""
    except BadJson:
        message = ""
    result = f": {message}" if isinstance(message, str) and message else ""
    return f"{answer.status}{result}"


def secret(variables: Variables, name: str) -> str:
    """Return a token or a password, without the trailing newline of files."""
    return (variables.get(name) or "").strip()


async def _answer(
    method: str, url: str, headers: Mapping[str, str], data: bytes | None
) -> HttpResponse:
    result = {"User-Agent": f"kapy/{__version__}", **headers}
    try:
        async with (
            aiohttp.ClientSession(timeout=_TIMEOUT, cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.request(method, url, headers=result, data=data, proxy=_proxy(url)) as response,
        ):
            body = await _body(response, url)
            names = {name.lower(): value for name, value in response.headers.items()}
            return HttpResponse(url, response.status, names, body)
    except NO_ANSWER as error:
        raise ServerUnreached(
            f"cannot reach {urlsplit(url).netloc} for {url}: {_reason(error)}; check the network "
            "and the proxy settings (HTTPS_PROXY), or use a repository that can be reached"
        ) from error


async def _body(response: aiohttp.ClientResponse, url: str) -> bytes:
    parts, size = [], 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > MAX_BYTES:
            raise RepositoryError(
                f"{url} is larger than {MAX_BYTES // 2**20} MiB, so it is no file of a release"
            )
        parts.append(part)
    return b"".join(parts)


def _reason(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the connection broke off in the middle of the answer"
    return describe_failure(error)


def _proxy(url: str) -> str | None:
    parts = urlsplit(url)
    if proxy_bypass(parts.netloc):
        return None
    return getproxies().get(parts.scheme)
