"""The pool of private keys that are generated in advance."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

import pytest

from kapy.engine import private_keys
from kapy.engine.private_keys import MOST_SPARE, PrivateKeyPool
from kapy.kube.pki import Algorithm


@pytest.fixture
def new_keys(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Every key that was made, in order; making one costs nothing here."""
    entry: list[bytes] = []
    numbers = count()

    def new_key(algorithm: Algorithm) -> bytes:
        entry.append(f"{algorithm} {next(numbers)}".encode())
        return entry[-1]

    monkeypatch.setattr(private_keys, "new_key", new_key)
    return entry


@asynccontextmanager
async def running(source: PrivateKeyPool) -> AsyncIterator[PrivateKeyPool]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(source.run())
        await asyncio.sleep(1)
        yield source
        task.cancel()


async def test_without_a_reserve_a_key_is_made_when_it_is_asked_for(new_keys: list[bytes]) -> None:
    async with running(PrivateKeyPool()):
        assert new_keys == []


async def test_a_reserve_is_filled_and_refilled_and_no_key_is_given_twice(
    new_keys: list[bytes],
) -> None:
    async with running(PrivateKeyPool(spare=3)) as source:
        assert len(new_keys) == 3
        first = [await source.new() for _ in range(3)]
        assert len(new_keys) == 3
        await asyncio.sleep(1)
        assert len(new_keys) == 6
        rest = [await source.new() for _ in range(5)]
    assert len({*first, *rest}) == 8


async def test_as_many_keys_are_kept_ready_as_were_wanted_at_once(new_keys: list[bytes]) -> None:
    async with running(PrivateKeyPool(spare=3)) as source:
        for _ in range(20):
            await source.new()
        await asyncio.sleep(1)
        before = len(new_keys)
        burst = [await source.new() for _ in range(20)]
        assert len(new_keys) == before
        assert len(set(burst)) == 20
        targets = []
        for _ in range(4):  # one key at a time is wanted from here on
            await asyncio.sleep(1)
            await source.new()
            targets.append(source.target)
        assert targets == [20, 10, 5, 3]


async def test_the_keys_that_are_kept_ready_are_limited(new_keys: list[bytes]) -> None:
    async with running(PrivateKeyPool(spare=3)) as source:
        for _ in range(MOST_SPARE + 100):
            await source.new()
        before = len(new_keys)
        await asyncio.sleep(1)
        assert len(new_keys) - before == MOST_SPARE


async def test_a_program_without_spare_keys_keeps_none_after_a_burst(new_keys: list[bytes]) -> None:
    async with running(PrivateKeyPool()) as source:
        for _ in range(20):
            await source.new()
        await asyncio.sleep(1)
    assert len(new_keys) == 20


async def test_only_the_usual_keys_are_kept_ready(new_keys: list[bytes]) -> None:
    async with running(PrivateKeyPool(spare=1)) as source:
        assert (await source.new("RSA-4096")).startswith(b"RSA-4096")
        assert (await source.new("ECDSA-P256")).startswith(b"ECDSA-P256")
        assert await source.new() == new_keys[0]


@pytest.mark.sockets
async def test_real_keys_are_made_in_threads_and_differ() -> None:
    source = PrivateKeyPool()
    data, other = await asyncio.gather(source.new(), source.new())
    assert data != other
    assert data.startswith(b"-----BEGIN RSA PRIVATE KEY-----")
