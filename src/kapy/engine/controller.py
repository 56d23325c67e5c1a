"""A controller: a queue of keys, filled by watches, worked off by a reconciler."""

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
from kapy.engine.failure import is_ordinary, is_ours, patience, told
from kapy.engine.measures import Measures
from kapy.engine.own_writes import OF_THIS_RECONCILE, OwnWrites
from kapy.engine.places import Places, take_place
from kapy.engine.queue import INITIAL, Queue
from kapy.engine.result import Result
from kapy.kube import Document, Key

log = logging.getLogger(__name__)

Reconcile: TypeAlias = Callable[[Key], Awaitable[Result]]
Mapper: TypeAlias = Callable[[Change], Iterable[Key]]
Gathering: TypeAlias = float | Callable[[Key], float]
"""Seconds to gather changes, or how many they are for a key: more where there is more to sum up."""

FIRST_RETRY: Final = 0.005
LONGEST_RETRY: Final = 1000.0
SUMMED_UP: Final = 0.05
"""Seconds to gather changes of objects that are only summed up (a set's Machines, a Cluster's
parts): too short to be felt, long enough for what one step of many objects sets off together."""
REPORTED: Final = 0.01
"""Seconds in which what somebody reports in several writes is taken in together."""
LONGEST_GATHERING: Final = 0.25
_UNHURRIED: Final = 0.02  # what a reconcile with two writes takes where there is nothing else to do


class Gate(Protocol):
    """Says what a controller may begin, and is told when that has ended."""

    def begin(self, key: Key) -> object | None:
        """A token, None where the key is somebody else's."""
        ...

    def end(self, token: object) -> None:
        """The work that was begun with this token has ended."""
        ...


def own_key(change: Change) -> Iterable[Key]:
    """The changed object itself."""
    return (Key.of(change.document),)


