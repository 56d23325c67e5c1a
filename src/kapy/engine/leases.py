"""Leases of leader election: their documents, and how a candidate observes one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from kapy.client.stream import Event
from kapy.engine.store import version_of
from kapy.kube import Document, Key
from kapy.kube.meta import micro_time
from kapy.kube.names import LEASES


def lease_of(key: Key, spec: Document, labels: Mapping[str, str]) -> Document:
    """Return a new Lease."""
    metadata: Document = {"name": key.name, "namespace": key.namespace}
    if labels:
        metadata["labels"] = dict(labels)
    named = {"apiVersion": LEASES.api_version, "kind": LEASES.kind}
    return {**named, "metadata": metadata, "spec": spec}


def released_lease(lease: Document, now: datetime) -> Document:
    """Return the Lease without a holder."""
    free = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": micro_time(now)}
    return {**lease, "spec": {**(lease.get("spec") or {}), **free}}


class ObservedLease:
    """The last observed state of a Lease, and when it was observed by this program's clock.

    lease: the document, None before the first observation.
    """

    def __init__(self) -> None:
        self.holder = ""
        self.lease: Document | None = None
        self._lasts = 0.0
        self._since = 0.0
        self._given_up = asyncio.Event()

    def observe(self, lease: Document, *, is_current: bool = False) -> bool:
        """Record an observed Lease; return whether it is new.

        Only a changed Lease shows that its holder lives. is_current: whether it is the response to
        a request, not an event that may be late. An older version is then that of a server that was
        restored from a backup.
        """
        if self.lease is not None:
            version, last_version = version_of(lease), version_of(self.lease)
            if version == last_version or (version < last_version and not is_current):
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
        """Record that the Lease was deleted."""
        self.holder, self.lease = "", None
        self._given_up.set()

    def remaining(self, at_least: float) -> float:
        """Return the seconds until the Lease may be taken if it is not renewed."""
        if not self.holder:
            return 0.0
        ends = self._since + max(self._lasts, at_least)
        return max(0.0, ends - asyncio.get_running_loop().time())

    async def wait_until_free(self, at_least: float) -> None:
        """Wait until the Lease may be taken.

        A release is watched. The timer is the duration of the Lease: there is no event for a
        missing renewal.
        """
        while (remaining := self.remaining(at_least)) > 0:
            self._given_up.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(remaining):
                    await self._given_up.wait()

    async def replace(self, items: Sequence[Document], version: str) -> bool:
        """Handle a list from the reflector."""
        del version
        for lease in items:
            self.observe(lease)
        return True

    def rewind(self) -> None:
        """Accept any version of the Lease next: the server was restored."""
        self.lease = None

    def take(self, event: Event) -> None:
        """Handle an event from the reflector."""
        if event.type == "DELETED":
            self.forget()
        elif event.type in ("ADDED", "MODIFIED"):
            self.observe(event.document)
