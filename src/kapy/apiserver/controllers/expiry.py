"""Expiry of Events: delete an Event that was not updated for an hour, like etcd's lease."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Final, NoReturn

from kapy.apiserver.controllers.queue import PATIENCE
from kapy.apiserver.controllers.writing import removed
from kapy.apiserver.plane import Plane
from kapy.apiserver.store.errors import StoreError
from kapy.apiserver.store.history import Happening
from kapy.kube import Document

LIFE: Final = timedelta(hours=1)
"""kube-apiserver's --event-ttl."""

_EVENTS: Final = "events"
_LATEST: Final = ("lastTimestamp", "eventTime", "firstTimestamp")


class Expiry:
    """Delete the expired Events of one server; `run` works until it is cancelled."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._ends: dict[tuple[str, str], datetime] = {}
        """Expiry times by key, in order: an updated Event moves to the end."""
        self._more = asyncio.Event()

    async def run(self) -> NoReturn:
        """Delete expired Events, then each Event when its time comes.

        This needs a timer, because no write signals that an Event expires.
        """
        self._begin()
        self._plane.store.listeners.append(self._noticed)
        try:
            while True:
                await self._pause()
                try:
                    self._end()
                except StoreError:  # the store refuses writes at present; clients get the reason
                    await asyncio.sleep(PATIENCE)
        finally:
            self._plane.store.listeners.remove(self._noticed)

    def _begin(self) -> None:
        events = self._plane.store.table(_EVENTS).content("").items()
        ends = {key: _renewed(event) + LIFE for key, event in events}
        self._ends = dict(sorted(ends.items(), key=lambda one: one[1]))

    def _noticed(self, one: Happening) -> None:
        if one.table != _EVENTS:
            return
        key = (one.namespace, one.name)
        self._ends.pop(key, None)
        if one.change != "DELETED":
            self._ends[key] = self._plane.clock() + LIFE
            self._more.set()

    async def _pause(self) -> None:
        while not self._ends:
            self._more.clear()
            await self._more.wait()
        left = next(iter(self._ends.values())) - self._plane.clock()
        await asyncio.sleep(max(left.total_seconds(), 0.0))

    def _end(self) -> None:
        now = self._plane.clock()
        due: list[tuple[str, str]] = []
        for key, end in self._ends.items():
            if end > now:
                break
            due.append(key)
        kind = self._plane.registry.find("", "v1", _EVENTS)
        assert kind is not None
        for key in due:
            event = self._plane.table(kind).latest(*key)
            if event is not None:
                removed(self._plane, kind, event)
            self._ends.pop(key, None)  # a store in memory has called the listener already


def _renewed(event: Document) -> datetime:
    """Return the time of an Event's last update, as its fields record it."""
    said = next((event[field] for field in _LATEST if event.get(field)), None)
    return datetime.fromisoformat(said or event["metadata"]["creationTimestamp"])
