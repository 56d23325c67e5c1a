"""Conversion between ASGI messages and requests or replies."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Final
from urllib.parse import unquote_to_bytes

import msgspec

from kapy.apiserver.request import negotiation
from kapy.apiserver.request.body import LIMIT
from kapy.kube import Document
from kapy.kube.digits import parse_digits
from kapy.kube.errors import TooLarge
from kapy.kube.http import Arrival, Reply

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

JSON = b"application/json"
_BAD_ESCAPE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")

_encode = msgspec.json.Encoder().encode


def parse_headers(scope: Scope) -> dict[str, str]:
    """Return the headers by lower-case name; repeated headers are joined by commas."""
    raw_headers = scope["headers"]
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in raw_headers}
    if len(headers) == len(raw_headers):
        return headers
    headers = {}
    for name, value in raw_headers:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        headers[key] = f"{headers[key]},{text}" if key in headers else text
    return headers


def parse_query(scope: Scope) -> dict[str, str]:
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
            key, value = _unescape(key), _unescape(value)
        name, text = key.decode("utf-8", "replace"), value.decode("utf-8", "replace")
        if name == "dryRun" and name in query:
            query[name] += f"\n{text}"
        else:
            query.setdefault(name, text)
    return query


def _unescape(text: bytes) -> bytes:
    return unquote_to_bytes(text.replace(b"+", b" "))


def parse_arrival(scope: Scope, audit_id: str, received: float) -> Arrival:
    """Return the connection details of the request."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope["query_string"]
    uri = (b"%b?%b" % (raw, query) if query else raw).decode("latin-1")
    client = scope.get("client")
    return Arrival(audit_id, uri, client[0] if client else "", received=received)


async def read_body(headers: Mapping[str, str], receive: Receive) -> bytes | None:
    """Read the whole body; return None if the client disconnected. Raises TooLarge early."""
    length = headers.get("content-length")
    if length is None and "transfer-encoding" not in headers:
        return b""
    if length == "0":
        return b""
    if length is not None and (parse_digits(length) or 0) > LIMIT:
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


def encode_reply(scope: Scope, reply: Reply, audit_id: str) -> tuple[Message, bytes]:
    """Return the start message of a response, and its encoded body."""
    body = reply.body
    content = body if isinstance(body, bytes) else _encode(body)
    begin = start_message(reply, _kind_of(reply), audit_id, len(content))
    return begin, b"" if scope["method"] == "HEAD" else content


def _kind_of(reply: Reply) -> bytes:
    kind = reply.headers.get("content-type", "").encode()
    return kind if kind or isinstance(reply.body, bytes) else JSON


def is_long_list(reply: Reply) -> bool:
    """Report whether a reply is a list that is encoded in parts."""
    body = reply.body
    return isinstance(body, dict) and any(_is_long(body.get(item)) for item in _LISTS)


def _is_long(value: Any) -> bool:
    return isinstance(value, list) and len(value) > _BATCH


async def encode_in_parts(body: Any) -> list[bytes]:
    """Encode a list; other requests have their turns between its parts."""
    parts: list[bytes] = []
    gathered: list[bytes] = []
    size = 0
    for piece in _members(body):
        gathered.append(piece)
        size += len(piece)
        if size > PIECE:
            parts.append(b"".join(gathered))
            gathered, size = [], 0
            await asyncio.sleep(0)
    return [*parts, b"".join(gathered)]


def _members(body: Document) -> Iterator[bytes]:
    before = b"{"
    for key, value in body.items():
        yield before + _encode(key) + b":"
        before = b","
        if key in _LISTS and _is_long(value):
            yield from _items(value)
        else:
            yield _encode(value)
    yield b"}"


def _items(value: list[Any]) -> Iterator[bytes]:
    for first in range(0, len(value), _BATCH):
        yield (b"," if first else b"[") + _encode(value[first : first + _BATCH])[1:-1]
    yield b"]"


def start_of_parts(reply: Reply, audit_id: str, parts: Sequence[bytes]) -> Message:
    """Return the start message of a response in parts."""
    return start_message(reply, _kind_of(reply), audit_id, sum(map(len, parts)))


async def send_in_pieces(send: Send, parts: Sequence[bytes]) -> int:
    """Send a long body in pieces that are encrypted fast; return its size."""
    for part in parts:
        for first in range(0, len(part), PIECE):
            piece = part[first : first + PIECE]
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            await asyncio.sleep(0)
    await send({"type": "http.response.body", "body": b""})
    return sum(map(len, parts))


_LISTS: Final = ("items", "rows")
_BATCH: Final = 16
"""The items that are encoded at once; an object has 1.5 MiB at most."""

PIECE: Final = 256 * 1024
"""The most bytes of a body that are sent at once."""


def encode_event(event: Any) -> bytes:
    """Encode one event of a stream as a line."""
    return event if isinstance(event, bytes) else _encode(event) + b"\n"


def wants_yaml(headers: Mapping[str, str], reply: Reply) -> bool:
    """Report whether the client wants the response as YAML."""
    accept = headers.get("accept", "")
    return "yaml" in accept and negotiation.wants_yaml(accept, failed=reply.status >= 400)


def encode_yaml(document: Any) -> bytes:
    """Encode a document as YAML."""
    from kapy.kube import yaml

    return yaml.dump(document).encode()


def start_message(reply: Reply, kind: bytes, audit_id: str, length: int | None) -> dict[str, Any]:
    """Return the start message of a response. length: None for a stream."""
    out: list[tuple[bytes, bytes]] = [(b"audit-id", audit_id.encode("latin-1"))]
    if kind:
        out.append((b"content-type", kind))
    if length is not None:
        out.append((b"content-length", b"%d" % length))
    for name, value in reply.headers.items():
        if name == "warning":
            out += [(b"warning", part.encode("utf-8")) for part in value.split("\n")]
        elif name != "content-type":
            out.append((name.encode(), value.encode("latin-1")))
    return {"type": "http.response.start", "status": reply.status, "headers": out}
