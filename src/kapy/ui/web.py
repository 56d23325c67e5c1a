"""Requests and responses of the pages: cookies, forms, security headers, checks of the sender."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from kapy._aio.asgi import Scope, Send
from kapy.kube import Key

PREFIX: Final = "/ui"
MAX_FORM: Final = 3 * 1024 * 1024
"""Bytes of a form: YAML for a plan."""
MAX_FIELDS: Final = 50
CSRF_FIELD: Final = "csrf"
CSRF_HEADER: Final = "x-kapy-csrf"
HTML: Final = "text/html; charset=utf-8"
EVENTS: Final = "text/event-stream"

SECURITY_HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with `no-referrer`, forms are sent with `Origin: null`
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class WebError(Exception):
    """A request that is refused; the message is for the user."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class WebRequest:
    """One HTTP request. path: the path below the prefix, split and decoded. form: the fields of a
    POST.
    """

    method: str
    path: tuple[str, ...]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    form: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_fragment(self) -> bool:
        """Report whether htmx asks for a part of a page."""
        return self.headers.get("hx-request") == "true"

    def cookie(self, name: str) -> str:
        """Return a cookie, "" if it was not sent."""
        # Other programs of this host set cookies, too, for which SimpleCookie may refuse all.
        pairs = (part.partition("=") for part in self.headers.get("cookie", "").split(";"))
        return next((value.strip() for key, _, value in pairs if key.strip() == name), "")

    def check_same_origin(self) -> None:
        """Refuse a form that another site sent. Raises WebError."""
        site = self.headers.get("sec-fetch-site", "same-origin")
        origin = self.headers.get("origin")
        is_foreign = origin is not None and _host_of(origin) != self.headers.get("host")
        if site != "same-origin" or is_foreign:
            raise WebError(403, "this request came from another site")


@dataclass(frozen=True, slots=True)
class WebResponse:
    """One response; `stream` instead of a body for server-sent events."""

    status: int = 200
    body: bytes = b""
    kind: str = HTML
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: AsyncGenerator[bytes, None] | None = None


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def cluster_url(key: Key) -> str:
    """Return the page of a cluster."""
    return f"{PREFIX}/clusters/{quote(key.namespace, safe='')}/{quote(key.name, safe='')}"


def redirect(location: str) -> WebResponse:
    """Send the browser to another page."""
    return WebResponse(303, headers={"location": location})


def request_of(scope: Scope, body: bytes = b"") -> WebRequest:
    """Read a request of ASGI. Raises WebError."""
    headers = {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
    }
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    text = raw.partition(b"?")[0].decode("latin-1").removeprefix(PREFIX)
    path = tuple(unquote(part) for part in text.split("/") if part)
    form: dict[str, str] = {}
    if body:
        kind = headers.get("content-type", "").partition(";")[0].strip()
        if kind != "application/x-www-form-urlencoded":
            raise WebError(415, f"a form is expected, not {kind[:100] or 'an unknown type'}")
        form = _fields(body.decode("utf-8", "replace"))
    query = _fields(scope["query_string"].decode("latin-1"))
    return WebRequest(scope["method"], path, query, headers, form)


def _fields(text: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except ValueError:
        raise WebError(400, f"a form may have {MAX_FIELDS} fields at most") from None


async def send_response(send: Send, response: WebResponse, *, head: bool = False) -> None:
    """Send a response; a stream until it ends."""
    headers = {"content-type": response.kind, "cache-control": "no-store"}
    headers |= {**SECURITY_HEADERS, **response.headers}
    if response.stream is None:
        headers["content-length"] = str(len(response.body))
    pairs = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": response.status, "headers": pairs})
    if response.stream is not None and not head:
        async with aclosing(response.stream) as stream:
            async for part in stream:
                await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b"" if head else response.body})
