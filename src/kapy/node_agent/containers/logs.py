"""Logs of containers, as the engine keeps them."""

from __future__ import annotations

from collections.abc import AsyncIterator

from kapy.containers import Engine, EngineError
from kapy.node_agent.runtime import LogQuery


async def lines_of(engine: Engine, name: str, query: LogQuery) -> AsyncIterator[bytes]:
    """A log in pieces; it ends where the engine does not answer any more."""
    remaining = query.limit
    try:
        async with engine.output(
            name,
            follow=query.follow is not None,
            tail=query.tail,
            since=query.since,
            timestamps=query.timestamps,
        ) as pieces:
            async for piece in pieces:
                if remaining is None:
                    yield piece
                    continue
                yield piece[:remaining]
                remaining -= len(piece)
                if remaining <= 0:
                    return
    except EngineError as error:
        yield f"\n{error}\n".encode()
