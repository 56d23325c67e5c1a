"""Simulates kube-controller-manager in a workload cluster: it collects garbage, empties namespaces,
maintains the Pods of workloads and deletes expired bootstrap tokens.

Most clusters never need it. So it runs only after an object was stored that needs it, or after a
request listed workloads; one run handles all pending work. Tokens are deleted when the next token
is created, and not by a timer for each token of each cluster.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from kapy.api.times import moment
from kapy.apiserver.controllers.garbage_collector import GarbageCollector
from kapy.apiserver.controllers.namespaces import NamespaceController
from kapy.apiserver.controllers.workloads.workloads import TABLES
from kapy.apiserver.server import Server
from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.apiserver.verbs.direct_writes import delete_object
from kapy.kube import Document
from kapy.providers.inmemory.workload.workloads import SimulatedWorkloads

QUIET: Final = 10
"""The number of turns of the event loop without a write after which the work is complete."""

_FIRST_TURNS: Final = 4
"""Turns of work before the first look is answered: ReplicaSets, their Pods, what is told of those.
A large cluster has more to do, which `tidy` does."""

_HELD: Final = frozenset(("foregroundDeletion", "orphan"))

_SECRETS: Final = "secrets"
_SYSTEM: Final = "kube-system"
_TYPE: Final = "bootstrap.kubernetes.io/token"


class Housekeeping:
    """Notices when a server needs tidying. wake: called then, as often as that happens."""

    __slots__ = ("_deployed", "_owned", "_server", "_terminating", "_wake")

    def __init__(self, server: Server, wake: Callable[[], None]) -> None:
        self._server = server
        self._wake = wake
        self._deployed = SimulatedWorkloads(server.context)
        self._owned = False
        self._terminating: set[str] = set()
        server.store.listeners.append(self._notice)

    def begin(self) -> None:
        """Start to simulate workloads, so that the Pods of the add-ons exist."""
        self._deployed.start()
        for _ in range(_FIRST_TURNS):
            if self._deployed.is_dirty:
                self._deployed.reconcile()
        self._wake()

    async def tidy(self) -> None:
        """Collect garbage and empty terminating namespaces, until nothing changes any more."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(controller.run())
                for controller in (
                    GarbageCollector(self._server.context),
                    _namespaces(self._server),
                )
            ]
            revision, quiet = self._server.store.revision, 0
            while quiet < QUIET:
                if self._deployed.is_dirty:
                    self._deployed.reconcile()
                await asyncio.sleep(0)
                quiet = quiet + 1 if self._server.store.revision == revision else 0
                revision = self._server.store.revision
            for task in tasks:
                task.cancel()

    def _notice(self, write_event: WriteEvent) -> None:
        if write_event.table in TABLES and self._deployed.on_write(write_event):
            self._wake()
        metadata = write_event.document["metadata"]
        removal = write_event.change == "DELETED"
        if write_event.table == "namespaces":
            if removal:
                self._terminating.discard(write_event.name)
            elif metadata.get("deletionTimestamp"):
                self._terminating.add(write_event.name)
        if metadata.get("ownerReferences"):
            self._owned = True
        if (
            (self._owned and (removal or metadata.get("ownerReferences")))
            or (metadata.get("deletionTimestamp") and _HELD & {*metadata.get("finalizers", ())})
            or (
                self._terminating
                and (write_event.namespace or write_event.name) in self._terminating
            )
        ):
            self._wake()


def _namespaces(server: Server) -> NamespaceController:
    return NamespaceController(server.context)


class TokenCleaner:
    """Deletes the expired bootstrap tokens of one workload cluster. It reads all tokens only when
    one has expired, since each new worker has a token of its own.
    """

    __slots__ = ("_ends", "_first", "_is_due", "_server")

    def __init__(self, server: Server) -> None:
        self._server = server
        self._is_due = False
        self._ends: dict[str, datetime] = {}  # by the name of a token
        self._first: datetime | None = None  # no token ends before this
        server.store.listeners.append(self._on_write)

    def _on_write(self, event: WriteEvent) -> None:
        if event.table != _SECRETS or event.namespace != _SYSTEM:
            return
        end = _expiration(event.document) if event.document.get("type") == _TYPE else ""
        if event.change == "DELETED" or not end:
            self._ends.pop(event.name, None)
            return
        self._ends[event.name] = moment(end)
        self._first = min(moment(end), self._first or moment(end))
        if event.change == "ADDED" and not self._is_due and self._has_expired():
            self._is_due = True
            # A listener of the store does not write.
            asyncio.get_running_loop().call_soon(self._delete)

    def _has_expired(self) -> bool:
        """Return whether a token has expired."""
        now = self._server.context.clock()
        if self._first is None or self._first > now:
            return False
        self._first = min(self._ends.values(), default=None)
        return self._first is not None and self._first <= now

    def _delete(self) -> None:
        self._is_due = False
        context = self._server.context
        kind = context.registry.find("", "v1", _SECRETS)
        assert kind is not None
        for secret in list(self._expired()):
            delete_object(context, kind, secret)

    def _expired(self) -> Iterator[Document]:
        now = self._server.context.clock()
        for secret in self._server.store.table(_SECRETS).scan(_SYSTEM):
            if secret.get("type") == _TYPE:
                end = _expiration(secret)
                if end and moment(end) <= now:
                    yield secret


def _expiration(secret: Document) -> str:
    """Return when a token expires, "" if it does not or if that cannot be read."""
    try:
        text = b64decode((secret.get("data") or {}).get("expiration") or "").decode()
        moment(text)
    except (BadBase64, ValueError):
        return ""
    return text
