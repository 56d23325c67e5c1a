"""The clusters that a viewer may see, kept up to date by watches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from random import Random
from time import perf_counter
from typing import Final

from kapy.client.client import Client
from kapy.client.stream import Event
from kapy.clusterctl.describe.source import CLUSTERS
from kapy.engine.reflector import Reflector
from kapy.kube import Document, Key
from kapy.ui.documents import without_managed_fields
from kapy.ui.live import Subscription
from kapy.ui.rows import ClusterRow, row_of

SLICE: Final = 0.02
"""Seconds for which rows are computed before other work of the event loop gets its turn."""


class Fleet:
    """The rows of all clusters of some namespaces.

    namespaces: [""] for all. failure: why the rows may be out of date, None if they are not.
    version: changes with each changed row, and differs between fleets.
    """

    def __init__(self, client: Client, namespaces: Sequence[str], random: Random) -> None:
        self.namespaces = tuple(namespaces)
        self._reflectors = [
            Reflector(client, CLUSTERS, _Sink(self, name), random, namespace=name)
            for name in namespaces
        ]
        for reflector in self._reflectors:
            reflector.transform = without_managed_fields
        self._rows: dict[Key, ClusterRow] = {}
        self._pending: dict[Key, Document | None] = {}
        self._subscriptions: set[Subscription] = set()
        self._refreshing = asyncio.Lock()
        self.version = random.getrandbits(48)

    async def run(self) -> None:
        """Follow the clusters until cancelled."""
        async with asyncio.TaskGroup() as group:
            for reflector in self._reflectors:
                group.create_task(reflector.run())
            await asyncio.Event().wait()  # do not end if there is no namespace

    async def rows(self) -> list[ClusterRow]:
        """Return the rows as of now; the first call waits for the first list."""
        for reflector in self._reflectors:
            await reflector.wait_for_first_attempt()
        await self._current_version()
        return list(self._rows.values())

    async def _current_version(self) -> int:
        """Return the version as of now: compute the rows that have changed, in slices of time."""
        async with self._refreshing:
            while self._pending:
                started = perf_counter()
                for key in list(self._pending):
                    if perf_counter() - started > SLICE:
                        break
                    self._refresh(key, self._pending.pop(key))
                await asyncio.sleep(0)
        return self.version

    def _refresh(self, key: Key, cluster: Document | None) -> None:
        row = None if cluster is None else row_of(cluster)
        if row != self._rows.get(key):
            self.version += 1
            if row is None:
                del self._rows[key]
            else:
                self._rows[key] = row

    @property
    def failure(self) -> Exception | None:
        """Why the rows may be out of date; None if they are up to date."""
        failures = (reflector.failure for reflector in self._reflectors)
        return next(filter(None, failures), None)

    @property
    def is_watched(self) -> bool:
        """Report whether an open page follows the fleet."""
        return bool(self._subscriptions)

    @asynccontextmanager
    async def subscribe(self, last: int | None = None) -> AsyncIterator[Subscription]:
        """A subscription to changes since a version, for as long as the context is open."""
        subscription = Subscription(self._current_version, last)
        self._subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)

    def end_streams(self) -> None:
        """End the streams of all open pages, because this fleet is not updated any more; pages
        reconnect."""
        for subscription in self._subscriptions:
            subscription.end()

    def put(self, key: Key, cluster: Document | None) -> None:
        """Record the new state of a cluster, None if it is gone."""
        self._pending[key] = cluster
        for subscription in self._subscriptions:
            subscription.changed.set()

    def keys(self, namespace: str) -> set[Key]:
        """Return the known clusters of a namespace ("" for all)."""
        listed = {key for key in self._rows if namespace in ("", key.namespace)}
        return listed.union(key for key in self._pending if namespace in ("", key.namespace))


class _Sink:
    """Takes the clusters of one namespace from its reflector."""

    def __init__(self, fleet: Fleet, namespace: str) -> None:
        self._fleet = fleet
        self.namespace = namespace

    async def replace(self, items: Sequence[Document], version: str) -> bool:  # noqa: ARG002
        current = {Key.of(item): item for item in items}
        for key in self._fleet.keys(self.namespace) - current.keys():
            self._fleet.put(key, None)
        for key, cluster in current.items():
            self._fleet.put(key, cluster)
        return True

    def rewind(self) -> None:
        """Do nothing: `replace` accepts any list."""

    def take(self, event: Event) -> None:
        if event.type != "BOOKMARK":
            is_deleted = event.type == "DELETED"
            self._fleet.put(Key.of(event.document), None if is_deleted else event.document)
