"""Frames over a socket: whole, in order, and many at a time."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kapy._aio.frames import Frames

PATIENCE = 30.0

pytestmark = pytest.mark.sockets


class End:
    """One end, and what arrived there."""

    def __init__(self) -> None:
        self.frames: list[tuple[int, int, bytes]] = []
        self.news = asyncio.Event()
        self.lost = asyncio.Event()

    @asynccontextmanager
    async def at(self, end: socket.socket) -> AsyncIterator[Frames]:
        frames = await Frames.open(end, self._take, self.lost.set)
        try:
            yield frames
        finally:
            frames.close()
            async with asyncio.timeout(PATIENCE):
                await self.lost.wait()

    def _take(self, kind: int, number: int, payload: bytes) -> None:
        self.frames.append((kind, number, payload))
        self.news.set()

    async def until(self, number: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(self.frames) < number:
                self.news.clear()
                await self.news.wait()


async def test_frames_arrive_whole_and_in_order() -> None:
    here, there = socket.socketpair()
    receiver, sizes = End(), (0, 1, 5, 1 << 20, 3 << 20, 7)
    sent = [(kind, 2**32 - 1 - kind, bytes([kind]) * size) for kind, size in enumerate(sizes)]
    async with receiver.at(there), End().at(here) as sender:
        for frame in sent:
            sender.send(*frame)
        await receiver.until(len(sent))
    assert receiver.frames == sent


async def test_a_frame_that_comes_byte_by_byte_is_one_frame() -> None:
    here, there = socket.socketpair()
    receiver = End()
    with here:
        async with receiver.at(there):
            for byte in struct.pack(">IBI", 3, 4, 5) + b"abc":
                here.send(bytes([byte]))
                await asyncio.sleep(0)
            await receiver.until(1)
    assert receiver.frames == [(4, 5, b"abc")]


async def test_a_peer_that_does_not_read_is_waited_for() -> None:
    here, there = socket.socketpair()
    receiver = End()
    async with End().at(here) as sender:
        sender.send(1, 1, bytes(32 << 20))
        await asyncio.sleep(0)
        drain = asyncio.get_running_loop().create_task(sender.drain())
        await asyncio.sleep(0.01)
        assert not drain.done()
        async with receiver.at(there):
            async with asyncio.timeout(PATIENCE):
                await drain
            await receiver.until(1)


async def test_data_sent_before_the_end_arrives_and_later_frames_are_dropped() -> None:
    here, there = socket.socketpair()
    receiver = End()
    async with receiver.at(there), End().at(here) as sender:
        sender.send(1, 1, b"last")
        sender.close()
        async with asyncio.timeout(PATIENCE):
            await receiver.lost.wait()
        assert receiver.frames == [(1, 1, b"last")]
        sender.send(1, 2, b"nowhere")
        await sender.drain()


async def test_there_is_room_once_the_peer_has_read() -> None:
    here, there = socket.socketpair()
    there.settimeout(0)
    async with End().at(here) as sender:
        await sender.wait_for_room(0)
        sender.send(1, 1, bytes(32 << 20))
        waiting = asyncio.get_running_loop().create_task(sender.wait_for_room(1 << 20))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        async with End().at(there), asyncio.timeout(PATIENCE):
            await waiting


class Writes(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.all.append(bytes(data))


def opened() -> tuple[Frames, Writes]:
    frames, writes = Frames(lambda *_: None, lambda: None), Writes()
    frames.connection_made(writes)
    return frames, writes


@pytest.mark.parametrize(("steps", "number"), [(0, 1), (1, 1), (5, 2)])
async def test_frames_of_consecutive_steps_are_one_write(steps: int, number: int) -> None:
    frames, writes = opened()
    frames.send(1, 1, b"a")
    for _ in range(steps):
        await asyncio.sleep(0)
    frames.send(1, 2, b"b")
    for _ in range(3):
        await asyncio.sleep(0)
    assert len(writes.all) == number


async def test_a_frame_that_may_wait_goes_with_the_next_one() -> None:
    frames, writes = opened()
    frames.send_later(1, 1, b"a")
    for _ in range(5):
        await asyncio.sleep(0)
    assert writes.all == []
    frames.send(1, 2, b"b")
    frames.send_later(1, 3, b"c")
    async with asyncio.timeout(PATIENCE):
        while not writes.all:  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert [part[-1:] for part in writes.all] == [b"c"]
    assert writes.all[0].count(b"\0\0\0\1\1") == 3


async def test_a_frame_that_may_wait_goes_soon_or_when_it_is_asked_for() -> None:
    frames, writes = opened()
    frames.send_later(1, 1, b"a")
    frames.flush()
    assert len(writes.all) == 1
    frames.send_later(1, 2, b"b")
    async with asyncio.timeout(PATIENCE):
        while len(writes.all) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def test_a_frame_of_another_thread_is_refused_and_stops_no_other() -> None:
    here, there = socket.socketpair()
    receiver = End()
    async with receiver.at(there), End().at(here) as sender:
        with pytest.raises(RuntimeError):
            await asyncio.to_thread(sender.send, 1, 1, b"thread")
        sender.send(1, 2, b"loop")
        await receiver.until(1)
    assert receiver.frames == [(1, 2, b"loop")]
