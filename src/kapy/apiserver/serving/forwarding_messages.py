"""The messages of requests that one process forwards to another one of this program.

Each belongs to an exchange, which has a number. The process with the client sends a request; the
process that answers it sends the response, in one message if it has all of it. The rest of a body,
and the end of the client, are sent when they are asked for. A long response waits for the
client: only `WINDOW` bytes of it may be under way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from kapy.kube.http import User

WINDOW: Final = 1 << 20
"""The bytes of one response that may be under way between the processes."""
SMALL_BODY: Final = 64 * 1024
"""The size in bytes up to which a body is sent together with its request."""

SendFrame = Callable[[int, int, bytes], None]
"""Sends a message, given its kind, the number of its exchange, and its content."""


class ForwardedMessage:
    """The kinds of messages.

    From the process with the client: REQUEST, BODY (a part of the body), GONE (the client has
    disconnected), TAKEN (the bytes of the response that the client has got). To it: RESPONSE (the
    head, and the first part of the body), CHUNK (a further part), WANT (asks for the next part of
    the body, or for the end of the client), UPGRADE (the connection becomes one of raw bytes),
    ABORT (close the connection at once). In both directions, after UPGRADE: DATA, PAUSE, RESUME,
    CLOSE.
    """

    REQUEST: Final = 32
    BODY: Final = 33
    GONE: Final = 34
    TAKEN: Final = 35
    RESPONSE: Final = 36
    CHUNK: Final = 37
    WANT: Final = 38
    UPGRADE: Final = 39
    ABORT: Final = 40
    DATA: Final = 41
    PAUSE: Final = 42
    RESUME: Final = 43
    CLOSE: Final = 44


class ForwardedRequest(msgspec.Struct, array_like=True):
    """The content of a REQUEST message. peer: the user of the client's certificate; it is not a
    header, so that no client can set it. body: the first part of the body; more: whether another
    part follows.
    """

    method: str
    path: str
    raw_path: bytes
    query: bytes
    headers: list[tuple[bytes, bytes]]
    client: tuple[str, int] | None
    scheme: str
    http_version: str
    peer: User | None
    body: bytes
    more: bool


class ForwardedResponse(msgspec.Struct, array_like=True):
    """The content of a RESPONSE message. body: the first part of the body; more: whether another
    part follows.
    """

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    more: bool


pack: Final = msgspec.msgpack.Encoder().encode
read_request: Final = msgspec.msgpack.Decoder(ForwardedRequest).decode
read_response: Final = msgspec.msgpack.Decoder(ForwardedResponse).decode

_FLAGS: Final = (b"\0", b"\1")


def pack_part(body: bytes, *, more: bool) -> bytes:
    """Return the content of a message with a part of a body."""
    return _FLAGS[more] + body


def read_part(content: bytes) -> tuple[bytes, bool]:
    """Return the part of a body, and whether another part follows."""
    return content[1:], content[0] == 1
