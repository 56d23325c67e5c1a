"""A provider whose objects cost something: a cloud knows what is there, and what ever was."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from kapy.kube import Document, Key
from kapy.sdk import Result, Runtime, requeue
from kapy.testing.conformance.in_process import InProcess, Services
from kapy.testing.conformance.provider_under_test import ProviderUnderTest
from tests.testing.conformance.behaviour.mutants import subject
from tests.testing.conformance.behaviour.plain import RESOURCES, Plain, status

ROLES: Final = tuple(RESOURCES)


@dataclass
class Cloud:
    """room: how many things of each kind it has room for, 0: any number. most: the most that were
    there at a time. dies_with: how many things there are when the provider dies, once. holds:
    nothing is ever let go. forgets: no finalizer that got lost is set again."""

    room: int = 0
    dies_with: int = 0
    holds: bool = False
    forgets: bool = False
    there: set[tuple[str, str, str]] = field(default_factory=set)
    most: Counter[str] = field(default_factory=Counter)
    ever: int = 0
    full: asyncio.Event = field(default_factory=asyncio.Event)

    def make(self, entry: tuple[str, str, str]) -> bool:
        """Whether there is room for it."""
        count = sum(other[0] == entry[0] for other in self.there - {entry}) + 1
        if self.room and count > self.room:
            return False
        self.ever += entry not in self.there
        self.there.add(entry)
        self.most[entry[0]] = max(self.most[entry[0]], count)
        if self.dies_with and len(self.there) >= self.dies_with:
            self.dies_with = 0
            self.full.set()
        return True

    async def run(self) -> None:
        """Die at the time."""
        await self.full.wait()
        self.full.clear()
        raise OSError("the cloud is gone")


class NoRoom(Exception):
    """The cloud is full."""


class Costly(Plain):
    """A kind whose objects are in a cloud."""

    cloud: Cloud

    async def reconcile(self, key: Key) -> Result:
        try:
            return await super().reconcile(key)
        except NoRoom:
            return requeue(after=timedelta(seconds=5), because="there is no room")

    async def hold(self, document: Document) -> Document:
        if self.cloud.forgets and status(document).get("initialization"):
            return document
        return await super().hold(document)

    async def create(self, document: Document) -> None:
        if not self.cloud.make(self.place(document)):
            raise NoRoom
        await super().create(document)

    async def let_go(
        self, document: Document, owner: Document | None, cluster: Document | None
    ) -> None:
        if not self.cloud.holds:
            self.cloud.there.discard(self.place(document))
            await super().let_go(document, owner, cluster)

    def place(self, document: Document) -> tuple[str, str, str]:
        metadata = document["metadata"]
        return self.resource.kind, metadata["namespace"], metadata["name"]


def costly(cloud: Cloud) -> ProviderUnderTest:
    """Clusters, machines and pools of a cloud."""

    def add(runtime: Runtime) -> Services:
        for role in ROLES:
            type("OfCloud", (Costly,), {"cloud": cloud})(runtime, role)
        return {"cloud": cloud.run}

    subjects = [subject(Plain, role) for role in ROLES]
    kinds = tuple(kind for under_test in subjects for kind in under_test.kinds)
    return replace(subjects[0], kinds=kinds, launcher=InProcess(add))
