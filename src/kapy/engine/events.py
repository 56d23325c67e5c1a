"""Kubernetes Events (core/v1), as client-go's recorder writes them."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Final, Literal, NamedTuple

from kapy._aio.clock import Clock
from kapy._aio.tracing import current_trace_id
from kapy.client.client import Client
from kapy.engine.correlation import About, Correlator, Lru, Verdict
from kapy.engine.reflector import Backoff
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, KapyError, NotFound, ServerError, TooManyRequests
from kapy.kube.meta import Object
from kapy.kube.names import EVENTS
from kapy.kube.renamed import RenamedMember

log = logging.getLogger(__name__)

TRACE: Final = "kapy.cluster.x-k8s.io/trace-id"
"""Annotation of an event: the trace of what was done when it was recorded."""
QUEUED: Final = 1000
ATTEMPTS: Final = 12
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class _PendingEvent(NamedTuple):
    about: About
    message: str
    at: datetime
    trace: str


@dataclass(frozen=True, slots=True)
class _WrittenEvent:
    key: Key
    count: int


class EventWriter:
    """The event queue of a program, and the writer that empties it."""

    def __init__(self, client: Client, clock: Clock, random: Random | None = None) -> None:
        self._client = client
        self._clock = clock
        self._random = random or Random()
        self._queue: deque[_PendingEvent] = deque(maxlen=QUEUED)
        self._arrived = asyncio.Event()
        self._correlator = Correlator()
        self._written: Lru[_WrittenEvent] = Lru()
        self._last = 0

    def record(self, about: About, message: str) -> None:
        """Queue an event; a full queue drops the oldest."""
        self._queue.append(_PendingEvent(about, message, self._clock(), current_trace_id()))
        self._arrived.set()

    async def run(self) -> None:
        """Write queued events until cancelled."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while self._queue:
                recorded = self._queue.popleft()
                now = (recorded.at - _EPOCH).total_seconds()
                verdict = self._correlator.judge(recorded.about, recorded.message, now)
                if verdict is not None:
                    await self._write(recorded, verdict)

    async def _write(self, recorded: _PendingEvent, verdict: Verdict) -> None:
        """Try to write an event for a limited time: events are informational."""
        backoff = Backoff(self._random, longest=10.0)
        for _ in range(ATTEMPTS):
            try:
                await self._write_once(recorded, verdict)
                return
            except KapyError as error:
                if isinstance(error, ApiError) and not _may_pass(error):
                    log.info("event %s is dropped: %s", recorded.about.reason, error)
                    return
                await asyncio.sleep(backoff.next(error))
        log.info("event %s is dropped: the server does not answer", recorded.about.reason)

    async def _write_once(self, recorded: _PendingEvent, verdict: Verdict) -> None:
        earlier = self._written.get(verdict.identity)
        if earlier is not None:
            count = earlier.count + 1
            patch = {
                "count": count,
                "lastTimestamp": _rfc3339(recorded.at),
                "message": verdict.message,
            }
            try:
                await self._client.patch(EVENTS, earlier.key, patch)
            except NotFound:
                self._written.forget(verdict.identity)  # it has expired: start a new Event
            else:
                self._written.put(verdict.identity, _WrittenEvent(earlier.key, count))
                return
        event = self._event(recorded, verdict.message)
        await self._client.create(EVENTS, event)
        self._written.put(verdict.identity, _WrittenEvent(Key.of(event), 1))

    def _event(self, recorded: _PendingEvent, message: str) -> Document:
        about, at = recorded.about, _rfc3339(recorded.at)
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{about.name}.{self._nanoseconds(recorded.at):x}",
                "namespace": about.namespace or "default",
                **({"annotations": {TRACE: recorded.trace}} if recorded.trace else {}),
            },
            "involvedObject": _involved_object(about),
            "reason": about.reason,
            "message": message,
            "source": {"component": about.component},
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
            "type": about.type,
            "reportingComponent": about.component,
            "reportingInstance": "",
        }

    def _nanoseconds(self, at: datetime) -> int:
        """Return the moment in nanoseconds, moved forward if needed to keep event names unique."""
        since = at - _EPOCH
        now = (since.days * 86400 + since.seconds) * 1_000_000_000 + since.microseconds * 1000
        self._last = max(self._last + 1, now)
        return self._last


class Recorder:
    """Records events about objects without blocking the caller.

    Equal events are counted instead of written again; a full queue drops the oldest.
    """

    __slots__ = ("_component", "_journal")

    named = RenamedMember("for_component")

    def __init__(self, journal: EventWriter, component: str) -> None:
        self._journal = journal
        self._component = component

    def for_component(self, component: str) -> Recorder:
        """Return a recorder for one controller (`machine-controller`) with the same queue."""
        return Recorder(self._journal, component)

    def normal(self, about: Object | Document, reason: str, message: str) -> None:
        """Record an expected event."""
        self._record(about, "Normal", reason, message)

    def warning(self, about: Object | Document, reason: str, message: str) -> None:
        """Record an event that needs a person's attention."""
        self._record(about, "Warning", reason, message)

    async def run(self) -> None:
        """Write queued events until cancelled."""
        await self._journal.run()

    def _record(
        self,
        about: Object | Document,
        kind: Literal["Normal", "Warning"],
        reason: str,
        message: str,
    ) -> None:
        self._journal.record(_about(about, self._component, kind, reason), message)


def _about(about: Object | Document, component: str, kind: str, reason: str) -> About:
    if isinstance(about, Object):
        resource, metadata = about.RESOURCE, about.metadata
        return About(
            component,
            resource.kind,
            metadata.namespace,
            metadata.name,
            metadata.uid,
            resource.api_version,
            kind,
            reason,
        )
    result = about["metadata"]
    return About(
        component,
        about["kind"],
        result.get("namespace", ""),
        result["name"],
        result.get("uid", ""),
        about["apiVersion"],
        kind,
        reason,
    )


def _involved_object(about: About) -> Document:
    reference = {
        "kind": about.kind,
        "namespace": about.namespace,
        "name": about.name,
        "uid": about.uid,
        "apiVersion": about.api_version,
    }
    return {name: value for name, value in reference.items() if value}


def _rfc3339(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _may_pass(error: ApiError) -> bool:
    return isinstance(error, (ServerError, TooManyRequests))
