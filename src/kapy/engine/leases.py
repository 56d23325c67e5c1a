"""Leases: how they are written, and how somebody sees one who would like to have it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from kapy.client.stream import Event
from kapy.engine.store import version_of
from kapy.kube import Document, Key
from kapy.kube.micro_time import micro_time
from kapy.kube.names import LEASES


def lease_of(key: Key, spec: Document, labels: Mapping[str, str]) -> Document:
    """A new Lease."""
    metadata: Document = {"name": key.name, "namespace": key.namespace}
    if labels:
        metadata["labels"] = dict(labels)
    named = {"apiVersion": LEASES.api_version, "kind": LEASES.kind}
    return {**named, "metadata": metadata, "spec": spec}


def given_up(lease: Document, now: datetime) -> Document:
    """A Lease that nobody holds any more."""
    free = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": micro_time(now)}
    return {**lease, "spec": {**(lease.get("spec") or {}), **free}}


class Seen:
    """A Lease as a program saw it last, and when that was by its own clock.

    lease: the document, None before it was seen.
    """

    def __init__(self) -> None:
        self.holder = ""
        self.lease: Document | None = None
        self._lasts = 0.0
        self._since = 0.0
        self._given_up = asyncio.Event()

    def note(self, lease: Document) -> bool:
        """It was read; True if it is news. Only a Lease that changed is a sign of life."""
        if self.lease is not None and version_of(lease) <= version_of(self.lease):
            return False
        spec = lease.get("spec") or {}
        self.lease = lease
        self.holder = spec.get("holderIdentity") or ""
        self._lasts = float(spec.get("leaseDurationSeconds") or 0)
        self._since = asyncio.get_running_loop().time()
        if not self.holder:
            self._given_up.set()
        return True

    def forget(self) -> None:
        """It is gone."""
        self.holder, self.lease = "", None
        self._given_up.set()

    def left(self, at_least: float) -> float:
        """Seconds until it may be taken, if nothing else happens."""
        if not self.holder:
            return 0.0
        ends = self._since + max(self._lasts, at_least)
        return max(0.0, ends - asyncio.get_running_loop().time())

    async def free(self, at_least: float) -> None:
        """Wait until it may be taken.

        Its holder giving it up is watched. The timer is the Lease's own: nothing tells that
        somebody does not renew.
        """
        while (left := self.left(at_least)) > 0:
            self._given_up.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._given_up.wait()

    def replace(self, items: Sequence[Document], version: str) -> bool:
        """Take in a list, for the reflector."""
        del version
        for lease in items:
            self.note(lease)
        return True

    def rewind(self) -> None:
        """The server was restored: its next answer is news, whatever its version."""
        self.lease = None

    def take(self, event: Event) -> None:
        """Take in an event, for the reflector."""
        if event.type == "DELETED":
            self.forget()
        elif event.type in ("ADDED", "MODIFIED"):
            self.note(event.document)
