"""Commands in containers whose input and output are a user's, and outputs that are followed."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from kapy.containers.commands import CHUNK_BYTES, HANGUP_ERRORS, WITH_INPUT, exit_code_of
from kapy.containers.records import FRAME

if TYPE_CHECKING:
    from aiodocker import Docker
    from aiodocker.containers import DockerContainer
    from aiodocker.execs import Exec
    from aiodocker.stream import Stream

CONNECT_TIMEOUT: Final = 10.0
_SCRIPT: Final = 'exec 3<&0; { cat <&3; kill $$; } > /dev/null 2>&1 & exec "$@" < /dev/null 3<&-'
WHILE_CONNECTED: Final = ("/bin/sh", "-c", _SCRIPT, "sh")
"""Ends a command when its connection ends: an engine lets commands run on whose client is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The client's side of a command. output, errors: receive its output; if they return an
    awaitable, it is awaited before more output is read. input: None if there is no input. sizes:
    rows and columns of the terminal, if there is one. privileged: whether the command has more
    rights than the container."""

    output: Callable[[bytes], object]
    errors: Callable[[bytes], object]
    input: AsyncIterator[bytes] | None = None
    tty: bool = False
    sizes: AsyncIterator[tuple[int, int]] | None = None
    privileged: bool = True


async def run_session(container: DockerContainer, command: Sequence[str], session: Session) -> int:
    """Run a command to its end with the client's streams; return its exit code."""
    from kapy.containers.frames import frame_stream

    process = await container.exec(
        list(command),
        stdin=session.input is not None,
        tty=session.tty,
        privileged=session.privileged,
    )
    async with frame_stream(process.start()) as stream:
        await _pass_on(stream, session, process)
    return await exit_code_of(process, command[0])


async def attach_session(container: DockerContainer, session: Session) -> None:
    """Pass on the streams of a container's first process, until it ends."""
    from kapy.containers.frames import frame_stream

    wants_input = session.input is not None
    async with frame_stream(
        container.attach(stdout=True, stderr=True, stdin=wants_input)
    ) as stream:
        await _pass_on(stream, session, container)


async def _pass_on(stream: Stream, session: Session, terminal: Exec | DockerContainer) -> None:
    """Pass on input, outputs and the sizes of the terminal, until the outputs end."""
    try:
        async with asyncio.TaskGroup() as group:
            helpers = [
                group.create_task(_feed(stream, session.input)),
                group.create_task(_resize(terminal, session.sizes)),
            ]
            while (message := await stream.read_out()) is not None:
                take = session.errors if message.stream == 2 else session.output
                taken = take(message.data)
                if isinstance(taken, Awaitable):
                    await taken
            for helper in helpers:
                helper.cancel()
    except ExceptionGroup as several:  # it contains one error: the other tasks were cancelled
        raise several.exceptions[0] from None


async def run_with_whole_input(
    container: DockerContainer, command: Sequence[str], session: Session
) -> int:
    """Like `run_session`, but read the whole input first: the connection cannot signal its end."""
    assert session.input is not None
    with tempfile.TemporaryFile() as spool:
        async for piece in session.input:
            await asyncio.to_thread(spool.write, piece)
        size = spool.tell()
        spool.seek(0)
        wrapped = (*WITH_INPUT, str(size), *command)
        return await run_session(container, wrapped, replace(session, input=_chunks(spool)))


async def _chunks(file: BinaryIO) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(file.read, CHUNK_BYTES):
        yield piece


async def follow_output(
    container: DockerContainer, command: Sequence[str]
) -> AsyncGenerator[bytes, None]:
    """The output of a command, until it ends or the reader stops, which ends the command, too."""
    from kapy.containers.frames import frame_stream

    process = await container.exec([*WHILE_CONNECTED, *command], stdin=True, privileged=True)
    async with frame_stream(process.start()) as stream:
        while (message := await stream.read_out()) is not None:
            yield message.data


async def read_logs(
    library: Docker, name: str, query: Mapping[str, Any]
) -> AsyncGenerator[bytes, None]:
    """The output of the first process of a container."""
    from aiohttp import ClientTimeout

    result = await library.containers.container(name).show()
    parameters = {"stdout": "true", "stderr": "true", **_texts(query)}
    timeout = ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT)
    async with library._query(
        f"containers/{name}/logs", params=parameters, timeout=timeout
    ) as response:
        pieces = response.content
        if result["Config"]["Tty"]:
            async for piece in pieces.iter_any():
                yield piece
            return
        with suppress(asyncio.IncompleteReadError):  # the engine closed the connection
            while True:
                _, size = FRAME.unpack(await pieces.readexactly(FRAME.size))
                while size:
                    piece = await pieces.read(min(size, CHUNK_BYTES))
                    if not piece:
                        return
                    size -= len(piece)
                    yield piece


def _texts(query: Mapping[str, Any]) -> Mapping[str, str]:
    return {key: str(value).lower() for key, value in query.items()}


async def _feed(stream: Stream, source: AsyncIterator[bytes] | None) -> None:
    if source is None:
        return
    # A command need not read all of its input.
    with suppress(*HANGUP_ERRORS):
        async for piece in source:
            await stream.write_in(piece)
        _end_input(stream)


def _end_input(stream: Stream) -> None:
    """Close the connection in one direction, where it can be (TLS cannot)."""
    response = stream._resp
    connection = None if response is None else response.connection
    transport = None if connection is None else connection.transport
    if transport is not None and transport.can_write_eof():
        transport.write_eof()


async def _resize(
    terminal: Exec | DockerContainer, sizes: AsyncIterator[tuple[int, int]] | None
) -> None:
    if sizes is not None:
        async for rows, columns in sizes:
            await terminal.resize(h=rows, w=columns)
