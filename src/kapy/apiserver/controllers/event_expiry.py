"""Expiry of Events: delete an Event that was not updated for an hour, like etcd's lease."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Final, NoReturn

from kapy.apiserver.controllers.work_queue import PATIENCE
from kapy.apiserver.store.errors import StoreError
from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.direct_writes import delete_object
from kapy.kube import Document

LIFE: Final = timedelta(hours=1)
"""kube-apiserver's --event-ttl."""

_EVENTS: Final = "events"
_LATEST: Final = ("lastTimestamp", "eventTime", "firstTimestamp")


class EventExpiry:
    """Delete the expired Events of one server; `run` works until it is cancelled."""

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        self._ends: dict[tuple[str, str], datetime] = {}
        """Expiry times by key, in order: an updated Event moves to the end."""
        self._more = asyncio.Event()

    async def run(self) -> NoReturn:
        """Delete expired Events, then each Event when its time comes.

        This needs a timer, because no write signals that an Event expires.
        """
        self._list_events()
        self._server.store.listeners.append(self._on_write)
        try:
            while True:
                await self._seconds_to_next()
                try:
                    self._delete_expired()
                except StoreError:  # the store refuses writes at present; clients get the reason
                    await asyncio.sleep(PATIENCE)
        finally:
            self._server.store.listeners.remove(self._on_write)

    def _list_events(self) -> None:
        events = self._server.store.table(_EVENTS).content("").items()
        ends = {key: _last_update(event) + LIFE for key, event in events}
        self._ends = dict(sorted(ends.items(), key=lambda entry: entry[1]))

    def _on_write(self, event: WriteEvent) -> None:
        if event.table != _EVENTS:
            return
        key = (event.namespace, event.name)
        self._ends.pop(key, None)
        if event.change != "DELETED":
            self._ends[key] = self._server.clock() + LIFE
            self._more.set()

    async def _seconds_to_next(self) -> None:
        while not self._ends:
            self._more.clear()
            await self._more.wait()
        remaining = next(iter(self._ends.values())) - self._server.clock()
        await asyncio.sleep(max(remaining.total_seconds(), 0.0))

    def _delete_expired(self) -> None:
        now = self._server.clock()
        due: list[tuple[str, str]] = []
        for key, end in self._ends.items():
            if end > now:
                break
            due.append(key)
        kind = self._server.registry.find("", "v1", _EVENTS)
        assert kind is not None
        for key in due:
            event = self._server.table(kind).latest(*key)
            if event is not None:
                delete_object(self._server, kind, event)
            self._ends.pop(key, None)  # a store in memory has called the listener already


def _last_update(event: Document) -> datetime:
    """Return the time of an Event's last update, as its fields record it."""
    result = next((event[field] for field in _LATEST if event.get(field)), None)
    return datetime.fromisoformat(result or event["metadata"]["creationTimestamp"])
