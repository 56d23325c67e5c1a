"""The subset of SPDY/3.1 that port forwarding needs, without I/O.

The compression dictionary of header blocks is that of section 2.6.10.1 of the specification.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

_WORDS: Final = (
    "options|head|post|put|delete|trace|accept|accept-charset|accept-encoding|accept-language"
    "|accept-ranges|age|allow|authorization|cache-control|connection|content-base|content-enc"
    "oding|content-language|content-length|content-location|content-md5|content-range|content"
    "-type|date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|if-ran"
    "ge|if-unmodified-since|last-modified|location|max-forwards|pragma|proxy-authenticate|pro"
    "xy-authorization|range|referer|retry-after|server|te|trailer|transfer-encoding|upgrade|u"
    "ser-agent|vary|via|warning|www-authenticate|method|get|status|200 OK|version|HTTP/1.1|ur"
    "l|public|set-cookie|keep-alive|origin"
)
_ENDING: Final = (
    "1001012012022052063003023033043053063074024054064074084094104114124134144154164175025045"
    "05203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401"
    " Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 "
    "Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, "
    "Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/"
    "xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,s"
    "dchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)

DICTIONARY: Final = (
    b"".join(len(word).to_bytes(4, "big") + word.encode() for word in _WORDS.split("|"))
    + _ENDING.encode()
)


_VERSION: Final = 3
_FIN: Final = 0x01
_CONTROL: Final = 0x80000000
_MAX_BLOCK_BYTES: Final = 1 << 16
"""The maximum bytes of a control frame, and of its headers after decompression."""
_CHUNK_BYTES: Final = 1 << 15
_CANCEL: Final = 5


class _Kind(IntEnum):
    """The types of SPDY control frames. SETTINGS (4) and WINDOW_UPDATE (9) are ignored."""

    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    PING = 6
    GOAWAY = 7
    HEADERS = 8


class NotSpdy(Exception):
    """The peer violated SPDY/3.1; the connection must be closed."""


@dataclass(frozen=True, slots=True)
class StreamOpened:
    """The peer opened a stream. headers: names in lower case. ended: the peer sends no data."""

    stream: int
    headers: Mapping[str, str]
    ended: bool = False


@dataclass(frozen=True, slots=True)
class DataReceived:
    """Data of a stream. ended: the peer sends no more data on it."""

    stream: int
    data: bytes
    ended: bool = False


@dataclass(frozen=True, slots=True)
class StreamReset:
    """The peer reset a stream."""

    stream: int


@dataclass(frozen=True, slots=True)
class GoAwayReceived:
    """The peer accepts no new streams."""


Event = StreamOpened | DataReceived | StreamReset | GoAwayReceived


class Session:
    """Encodes and decodes the frames of one connection. client: whether this side opened the
    connection.
    """

    def __init__(self, *, client: bool) -> None:
        self._next = 1 if client else 2
        self._out = bytearray()
        self._in = bytearray()
        self._deflate = zlib.compressobj(zdict=DICTIONARY)
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)

    def open(self, headers: Mapping[str, str]) -> int:
        """Open a stream; return its number."""
        stream, self._next = self._next, self._next + 2
        block = stream.to_bytes(4, "big") + bytes(6) + self._compress_headers(headers)
        self._control(_Kind.SYN_STREAM, block)
        return stream

    def accept(self, stream: int) -> None:
        """Accept a stream that the peer opened."""
        self._control(_Kind.SYN_REPLY, stream.to_bytes(4, "big") + self._compress_headers({}))

    def send(self, stream: int, data: bytes, *, end: bool = False) -> None:
        """Add data of a stream to the bytes to send. end: whether to end this side of the stream,
        too.
        """
        for at in range(0, max(len(data), 1), _CHUNK_BYTES):
            piece = data[at : at + _CHUNK_BYTES]
            last = at + _CHUNK_BYTES >= len(data)
            flags = _FIN if end and last else 0
            self._out += stream.to_bytes(4, "big")
            self._out += (flags << 24 | len(piece)).to_bytes(4, "big") + piece

    def reset(self, stream: int) -> None:
        """Add a RST_STREAM frame, which cancels a stream, to the bytes to send."""
        self._control(_Kind.RST_STREAM, stream.to_bytes(4, "big") + _CANCEL.to_bytes(4, "big"))

    def pending(self) -> bytes:
        """Remove and return the bytes to send."""
        result = bytes(self._out)
        self._out.clear()
        return result

    def receive(self, data: bytes) -> Iterator[Event]:
        """Process bytes of the peer. Raises NotSpdy."""
        self._in += data
        while len(self._in) >= 8:
            size = int.from_bytes(self._in[5:8], "big")
            if self._in[0] & 0x80 and size > _MAX_BLOCK_BYTES:
                raise NotSpdy(f"a control frame is larger than {_MAX_BLOCK_BYTES} bytes")
            if len(self._in) < 8 + size:
                return
            head, body = bytes(self._in[:8]), bytes(self._in[8 : 8 + size])
            del self._in[: 8 + size]
            event = self._frame(head, body)
            if event is not None:
                yield event

    def _frame(self, head: bytes, body: bytes) -> Event | None:
        first, flags = int.from_bytes(head[:4], "big"), head[4]
        if not first & _CONTROL:
            return DataReceived(first, body, bool(flags & _FIN))
        if first >> 16 & 0x7FFF != _VERSION:
            raise NotSpdy("a frame is not of SPDY/3")
        try:
            return self._control_frame(first & 0xFFFF, flags, body)
        except (zlib.error, IndexError, UnicodeDecodeError) as error:
            raise NotSpdy(f"a frame is damaged: {error}") from None

    def _control_frame(self, kind: int, flags: int, body: bytes) -> Event | None:
        stream = int.from_bytes(body[:4], "big") & 0x7FFFFFFF
        match kind:
            case _Kind.SYN_STREAM:
                return StreamOpened(stream, self._decompress_headers(body[10:]), bool(flags & _FIN))
            case _Kind.SYN_REPLY | _Kind.HEADERS:
                self._decompress_headers(
                    body[4:]
                )  # all blocks of a connection are one compressed text
                return DataReceived(stream, b"", ended=True) if flags & _FIN else None
            case _Kind.RST_STREAM:
                return StreamReset(stream)
            case _Kind.PING:
                if (stream & 1) != (self._next & 1):  # a ping of the peer, which expects it back
                    self._control(_Kind.PING, body)
                return None
            case _Kind.GOAWAY:
                return GoAwayReceived()
            case _:
                return None

    def _control(self, kind: int, body: bytes) -> None:
        self._out += (_CONTROL | _VERSION << 16 | kind).to_bytes(4, "big")
        self._out += len(body).to_bytes(4, "big") + body

    def _compress_headers(self, headers: Mapping[str, str]) -> bytes:
        plain = len(headers).to_bytes(4, "big")
        for name, value in headers.items():
            for text in (name.lower(), value):
                plain += len(text.encode()).to_bytes(4, "big") + text.encode()
        return self._deflate.compress(plain) + self._deflate.flush(zlib.Z_SYNC_FLUSH)

    def _decompress_headers(self, block: bytes) -> Mapping[str, str]:
        plain = self._inflate.decompress(block, _MAX_BLOCK_BYTES)
        if self._inflate.unconsumed_tail:
            raise IndexError("headers are too large")
        texts, at = [], 4
        for _ in range(2 * int.from_bytes(plain[:4], "big")):
            size = int.from_bytes(plain[at : at + 4], "big")
            if at + 4 + size > len(plain):
                raise IndexError("a header is cut short")
            texts.append(plain[at + 4 : at + 4 + size].decode())
            at += 4 + size
        return dict(zip(texts[::2], texts[1::2], strict=True))
