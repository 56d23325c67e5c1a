"""Run a command in a container, and return its exit code and the end of its output."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, Final

from kapy.containers.errors import EngineError
from kapy.containers.records import CommandResult

if TYPE_CHECKING:
    from aiodocker.containers import DockerContainer
    from aiodocker.execs import Exec
    from aiodocker.stream import Stream

MAX_OUTPUT_BYTES: Final = 64 << 10
"""The number of last bytes that are kept of each output of a command."""
CHUNK_BYTES: Final = 256 << 10
POLL_ATTEMPTS: Final = 100
"""The poll interval for the end of a command whose output has ended."""

HANGUP_ERRORS: Final = (ConnectionError, RuntimeError, AssertionError)
"""The exceptions of the library if input is written after the engine closed the connection."""

_SCRIPT = 'n=$1; shift; head -c "$n" | { "$@"; code=$?; cat > /dev/null; exit $code; }'
WITH_INPUT: Final = ("/bin/sh", "-c", _SCRIPT, "sh")
"""A command that runs another command, ends its input after a number of bytes, and reads the input
that the command leaves. Not every connection to an engine can be closed in one direction only (TLS
cannot), and an engine does not end a command's connection while input is on its way."""


class Tail:
    """Keeps the last bytes of a command's output. total: the number of bytes of the whole
    output.
    """

    def __init__(self, max_bytes: int = MAX_OUTPUT_BYTES) -> None:
        self._most = max_bytes
        self._kept = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Add bytes of the output; only the last ones are kept."""
        self.total += len(data)
        self._kept += data
        if len(self._kept) > 2 * self._most:
            del self._kept[: -self._most]

    def content(self) -> bytes:
        """Return the kept bytes of the output."""
        return bytes(self._kept[-self._most :])

    def text(self) -> str:
        """Return the kept output as text."""
        return self.content().decode(errors="replace")


async def run_command(
    container: DockerContainer,
    command: Sequence[str],
    stdin: bytes | BinaryIO,
    environment: Mapping[str, str],
    *,
    privileged: bool = True,
) -> CommandResult:
    """Run a command and wait for its end."""
    from kapy.containers.frames import frame_stream

    source = io.BytesIO(stdin) if isinstance(stdin, bytes) else stdin
    size = _size(source)
    if size:
        command = (*WITH_INPUT, str(size), *command)
    process = await container.exec(
        list(command), stdin=size > 0, privileged=privileged, environment=environment or None
    )
    outputs = {1: Tail(), 2: Tail()}
    async with frame_stream(process.start()) as stream:
        try:
            async with asyncio.TaskGroup() as group:
                feeding = group.create_task(_feed(stream, source))
                while (message := await stream.read_out()) is not None:
                    outputs.get(message.stream, outputs[1]).add(message.data)
                feeding.cancel()
        except ExceptionGroup as several:  # it contains one error: the other task was cancelled
            raise several.exceptions[0] from None
    code = await exit_code_of(process, command[0])
    return CommandResult(code, outputs[1].text(), outputs[2].text())


async def exit_code_of(process: Exec, name: str) -> int:
    """Return the exit code of a command whose outputs have ended. Raises EngineError."""
    for _ in range(POLL_ATTEMPTS):
        result = await process.inspect()
        if not result["Running"]:
            return int(result["ExitCode"] or 0)
        # A timer: an engine sends no event for the end of an exec.
        await asyncio.sleep(0.1)
    raise EngineError(f"{name} closed its outputs, but does not end")


def _size(source: BinaryIO) -> int:
    begin = source.tell()
    end = source.seek(0, io.SEEK_END)
    source.seek(begin)
    return end - begin


async def _feed(stream: Stream, source: BinaryIO) -> None:
    # A command need not read all of its input. The pieces come from memory or the page cache.
    with suppress(*HANGUP_ERRORS):
        while piece := source.read(CHUNK_BYTES):
            await stream.write_in(piece)