class Controller:
    """Level-based: a request carries a key, never an event. One key is never reconciled twice at
    the same time; different keys are, up to `concurrency`. An error backs off (5 ms … 1000 s, with
    jitter); a Result with `after` comes again then; changes win over both.

    hears_itself: whether what a reconcile wrote with a Draft is a change that wakes it, too.
    """

    def __init__(
        self,
        name: str,
        reconcile: Reconcile,
        *,
        concurrency: int = 10,
        hears_itself: bool = True,
    ) -> None:
        self.name = name
        self.random = Random()
        self.measures = Measures()
        self._reconcile = reconcile if hears_itself else partial(self._unheard, reconcile)
        self._hears_itself = hears_itself
        # Changes for keys that are being worked on, until it is known whose they are.
        self._meanwhile: dict[Key, list[tuple[Change, Gathering]]] = {}
        self.gate: Gate | None = None
        self.on_resync: Callable[[Key], None] | None = None
        self._is_ours: Callable[[Key], bool] | None = None
        self._group: asyncio.TaskGroup | None = None
        self._context = Context()  # of workers: not that of whoever asks when one is hired
        self._places = Places(concurrency, self._relieve)
        # Weak: informers of workload clusters come and go.
        self._watched: WeakKeyDictionary[Informer[Any], set[Mapper]] = WeakKeyDictionary()
        self._failures: dict[Key, int] = {}
        self._pace = 0.0  # seconds that a reconcile takes, a moving average
        self.queue = Queue(self.measures, self._hire)

    @property
    def concurrency(self) -> int:
        """How many keys are worked on at a time, those aside that wait for a cluster (`away`)."""
        return self._places.number

    @concurrency.setter
    def concurrency(self, number: int) -> None:
        self._places.number = number

    def surround(self, around: Callable[[Reconcile], Reconcile]) -> None:
        """Have something done around every reconcile."""
        self._reconcile = around(self._reconcile)

    def limit(self, informer: Informer[Any], selects: Callable[[Document], bool]) -> None:
        """Work only on objects of `informer` that `selects`, and on what is gone.

        An object that becomes one of them is news.
        """

        def came(change: Change) -> Iterable[Key]:
            new, old = change.new, change.old
            if new is not None and selects(new) and (old is None or not selects(old)):
                yield Key.of(new)

        def is_ours(key: Key) -> bool:
            document = informer.raw(key)
            return document is None or selects(document)

        self._is_ours = is_ours
        self.watch(informer, came)

    def watch(
        self,
        informer: Informer[Any],
        keys: Mapper = own_key,
        *,
        initial: int = INITIAL,
        gather: Gathering = 0.0,
    ) -> None:
        """Enqueue `keys(change)` on each change; calling it again with the same pair does nothing.

        Objects that are there already come with the priority `initial`: low, as in upstream's
        priority queue, so that what is news goes before them. gather: seconds to wait for more
        changes before working on one; for objects that are only summed up, many of which change
        at a time. What is gone is waited for, and gathered for `REPORTED` at most. More than that
        gets longer the longer reconciles take lately: a busy program does less, not more.
        """
        mappers = self._watched.setdefault(informer, set())
        if keys in mappers:
            return
        mappers.add(keys)
        queue = self.queue

        def handle(change: Change) -> None:
            for key in keys(change):
                if change.initial:
                    queue.add(key, initial)
                elif not self._hears_itself and key in queue.running:
                    self._meanwhile.setdefault(key, []).append((change, gather))
                else:
                    self._ask(key, change, gather)

        informer.subscribe(handle)

    def _ask(self, key: Key, change: Change, gather: Gathering) -> None:
        if gather and self.queue.is_open:
            within = gather(key) if callable(gather) else gather
            self.queue.gather(key, self._within(within, ended=change.new is None))
        else:
            self.queue.add(key)

    def _within(self, seconds: float, *, ended: bool) -> float:
        """How long changes are gathered that should be for so long."""
        if ended or seconds <= REPORTED:
            return min(seconds, REPORTED)
        # Nobody waits for it.
        longer = seconds * max(1.0, self._pace / _UNHURRIED)
        return min(longer, max(seconds, LONGEST_GATHERING))

    async def _unheard(self, reconcile: Reconcile, key: Key) -> Result:
        """One reconcile, which is not asked for again because of what it writes itself."""
        own = OwnWrites()
        token = OF_THIS_RECONCILE.set(own)
        try:
            return await reconcile(key)
        finally:
            OF_THIS_RECONCILE.reset(token)
            for change, gather in self._meanwhile.pop(key, ()):
                if not own.explain(change):
                    self._ask(key, change, gather)

    async def look(self, key: Key) -> Result:
        """One reconcile, past the queue: for who measures it while nothing else goes on."""
        return await self._reconcile(key)

    def enqueue(self, key: Key, *, priority: int = 0) -> None:
        """Ask for a reconcile of `key`, as soon as a worker is free."""
        self.queue.add(key, priority)

    def resync(self, key: Key) -> None:
        """Ask for a reconcile of `key` behind all that is news, although nothing is known to have
        changed. Who has noted that nothing is to be done is told first (`on_resync`)."""
        if self.on_resync is not None:
            self.on_resync(key)
        self.enqueue(key, priority=INITIAL)

    def waiting(self, key: Key) -> str | None:
        """Why the key waits for a timer ("requeue in 10s: …"), None when it waits for a change."""
        timer = self.queue.waiting(key)
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
                await self._staffed(group)
        finally:
            self._places.taken = 0
            self.queue.close()

    async def _staffed(self, group: asyncio.TaskGroup) -> None:
        """Let workers come until cancelled; a group that is ending takes no more."""
        self._group, self._context = group, copy_context()
        try:
            for _ in range(max(1, len(self.queue))):
                self._hire()
            await asyncio.get_running_loop().create_future()
        finally:
            self._group = None

    def _hire(self) -> None:
        """One worker more, if there may be: most programs never need all of them."""
        if self._group is not None and self._places.are_free:
            name = f"{self.name} worker {self._places.taken}"
            context = self._context.copy()
            context.run(take_place, self._places)
            self._group.create_task(self._work(), name=name, context=context)

    def _relieve(self) -> None:
        """Somebody waits, and takes no place meanwhile: let another one have it."""
        if len(self.queue):
            self._hire()

    async def _work(self) -> None:
        queue, measures, now = self.queue, self.measures, asyncio.get_running_loop().time
        this = asyncio.current_task()
        assert this is not None
        # A TaskGroup that fails in the moment in which it is cancelled tells only its failure
        # (CPython before 3.13): a reconcile may go on, but whoever is cancelled is no worker.
        while not this.cancelling():
            key = queue.take()
            if key is None:
                await queue.arrival()
                continue
            gate = self.gate
            token = self._begun(key, gate)
            if token is None:
                queue.done(key)
                continue
            try:
                result = await self._reconcile(key)
            except Exception as error:
                measures.finished("error", now() - queue.running[key])
                self._failed(key, error)
            else:
                after = result.after
                seconds = now() - queue.running[key]
                self._pace += (seconds - self._pace) / 8
                measures.finished("success" if after is None else "requeue_after", seconds)
                if self._failures:
                    self._failures.pop(key, None)
                if not queue.done(key) and after is not None:
                    queue.add_after(key, after.total_seconds(), result.because, retry=True)
            finally:
                if gate is not None:
                    gate.end(token)
            # A reconcile that never had to wait would keep the loop from everybody else.
            await asyncio.sleep(0)
            if self._places.are_short:
                self._places.taken -= 1
                return

    def _begun(self, key: Key, gate: Gate | None) -> object | None:
        """None where the key is not for this program; else what the gate is told at the end."""
        if self._is_ours is not None and not self._is_ours(key):
            return None
        return key if gate is None else gate.begin(key)

    def _failed(self, key: Key, error: Exception) -> None:
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        because = told(error)
        level = logging.DEBUG if is_ordinary(error) else logging.ERROR
        trace = None
        if not is_ours(error):
            trace = error
            self.measures.bugs += 1
        log.log(level, "%s: reconciling %s: %s", self.name, key, because, exc_info=trace)
        if self.queue.done(key):
            return
        delay = min(FIRST_RETRY * 2.0 ** min(failures, 32), LONGEST_RETRY)
        delay *= 0.75 + self.random.random() / 2
        self.queue.add_after(key, max(delay, patience(error)), because, retry=True)
