"""An event loop on virtual time whose order of ready tasks comes from a seed."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from heapq import heapify
from random import Random
from typing import Any, Final, Protocol

from kapy.testing.virtual_time import VirtualTimeLoop


class Stoppable(Protocol):
    """A process that can be stopped as with SIGSTOP. stopped_until: until when it stands still."""

    stopped_until: float


PROCESS: Final[ContextVar[Stoppable | None]] = ContextVar("process", default=None)
"""The process whose code runs."""


class SimulationLoop(VirtualTimeLoop):
    """A loop that permutes the tasks that are ready at the same moment.

    The same seed gives the same order. `turns` counts the permuted iterations. `on_jump` is called
    before time jumps, with the seconds.
    """

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self._order = Random(f"{seed}/order of tasks")
        self.turns = 0
        self.is_shuffled = False
        self.on_jump: Callable[[float], None] = lambda _: None
        self._stopped_until = -1.0
        self._held: list[Any] = []

    def stop_process(self, process: Stoppable, until: float) -> None:
        """Let nothing of a process run until a time: neither its tasks nor its timers."""
        process.stopped_until = until
        self._stopped_until = max(self._stopped_until, until)
        timers: list[Any] = self._scheduled  # type: ignore[attr-defined]
        for timer in timers:
            timer._when = max(timer._when, _end_of_stop(timer._context))
        heapify(timers)
        self.call_at(until, lambda: None)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Context | None = None
    ) -> Any:
        """Schedule a call; not before the end of a stop."""
        if self.time() < self._stopped_until:
            when = max(when, _end_of_stop(context or copy_context()))
        return super().call_at(when, callback, *args, context=context)

    def jump(self, seconds: float) -> None:
        """Let time pass while every task sleeps."""
        self.on_jump(seconds)
        super().jump(seconds)

    def _run_once(self) -> None:
        ready: deque[Any] = self._ready  # type: ignore[attr-defined]
        if self._held or self.time() < self._stopped_until:
            self._hold(ready)
        if self.is_shuffled and len(ready) > 1:
            self.turns += 1
            handles = list(ready)
            self._order.shuffle(handles)
            ready.clear()
            ready.extend(handles)
        super()._run_once()  # type: ignore[misc]

    def _hold(self, ready: deque[Any]) -> None:
        """Hold back what belongs to stopped processes."""
        handles = [*self._held, *ready]
        ready.clear()
        self._held.clear()
        for handle in handles:
            is_stopped = self.time() < _end_of_stop(handle._context)
            (self._held if is_stopped else ready).append(handle)


def _end_of_stop(context: Context) -> float:
    process = context.get(PROCESS)
    return -1.0 if process is None else process.stopped_until


class deterministic_collection:  # noqa: N801
    """No garbage collection while the context is open: finalizers of cycles run at a moment that
    depends on the process."""

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_enabled:
            gc.enable()
