"""The upgrade of a request's connection to SPDY/3.1 or to a WebSocket."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha1
from typing import Final, Literal

from kapy.kube.errors import BadRequest
from kapy.kube.http import Request

Kind = Literal["spdy", "websocket"]
SPDY_PROTOCOL: Final = "SPDY/3.1"
_VERSION: Final = "13"
_KEY_BYTES: Final = 16
_KEY_SUFFIX: Final = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""RFC 6455, section 1.3."""


@dataclass(frozen=True, slots=True)
class Upgrade:
    """An accepted upgrade of a connection. protocol: the name of the protocol inside SPDY or the
    WebSocket.
    """

    kind: Kind
    protocol: str
    key: str = ""

    def response_head(self) -> bytes:
        """Return the status line and the headers of the 101 response."""
        lines = ["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade"]
        if self.kind == "spdy":
            lines += [f"Upgrade: {SPDY_PROTOCOL}", f"X-Stream-Protocol-Version: {self.protocol}"]
        else:
            accepted = sha1(f"{self.key}{_KEY_SUFFIX}".encode(), usedforsecurity=False).digest()
            lines += [
                "Upgrade: websocket",
                f"Sec-WebSocket-Accept: {base64.b64encode(accepted).decode()}",
                f"Sec-WebSocket-Protocol: {self.protocol}",
            ]
        return "\r\n".join([*lines, "", ""]).encode()


def requested_upgrade(request: Request) -> Kind | None:
    """Return the kind of upgrade that a request wants, None for neither SPDY nor a WebSocket."""
    upgrade = request.headers.get("upgrade", "").lower()
    if upgrade == SPDY_PROTOCOL.lower():
        return "spdy"
    return "websocket" if upgrade == "websocket" else None


def negotiate_upgrade(
    request: Request, *, spdy: Sequence[str], websocket: Sequence[str], newest: bool = False
) -> Upgrade:
    """Choose the first protocol of the client that the server supports. newest: choose the first
    protocol of the server if a client that speaks SPDY offers none. Raises BadRequest.
    """
    kind = requested_upgrade(request)
    if kind is None:
        raise BadRequest(
            "Upgrade request required: this request needs a connection that becomes a WebSocket "
            f"({', '.join(websocket)}) or SPDY/3.1 ({', '.join(spdy)})"
        )
    if kind == "spdy":
        offered = _names(request.headers.get("x-stream-protocol-version", ""))
        offered = offered or (spdy if newest else ())
        return Upgrade(kind, _first_common(offered, spdy, "SPDY/3.1"))
    if request.method != "GET":
        raise BadRequest("a WebSocket begins with a GET request")
    if request.headers.get("sec-websocket-version", "").strip() != _VERSION:
        raise BadRequest(f"Sec-WebSocket-Version has to be {_VERSION}")
    key = request.headers.get("sec-websocket-key", "").strip()
    if not _is_key(key):
        raise BadRequest(f"Sec-WebSocket-Key has to be {_KEY_BYTES} bytes in base64")
    offered = _names(request.headers.get("sec-websocket-protocol", ""))
    return Upgrade(kind, _first_common(offered, websocket, "WebSocket"), key)


def _names(header: str) -> Sequence[str]:
    return [name for part in header.split(",") if (name := part.strip())]


def _first_common(offered: Sequence[str], served: Sequence[str], carrier: str) -> str:
    for name in offered:
        if name in served:
            return name
    raise BadRequest(
        f"over {carrier}, this request is served by the protocols {', '.join(served)}; the client "
        f"offers {', '.join(offered)[:200] or 'none'}"
    )


def _is_key(key: str) -> bool:
    try:
        return len(base64.b64decode(key, validate=True)) == _KEY_BYTES
    except (binascii.Error, ValueError):
        return False
