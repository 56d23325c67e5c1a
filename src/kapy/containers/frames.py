"""Separate the two outputs of a command, which an engine sends as frames in one stream.

The parser of the library buffers a frame until it is complete, and a frame can have 4 GiB. This
parser passes on the parts of a frame as they arrive.
"""

from __future__ import annotations

from typing import Any, Final

from aiodocker.stream import Message, Stream

from kapy.containers.records import FRAME

_MESSAGE: Final = 256
"""The memory in bytes that a message takes besides its data, for flow control."""


class FrameParser:
    """Passes the data of frames on to a queue; a parser in the sense of aiohttp.

    received: bytes that have arrived already.
    """

    def __init__(self, queue: Any, received: bytes = b"") -> None:
        self._queue = queue
        self._header = b""
        self._stream = 0
        self._left = 0
        if received:
            self.feed_data(received)

    def set_exception(self, exc: BaseException, cause: BaseException | None = None) -> None:
        """End the queue with an error."""
        del cause
        self._queue.set_exception(exc)

    def feed_eof(self) -> None:
        """End the queue: the engine has closed the stream."""
        self._queue.feed_eof()

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Parse received bytes, and add the output in them to the queue. Parts of one output that
        arrive together become one message.
        """
        stream, joined = self._stream, bytearray()
        at = 0
        while at < len(data):
            if not self._left:
                missing = FRAME.size - len(self._header)
                self._header += data[at : at + missing]
                at += missing
                if len(self._header) < FRAME.size:
                    break
                (self._stream, self._left), self._header = FRAME.unpack(self._header), b""
                continue
            if self._stream != stream:
                self._pass_on(stream, joined)
                stream, joined = self._stream, bytearray()
            joined += data[at : at + self._left]
            taken = min(self._left, len(data) - at)
            self._left -= taken
            at += taken
        self._pass_on(stream, joined)
        return False, b""

    def _pass_on(self, stream: int, data: bytearray) -> None:
        if data:
            self._queue.feed_data(Message(stream, bytes(data)), len(data) + _MESSAGE)


class FramedStream(Stream):
    """The library's stream of a command or a container, with frames of any size."""

    async def _init(self) -> None:
        if self._resp is not None:
            return
        await super()._init()
        connection = None if self._resp is None else self._resp.connection
        protocol = None if connection is None else connection.protocol
        parser = None if protocol is None else protocol._payload_parser
        if protocol is not None and parser is not None and not parser.tty:
            # No await since the library has set its own parser.
            protocol.set_parser(FrameParser(self._queue, bytes(parser._buf)), self._queue)


def frame_stream(stream: Stream) -> FramedStream:
    """Return the stream of a session with its input and outputs; `async with` opens it."""
    return FramedStream(stream.docker, stream._setup, stream._timeout)
