"""A controller: a queue of keys, filled by watches, worked off by a reconciler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias

from kapy.engine.cache import Change, Informer
from kapy.engine.result import Result
from kapy.kube import Key

Reconcile: TypeAlias = Callable[[Key], Awaitable[Result]]
Mapper: TypeAlias = Callable[[Change], Iterable[Key]]


def own_key(change: Change) -> Iterable[Key]:
    """The changed object itself."""
    return (Key.of(change.document),)


class Controller:
    """Level-based: a request carries a key, never an event. One key is never reconciled twice at
    the same time; different keys are, up to `concurrency`. An error backs off (5 ms … 1000 s, with
    jitter); a Result with `after` comes again then; changes win over both.
    """

    def __init__(self, name: str, reconcile: Reconcile, *, concurrency: int = 10) -> None:
        self.name = name

    def watch(self, informer: Informer[Any], keys: Mapper = own_key) -> None:
        """Enqueue `keys(change)` on each change; calling it again with the same pair does nothing.

        Objects of the first list come with low priority, as upstream's priority queue does.
        """

    def enqueue(self, key: Key, *, priority: int = 0) -> None:
        """Ask for a reconcile of `key`, as soon as a worker is free."""

    def waiting(self, key: Key) -> str | None:
        """Why the key waits for a timer ("requeue in 10s: …"), None when it waits for a change."""
        raise NotImplementedError

    async def run(self) -> None:
        """Work until cancelled; on cancellation, running reconciles are cancelled and awaited."""
