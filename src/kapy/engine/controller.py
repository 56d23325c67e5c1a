"""A controller: a queue of keys, filled by watches and processed by a reconciler."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextvars import Context, copy_context
from functools import partial
from random import Random
from typing import Any, Final, Protocol, TypeAlias
from weakref import WeakKeyDictionary

from kapy.engine.cache import Change, Informer
from kapy.engine.counters import Counters
from kapy.engine.own_writes import OF_THIS_RECONCILE, OwnWrites
from kapy.engine.queue import INITIAL, Queue
from kapy.engine.reconcile_log import CURRENT, ReconcileContext
from kapy.engine.result import Result, describe_error, is_expected, is_transient, retry_after
from kapy.engine.worker_slots import TurnLimit, WorkerSlots, occupy_slot
from kapy.kube import Document, Key
from kapy.kube.renamed import RenamedMember, renamed_arguments

log = logging.getLogger(__name__)

Reconcile: TypeAlias = Callable[[Key], Awaitable[Result]]
Mapper: TypeAlias = Callable[[Change], Iterable[Key]]
Debounce: TypeAlias = float | Callable[[Key], float]
"""Seconds to gather changes, or how many they are for a key: more where there is more to sum up."""

FIRST_RETRY: Final = 0.005
LONGEST_RETRY: Final = 1000.0
AGGREGATE_DEBOUNCE: Final = 0.05
"""Seconds to gather changes of objects that are only summed up (a set's Machines, a Cluster's
parts): too short to be felt, long enough for what one step of many objects sets off together."""
STATUS_DEBOUNCE: Final = 0.01
"""Seconds in which what somebody reports in several writes is taken in together."""
LONGEST_DEBOUNCE: Final = 0.25
_USUAL_DURATION: Final = 0.02  # seconds that a reconcile with two writes takes on an idle machine


class Gate(Protocol):
    """Decides which keys a controller may process, and records the end of their processing."""

    def begin(self, key: Key) -> object | None:
        """Return a token if the key may be processed, None if another program owns it."""
        ...

    def end(self, token: object) -> None:
        """Record that the processing of the key with this token has ended."""
        ...


def own_key(change: Change) -> Iterable[Key]:
    """Map a change to the key of the changed object."""
    return (Key.of(change.document),)


class Controller:
    """A controller: it reconciles the keys in its work queue.

    It is level-based: a request carries a key, never an event. One key is never reconciled twice at
    the same time; up to `concurrency` different keys are. An error backs off (5 ms … 1000 s, with
    jitter); a Result with `after` requeues the key at that time; changes take precedence over both.
    requeue_on_own_writes: whether a change that a reconcile itself wrote through a Draft requeues
    the key.
    """

    surround = RenamedMember("wrap_reconcile")
    limit = RenamedMember("add_predicate")
    look = RenamedMember("reconcile_once")
    waiting = RenamedMember("wait_reason")

    @renamed_arguments(hears_itself="requeue_on_own_writes")
    def __init__(
        self,
        name: str,
        reconcile: Reconcile,
        *,
        concurrency: int = 10,
        requeue_on_own_writes: bool = True,
    ) -> None:
        self.name = name
        self.random = Random()
        self.counters = Counters()
        self._reconcile = (
            reconcile
            if requeue_on_own_writes
            else partial(self._reconcile_ignoring_own_writes, reconcile)
        )
        self._requeues_on_own_writes = requeue_on_own_writes
        # Changes of keys that are being reconciled, until it is known who made them.
        self._changes_during_reconcile: dict[Key, list[tuple[Change, Debounce]]] = {}
        self.gate: Gate | None = None
        self.turns = TurnLimit()  # that of the whole program, if a Runtime runs this
        self.on_resync: Callable[[Key], None] | None = None
        self._predicate: Callable[[Key], bool] | None = None
        self._group: asyncio.TaskGroup | None = None
        self._context = Context()  # the workers' context, independent of the caller's
        self._slots = WorkerSlots(concurrency, self._fill_free_slot)
        # Weak references: informers of workload clusters come and go.
        self._watched: WeakKeyDictionary[Informer[Any], set[Mapper]] = WeakKeyDictionary()
        self._failures: dict[Key, int] = {}
        self._average_duration = 0.0  # moving average of reconcile durations in seconds
        self.queue = Queue(self.counters, self._spawn_worker)

    @property
    def concurrency(self) -> int:
        """The most keys that are reconciled at a time, except for those that yielded their slot."""
        return self._slots.number

    @concurrency.setter
    def concurrency(self, number: int) -> None:
        """The most keys that are reconciled at a time, except for those that yielded their slot."""
        self._slots.number = number

    def wrap_reconcile(self, around: Callable[[Reconcile], Reconcile]) -> None:
        """Replace the reconcile function by `around` applied to it."""
        self._reconcile = around(self._reconcile)

    def add_predicate(self, informer: Informer[Any], selects: Callable[[Document], bool]) -> None:
        """Reconcile only objects of `informer` that the predicate accepts, and deleted ones.

        An object that begins to match is enqueued.
        """

        def came(change: Change) -> Iterable[Key]:
            new, old = change.new, change.old
            if new is not None and selects(new) and (old is None or not selects(old)):
                yield Key.of(new)

        def is_ours(key: Key) -> bool:
            document = informer.raw(key)
            return document is None or selects(document)

        self._predicate = is_ours
        self.watch(informer, came)

    @renamed_arguments(keys="mapper", gather="debounce")
    def watch(
        self,
        informer: Informer[Any],
        mapper: Mapper = own_key,
        *,
        initial: int = INITIAL,
        debounce: Debounce = 0.0,
    ) -> None:
        """Enqueue the keys that `mapper` returns for each change; a second call with the same pair
        does nothing.

        Existing objects get the priority `initial`, which is low as in upstream's priority queue,
        so that changes go first. debounce: seconds to wait for more changes before the key is
        reconciled; for objects that are aggregated and often change together. Deletions wait for
        `STATUS_DEBOUNCE` at most. Longer debounce times grow with the average duration of recent
        reconciles, so that a busy program does less work.
        """
        mappers = self._watched.setdefault(informer, set())
        if mapper in mappers:
            return
        mappers.add(mapper)
        queue = self.queue

        def handle(change: Change) -> None:
            for key in mapper(change):
                if change.initial:
                    queue.add(key, initial)
                elif not self._requeues_on_own_writes and key in queue.running:
                    self._changes_during_reconcile.setdefault(key, []).append((change, debounce))
                else:
                    self._enqueue_change(key, change, debounce)

        informer.subscribe(handle)

    def _enqueue_change(self, key: Key, change: Change, debounce: Debounce) -> None:
        if debounce and self.queue.is_open:
            within = debounce(key) if callable(debounce) else debounce
            self.queue.add_debounced(key, self._debounce_time(within, ended=change.new is None))
        else:
            self.queue.add(key)

    def _debounce_time(self, seconds: float, *, ended: bool) -> float:
        """Return for how long a change is debounced."""
        if ended or seconds <= STATUS_DEBOUNCE:
            return min(seconds, STATUS_DEBOUNCE)
        # No one waits for these objects.
        longer = seconds * max(1.0, self._average_duration / _USUAL_DURATION)
        return min(longer, max(seconds, LONGEST_DEBOUNCE))

    async def _reconcile_ignoring_own_writes(self, reconcile: Reconcile, key: Key) -> Result:
        """Reconcile a key without being requeued by the reconcile's own writes."""
        own = OwnWrites()
        token = OF_THIS_RECONCILE.set(own)
        try:
            return await reconcile(key)
        finally:
            OF_THIS_RECONCILE.reset(token)
            for change, debounce in self._changes_during_reconcile.pop(key, ()):
                if not own.explains(change):
                    self._enqueue_change(key, change, debounce)

    async def reconcile_once(self, key: Key) -> Result:
        """Reconcile a key directly, bypassing the queue: for measurements."""
        return await self._reconcile(key)

    def enqueue(self, key: Key, *, priority: int = 0) -> None:
        """Request a reconcile of `key` as soon as a worker is free."""
        self.queue.add(key, priority)

    def resync(self, key: Key) -> None:
        """Request a reconcile of `key` with low priority although no change is known.

        `on_resync` is called first, so that memoized results can be dropped.
        """
        if self.on_resync is not None:
            self.on_resync(key)
        self.enqueue(key, priority=INITIAL)

    @property
    def is_retrying(self) -> bool:
        """Return whether the last reconcile of any key failed."""
        return bool(self._failures)

    def wait_reason(self, key: Key) -> str | None:
        """Return why the key waits for a timer ("requeue in 10s: …"), None if it waits for a
        change.
        """
        timer = self.queue.timer_of(key)
        if timer is None:
            return None
        due, because = timer
        seconds = max(0.0, due - asyncio.get_running_loop().time())
        kind = "retry" if key in self._failures else "requeue"
        return f"{kind} in {seconds:.3g}s: {because}"

    async def run(self) -> None:
        """Work until cancelled; on cancellation, running reconciles are cancelled and awaited."""
        self.queue.open()
        try:
            async with asyncio.TaskGroup() as group:
                await self._run_workers(group)
        finally:
            self._slots.used = 0
            self.queue.close()

    async def _run_workers(self, group: asyncio.TaskGroup) -> None:
        """Run workers until cancelled; a TaskGroup that is ending accepts no more."""
        self._group, self._context = group, copy_context()
        try:
            for _ in range(max(1, len(self.queue))):
                self._spawn_worker()
            await asyncio.get_running_loop().create_future()
        finally:
            self._group = None

    def _spawn_worker(self) -> None:
        """Start one more worker if a slot is free: most programs never need all of them."""
        if self._group is not None and self._slots.has_free_slot:
            name = f"{self.name} worker {self._slots.used}"
            context = self._context.copy()
            context.run(occupy_slot, self._slots)
            self._group.create_task(self._work(), name=name, context=context)

    def _fill_free_slot(self) -> None:
        """Let another worker use a slot that a waiting worker has yielded."""
        if len(self.queue):
            self._spawn_worker()

    async def _work(self) -> None:
        queue, measures, now = self.queue, self.counters, asyncio.get_running_loop().time
        this = asyncio.current_task()
        assert this is not None
        # Before CPython 3.13, a TaskGroup that fails while it is cancelled raises only its failure.
        # A reconcile may finish, but a cancelled worker must end.
        while not this.cancelling():
            key = await self._take_key()
            if key is None:
                continue
            gate = self.gate
            token = self._begin(key, gate)
            if token is None:
                queue.done(key)
                continue
            context = ReconcileContext(self.name, key)
            CURRENT.set(context)
            try:
                result = await self._reconcile(key)
            except Exception as error:
                measures.count_reconcile("error", now() - queue.running[key])
                self._handle_failure(key, error)
            else:
                after = result.after
                seconds = now() - queue.running[key]
                self._average_duration += (seconds - self._average_duration) / 8
                measures.count_reconcile("success" if after is None else "requeue_after", seconds)
                if self._failures:
                    self._failures.pop(key, None)
                if not queue.done(key) and after is not None:
                    log.debug("requeue in %s: %s", after, result.reason)
                    queue.add_after(key, after.total_seconds(), result.reason, retry=True)
            finally:
                context.end()
                if gate is not None:
                    gate.end(token)
            # A reconcile that never waits would block the event loop.
            await asyncio.sleep(0)
            if self._slots.is_overcommitted:
                self._slots.used -= 1
                return

    async def _take_key(self) -> Key | None:
        """Wait for a key and for a turn; return None if another worker has taken the key."""
        if not len(self.queue):
            await self.queue.wait_for_key()
        await self.turns.wait()
        return self.queue.take()

    def _begin(self, key: Key, gate: Gate | None) -> object | None:
        """Return the gate's token for a key, None if the key must not be processed here."""
        if self._predicate is not None and not self._predicate(key):
            return None
        return key if gate is None else gate.begin(key)

    def _handle_failure(self, key: Key, error: Exception) -> None:
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        because = describe_error(error)
        level = logging.DEBUG if is_transient(error) else logging.ERROR
        trace = None
        if not is_expected(error):
            trace = error
            self.counters.bugs += 1
        log.log(level, "%s: reconciling %s: %s", self.name, key, because, exc_info=trace)
        if self.queue.done(key):
            return
        delay = min(FIRST_RETRY * 2.0 ** min(failures, 32), LONGEST_RETRY)
        delay *= 0.75 + self.random.random() / 2
        self.queue.add_after(key, max(delay, retry_after(error)), because, retry=True)
