"""Work for one machine that takes too long for a reconcile: pulls, waiting for systemd, boot data.

A task has operations, one after the other. Each change of its progress enqueues the machine, whose
reconcile reads the progress. Tasks end with the program; the container shows which of them were
completed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kapy.kube import Key
from kapy.kube.errors import KapyError
from kapy.sdk import NotYet

PACE: Final = 1.0
"""Minimum seconds between two changes of a task's description, except for its end."""


class OutOfTime(KapyError):
    """A task did not end in the time that it had."""


@dataclass(slots=True)
class Task:
    """The progress of a task. error: the reason why it failed.

    The description changes at most once in PACE seconds, however often the engine reports progress:
    each change is written into a condition.
    """

    description: str = "Starting"
    number: int = 0
    total: int = 0
    is_done: bool = False
    error: Exception | None = None
    changed: Callable[[], None] = field(default=lambda: None, repr=False)
    _latest: tuple[int, str] = (0, "Starting")
    _next: float = 0.0
    _timer: asyncio.TimerHandle | None = field(default=None, repr=False)

    @property
    def is_running(self) -> bool:
        """Whether the task has not ended."""
        return not self.is_done and self.error is None

    def tell(self, description: str) -> None:
        """Report the progress of the current operation."""
        self._tell(self._latest[0], description)

    def begin(self, number: int, description: str) -> None:
        """Record the beginning of an operation."""
        self._tell(number, description)

    def end(self, error: Exception | None) -> None:
        """Record the end of the task."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.number, self.description = self._latest
        self.error, self.is_done = error, error is None
        self.changed()

    def _tell(self, number: int, description: str) -> None:
        self._latest = number, description
        if self._timer is None and self._latest != (self.number, self.description):
            loop = asyncio.get_running_loop()
            if loop.time() >= self._next:
                self._publish()
            else:
                self._timer = loop.call_at(self._next, self._publish)

    def _publish(self) -> None:
        self._timer = None
        self._next = asyncio.get_running_loop().time() + PACE
        if self._latest != (self.number, self.description):
            self.number, self.description = self._latest
            self.changed()

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.description} failed: {self.error}"
        return f"{self.description} ({self.number} of {self.total})"


def _nobody(_: str, __: Key) -> None:
    """Enqueue nothing: the default of `Tasks.wake`."""


class Operation(NamedTuple):
    """One step of a task. run: does the step and reports its progress to the task."""

    description: str
    run: Callable[[Task], Awaitable[None]]


class _Running(NamedTuple):
    task: Task
    handle: asyncio.Task[None]


class Tasks:
    """The tasks of all machines, by the UID of the machine's object and a name."""

    def __init__(self) -> None:
        self.wake: Callable[[str, Key], None] = _nobody
        self._group: asyncio.TaskGroup | None = None
        self._tasks: dict[tuple[str, str], _Running] = {}

    async def run(self) -> None:
        """Run tasks until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                await asyncio.get_running_loop().create_future()
        finally:
            self._group = None
            self._tasks.clear()

    def get(self, uid: str, name: str) -> Task | None:
        """Return a started task, None if there is none."""
        task = self._tasks.get((uid, name))
        return None if task is None else task.task

    def ensure(
        self,
        owner: tuple[str, Key, str],
        name: str,
        operations: Sequence[Operation],
        seconds: float,
    ) -> Task:
        """Return the started task, or start a new one. Raises NotYet."""
        return self.get(owner[2], name) or self.start(owner, name, operations, seconds)

    def start(
        self,
        owner: tuple[str, Key, str],
        name: str,
        operations: Sequence[Operation],
        seconds: float,
    ) -> Task:
        """Start a task for a machine. owner: kind, key and UID of the machine's object. Raises
        NotYet.
        """
        kind, key, uid = owner
        if self._group is None:
            raise NotYet("this program is starting or stopping")
        task = Task(total=len(operations))
        task.changed = lambda: self.wake(kind, key)
        handle = self._group.create_task(_work(task, operations, seconds))
        self._tasks[uid, name] = _Running(task, handle)
        return task

    def forget(self, uid: str, name: str) -> None:
        """Drop a task that has ended, so that it can be started again."""
        self._tasks.pop((uid, name), None)

    def cancel(self, uid: str) -> None:
        """Cancel all tasks of a machine."""
        for key in [task for task in self._tasks if task[0] == uid]:
            self._tasks.pop(key).handle.cancel()


async def _work(task: Task, operations: Sequence[Operation], seconds: float) -> None:
    error: Exception | None = None
    try:
        async with asyncio.timeout(seconds):
            for number, operation in enumerate(operations, 1):
                task.begin(number, operation.description)
                await operation.run(task)
    except TimeoutError:
        error = OutOfTime(f"it did not end within {seconds:g} s")
    except Exception as result:  # the machine's reconcile reads and reports it
        error = result
    task.end(error)
