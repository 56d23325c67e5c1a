"""The watch log: the states of objects, one after another, as watches deliver them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import TypeAlias

from kapy.client.client import Client
from kapy.engine.cache import Cache, Change
from kapy.kube import Document, Key
from kapy.kube.names import Resource
from kapy.testing.conformance.write_log import Write, WriteLog

Holds: TypeAlias = Callable[[Document | None], bool]


class WatchLog:
    """The states of all objects of the watched kinds.

    write_log: receives the changes if no server records writes; None if one does.
    """

    def __init__(self, client: Client, write_log: WriteLog | None) -> None:
        self._cache = Cache(client)
        self._ledger = write_log
        self._states: defaultdict[tuple[Resource, Key], list[Document | None]] = defaultdict(list)
        self._waiting: defaultdict[tuple[Resource, Key], set[asyncio.Event]] = defaultdict(set)
        self._followed: set[Resource] = set()
        self._news: list[asyncio.Event] = []

    async def run(self) -> None:
        """Watch the kinds and record the states of their objects, until cancelled."""
        await self._cache.run()

    async def watch(self, resource: Resource) -> None:
        """Watch a kind, and wait for its initial list."""
        informer = self._cache.informer(resource)
        if resource not in self._followed:
            self._followed.add(resource)
            informer.subscribe(lambda change: self._record(resource, change))
        await informer.wait_for_sync()

    def states(self, resource: Resource, key: Key) -> list[Document]:
        """Return all states of an object, the oldest first."""
        return [item for item in self._states[resource, key] if item is not None]

    def latest(self, resource: Resource, key: Key) -> Document | None:
        """Return the current state of an object; None if it does not exist."""
        return self._last((resource, key))

    def change_event(self) -> asyncio.Event:
        """Return an event that is set at every change."""
        self._news.append(asyncio.Event())
        return self._news[-1]

    def all(self, resource: Resource) -> list[Document]:
        """Return the existing objects of a kind."""
        return [
            state[-1]
            for (kind, _), state in self._states.items()
            if kind is resource and state and state[-1] is not None
        ]

    async def until(
        self, resource: Resource, key: Key, holds: Holds, within: float
    ) -> tuple[bool, Document | None]:
        """Wait for a state of an object (None: it does not exist).

        Returns whether it was reached, and the last state.
        """
        news, place = asyncio.Event(), (resource, key)
        self._waiting[place].add(news)
        try:
            async with asyncio.timeout(within):
                while not holds(self._last(place)):
                    news.clear()
                    await news.wait()
        except TimeoutError:
            return False, self._last(place)
        finally:
            self._waiting[place].discard(news)
        return True, self._last(place)

    def _last(self, place: tuple[Resource, Key]) -> Document | None:
        state = self._states[place]
        return state[-1] if state else None

    def _record(self, resource: Resource, change: Change) -> None:
        key = Key.of(change.document)
        self._states[resource, key].append(change.new)
        if self._ledger is not None and change.new is not None and not change.initial:
            verb = "update" if change.old is not None else "create"
            self._ledger.add(Write(verb, resource.plural, resource.group, key, after=change.new))
        for item in (*self._waiting[resource, key], *self._news):
            item.set()
