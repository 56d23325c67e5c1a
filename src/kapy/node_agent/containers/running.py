"""One container of an engine that runs, or ran, for a Pod; and its log."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from kapy._aio.clock import Clock
from kapy.containers import Container, Engine, EngineError, EngineUnreachable, NoSuchObject, Session
from kapy.node_agent.log_files import termination_message_of
from kapy.node_agent.runtime import Exit, LogQuery, StartFailed

AGAIN: Final = 1.0
"""Seconds between requests to an engine that does not answer. A timer, because no event shows that
the engine is available again."""
UNKNOWN: Final = 137
_ALIVE: Final = ("running", "paused", "restarting")
_LAST_LINES: Final = 50
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)")


class RunningContainer:
    """A container of an engine, as a `Running`.

    image: the running image, by digest if it has one. address: the address of the Pod. outdated:
    returns why the container must be restarted, "" if it need not. on_gone: called when the
    container has ended.
    """

    def __init__(
        self,
        engine: Engine,
        container: Container,
        *,
        kind: str,
        image: str,
        address: str,
        clock: Clock,
        outdated: Callable[[], str],
        on_gone: Callable[[], None],
    ) -> None:
        self._engine = engine
        self._container = container
        self._kind = kind
        self._image = image
        self._address = address
        self._clock = clock
        self._outdated = outdated
        self._gone = on_gone
        self._trouble = ""

    @property
    def identity(self) -> str:
        return f"{self._kind}://{self._container.id}"

    @property
    def image(self) -> str:
        return self._image

    @property
    def started(self) -> datetime:
        return _time_of(self._container.started) or self._clock()

    @property
    def address(self) -> str:
        return self._address

    @property
    def ports(self) -> Mapping[int, int]:
        return {}

    async def ended(self) -> Exit:
        name = self._container.id
        while True:
            try:
                result = await self._engine.container(name)
                if result is None or not is_alive(result):
                    return await self._exit(result)
                self._trouble = ""
                await self._engine.wait(name)
                continue
            except NoSuchObject:
                return await self._exit(None)
            except EngineError as error:
                self._trouble = str(error)
            await asyncio.sleep(AGAIN)

    async def _exit(self, container: Container | None) -> Exit:
        self._gone()
        self._trouble = ""
        if container is None:
            message = "its container was removed from the engine by another program"
            return Exit(UNKNOWN, "ContainerStatusUnknown", self._clock(), message)
        at = _time_of(container.finished) or self._clock()
        words = await self._last_words()
        if container.out_of_memory:
            message = "it used more memory than its limit"
            return Exit(container.exit_code, "OOMKilled", at, message, words)
        reason = "Error" if container.exit_code else "Completed"
        return Exit(container.exit_code, reason, at, container.error, words)

    async def _last_words(self) -> str:
        try:
            return termination_message_of(
                await self._engine.logs(self._container.id, lines=_LAST_LINES)
            )
        except EngineError:
            return ""

    async def stop(self, seconds: float) -> None:
        """Stop the container, and kill it after so many seconds; wait while the engine is
        unavailable."""
        while True:
            try:
                await self._engine.stop(self._container.id, seconds)
            except NoSuchObject:
                return
            except EngineError as error:
                self._trouble = str(error)
                if not isinstance(error, EngineUnreachable) and not await self._is_running():
                    return
            else:
                return
            await asyncio.sleep(AGAIN)

    async def _is_running(self) -> bool:
        try:
            result = await self._engine.container(self._container.id)
        except EngineError:
            return True
        return result is not None and is_alive(result)

    async def execute(self, command: Sequence[str], seconds: float) -> int:
        try:
            async with asyncio.timeout(seconds):
                result = await self._engine.run(self._container.id, command, privileged=False)
        except EngineError as error:
            raise StartFailed(str(error)) from None
        return result.exit_code

    async def run_session(self, command: Sequence[str], session: Session) -> int:
        try:
            rights = replace(session, privileged=False)
            return await self._engine.run_session(self._container.id, command, rights)
        except EngineError as error:
            raise StartFailed(str(error)) from None

    async def attach(self, session: Session) -> None:
        try:
            await self._engine.attach(self._container.id, session)
        except EngineError as error:
            raise StartFailed(str(error)) from None

    def outdated(self) -> str:
        return self._outdated()

    def trouble(self) -> str:
        return self._trouble


def is_alive(container: Container) -> bool:
    """Return whether a container has not ended: it runs or is paused."""
    return container.state in _ALIVE


def _time_of(text: str) -> datetime | None:
    """Parse a time of the engine; None for the year 1, which engines write for "never"."""
    match = _TIME.fullmatch(text)
    if match is None or text.startswith("0001"):
        return None
    zone = "+00:00" if match[3] == "Z" else match[3]
    return datetime.fromisoformat(f"{match[1]}{(match[2] or '')[:7]}{zone}").astimezone(UTC)


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
