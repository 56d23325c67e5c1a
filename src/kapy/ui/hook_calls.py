"""The last calls of runtime extensions, from the plane's stream of hook calls."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Final

from kapy._aio.clock import Clock
from kapy.client.client import Client
from kapy.engine.reflector import Backoff
from kapy.hooks.inspection import calls
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.ui.documents import moment_of, text_at

MOST_CALLS: Final = 2000
MAX_MESSAGE: Final = 500
LONGEST_PAUSE: Final = 60.0
"""The maximum seconds until the stream of calls is requested again."""


@dataclass(frozen=True, slots=True)
class HookCall:
    """The last call of one handler for one cluster. retry: the time when the handler is called
    again, None if it blocks nothing.
    """

    time: datetime
    hook: str
    handler: str
    seconds: float
    result: str
    message: str
    retry: datetime | None


class HookCalls:
    """Remembers the last call by cluster, hook and handler, while it runs."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._last: dict[tuple[Key, str, str], HookCall] = {}

    async def run(self) -> None:
        """Follow the calls; retry if the stream does not exist or the viewer may not read it, as
        both may change."""
        backoff = Backoff(Random(), longest=LONGEST_PAUSE)
        while True:
            with suppress(KapyError):
                async with calls(self._client, recall=True) as stream:
                    backoff.reset()
                    async for call in stream:
                        self._take(call)
            await asyncio.sleep(backoff.next())

    def of(self, cluster: Key) -> list[HookCall]:
        """Return the last calls about a cluster, the newest first."""
        calls = [call for (key, _, _), call in self._last.items() if key == cluster]
        return sorted(calls, key=lambda call: call.time, reverse=True)

    def _take(self, call: Document) -> None:
        subject = ("request", "cluster", "metadata")
        key = Key(text_at(call, *subject, "namespace"), text_at(call, *subject, "name"))
        place = (key, str(call.get("hook")), str(call.get("handler") or call.get("host")))
        self._last.pop(place, None)
        while len(self._last) >= MOST_CALLS:
            del self._last[next(iter(self._last))]
        self._last[place] = _call_of(call, place, moment_of(call.get("time")) or self._clock())


def _call_of(call: Document, place: tuple[Key, str, str], time: datetime) -> HookCall:
    response = call.get("response")
    response = response if isinstance(response, dict) else {}
    wait = response.get("retryAfterSeconds")
    retry = time + timedelta(seconds=wait) if isinstance(wait, int) and 0 < wait < 10**6 else None
    result = str(call.get("error") or response.get("status") or f"status code {call.get('code')}")
    message = str(response.get("message") or "")[:MAX_MESSAGE]
    seconds = float(call.get("seconds") or 0)
    return HookCall(time, place[1], place[2], seconds, result[:MAX_MESSAGE], message, retry)
