"""Conversion between ASGI messages and requests or replies."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final
from urllib.parse import unquote_to_bytes

import msgspec

from kapy.apiserver import negotiation
from kapy.apiserver.body import LIMIT
from kapy.kube.errors import TooLarge
from kapy.kube.http import Arrival, Reply

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

JSON = b"application/json"
_BAD_ESCAPE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")

_encode = msgspec.json.Encoder().encode


def headers_of(scope: Scope) -> dict[str, str]:
    """Return the headers by lower-case name; repeated headers are joined by commas."""
    given = scope["headers"]
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in given}
    if len(headers) == len(given):
        return headers
    headers = {}
    for name, value in given:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        headers[key] = f"{headers[key]},{text}" if key in headers else text
    return headers


def query_of(scope: Scope) -> dict[str, str]:
    """Return the first value of each query parameter; for `dryRun` all values, one a line.

    As in Go, a pair with a semicolon or an invalid escape is ignored.
    """
    raw: bytes = scope["query_string"]
    query: dict[str, str] = {}
    for pair in raw.split(b"&") if raw else ():
        if not pair or b";" in pair:
            continue
        key, _, value = pair.partition(b"=")
        if b"%" in pair or b"+" in pair:
            if _BAD_ESCAPE.search(pair):
                continue
            key, value = _unescaped(key), _unescaped(value)
        name, text = key.decode("utf-8", "replace"), value.decode("utf-8", "replace")
        if name == "dryRun" and name in query:
            query[name] += f"\n{text}"
        else:
            query.setdefault(name, text)
    return query


def _unescaped(text: bytes) -> bytes:
    return unquote_to_bytes(text.replace(b"+", b" "))


def arrival_of(scope: Scope, audit_id: str, received: float) -> Arrival:
    """Return the connection details of the request."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope["query_string"]
    uri = (b"%b?%b" % (raw, query) if query else raw).decode("latin-1")
    client = scope.get("client")
    return Arrival(audit_id, uri, client[0] if client else "", received=received)


async def body_of(headers: Mapping[str, str], receive: Receive) -> bytes | None:
    """Read the whole body; return None if the client disconnected. Raises TooLarge early."""
    length = headers.get("content-length")
    if length is None and "transfer-encoding" not in headers:
        return b""
    if length == "0":
        return b""
    if length is not None and length.isdigit() and int(length) > LIMIT:
        raise _too_large()
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > LIMIT:
            raise _too_large()
        parts.append(part)
        if not message.get("more_body"):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large() -> TooLarge:
    return TooLarge(f"Request entity too large: limit is {LIMIT}")


def messages_of(scope: Scope, reply: Reply, audit_id: str) -> tuple[Message, bytes]:
    """Return the start message of a response, and its encoded body."""
    body = reply.body
    if isinstance(body, bytes):
        content, kind = body, reply.headers.get("content-type", "").encode()
    else:
        content, kind = _encode(body), reply.headers.get("content-type", "").encode() or JSON
    begin = start(reply, kind, audit_id, len(content))
    return begin, b"" if scope["method"] == "HEAD" else content


def line_of(event: Any) -> bytes:
    """Encode one event of a stream as a line."""
    return event if isinstance(event, bytes) else _encode(event) + b"\n"


def wants_yaml(headers: Mapping[str, str], reply: Reply) -> bool:
    """Report whether the client wants the response as YAML."""
    accept = headers.get("accept", "")
    return "yaml" in accept and negotiation.wants_yaml(accept, failed=reply.status >= 400)


def yaml_of(document: Any) -> bytes:
    """Encode a document as YAML."""
    from kapy.kube import yaml

    return yaml.dump(document).encode()


def start(reply: Reply, kind: bytes, audit_id: str, length: int | None) -> dict[str, Any]:
    """Return the start message of a response. length: None for a stream."""
    out: list[tuple[bytes, bytes]] = [(b"audit-id", audit_id.encode("latin-1"))]
    if kind:
        out.append((b"content-type", kind))
    if length is not None:
        out.append((b"content-length", b"%d" % length))
    for name, value in reply.headers.items():
        if name == "warning":
            out += [(b"warning", one.encode("utf-8")) for one in value.split("\n")]
        elif name != "content-type":
            out.append((name.encode(), value.encode("latin-1")))
    return {"type": "http.response.start", "status": reply.status, "headers": out}
