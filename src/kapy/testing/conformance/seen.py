"""What objects looked like, one state after another, as our watches tell."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import TypeAlias

from kapy.client.client import Client
from kapy.engine.cache import Cache, Change
from kapy.kube import Document, Key
from kapy.kube.names import Resource
from kapy.testing.conformance.heard import Ledger, Write

Holds: TypeAlias = Callable[[Document | None], bool]


class Seen:
    """The states of all objects of the kinds that are followed.

    ledger: told of changes, where no server tells of writes; None where one does.
    """

    def __init__(self, client: Client, ledger: Ledger | None) -> None:
        self._cache = Cache(client)
        self._ledger = ledger
        self._states: defaultdict[tuple[Resource, Key], list[Document | None]] = defaultdict(list)
        self._waiting: defaultdict[tuple[Resource, Key], set[asyncio.Event]] = defaultdict(set)
        self._followed: set[Resource] = set()
        self._news: list[asyncio.Event] = []

    async def run(self) -> None:
        """Watch, until cancelled."""
        await self._cache.run()

    async def follow(self, resource: Resource) -> None:
        """Begin with a kind, and wait until what is there is known."""
        informer = self._cache.informer(resource)
        if resource not in self._followed:
            self._followed.add(resource)
            informer.subscribe(lambda change: self._changed(resource, change))
        await informer.synced()

    def states(self, resource: Resource, key: Key) -> list[Document]:
        """Each state that an object was in, the oldest first."""
        return [one for one in self._states[resource, key] if one is not None]

    def last(self, resource: Resource, key: Key) -> Document | None:
        """The state of an object now; None where it is not there."""
        return self._last((resource, key))

    def news(self) -> asyncio.Event:
        """Set whenever anything changes."""
        self._news.append(asyncio.Event())
        return self._news[-1]

    def all(self, resource: Resource) -> list[Document]:
        """The objects of a kind that there are."""
        return [
            found[-1]
            for (kind, _), found in self._states.items()
            if kind is resource and found and found[-1] is not None
        ]

    async def until(
        self, resource: Resource, key: Key, holds: Holds, within: float
    ) -> tuple[bool, Document | None]:
        """Wait until its state (None: it is not there) is as it should be.

        Returns whether that came, and the last state.
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
        found = self._states[place]
        return found[-1] if found else None

    def _changed(self, resource: Resource, change: Change) -> None:
        key = Key.of(change.document)
        self._states[resource, key].append(change.new)
        if self._ledger is not None and change.new is not None and not change.initial:
            verb = "update" if change.old is not None else "create"
            self._ledger.add(Write(verb, resource.plural, resource.group, key, after=change.new))
        for one in (*self._waiting[resource, key], *self._news):
            one.set()
