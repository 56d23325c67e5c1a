"""Work for one machine that takes too long for a reconcile: pulls, waiting for systemd, boot data.

A task has operations, one after the other. Whatever changes wakes the machine, whose reconcile
reads how far the task is. Tasks live as long as the program; what they did is found in the
container.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kapy.kube import Key
from kapy.kube.errors import KapyError
from kapy.sdk import NotYet


class OutOfTime(KapyError):
    """A task did not end in the time that it had."""


@dataclass(slots=True)
class Task:
    """How far a task is. error: why it ended too early."""

    description: str = "Starting"
    number: int = 0
    total: int = 0
    is_done: bool = False
    error: Exception | None = None
    changed: Callable[[], None] = field(default=lambda: None, repr=False)

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return not self.is_done and self.error is None

    def tell(self, description: str) -> None:
        """Say what the operation is doing."""
        if description != self.description:
            self.description = description
            self.changed()

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.description} failed: {self.error}"
        return f"{self.description} ({self.number} of {self.total})"


def _nobody(_: str, __: Key) -> None:
    """Nobody has to be woken."""


class Operation(NamedTuple):
    """One part of a task."""

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
        """A task that was started."""
        found = self._tasks.get((uid, name))
        return None if found is None else found.task

    def start(
        self,
        owner: tuple[str, Key, str],
        name: str,
        operations: Sequence[Operation],
        seconds: float,
    ) -> Task:
        """Start a task. owner: kind, key and UID of the machine's object. Raises NotYet."""
        kind, key, uid = owner
        if self._group is None:
            raise NotYet("this program is starting or stopping")
        task = Task(total=len(operations))
        task.changed = lambda: self.wake(kind, key)
        handle = self._group.create_task(_work(task, operations, seconds))
        self._tasks[uid, name] = _Running(task, handle)
        return task

    def forget(self, uid: str, name: str) -> None:
        """Let a task that has ended be started again."""
        self._tasks.pop((uid, name), None)

    def cancel(self, uid: str) -> None:
        """End all tasks of a machine."""
        for key in [one for one in self._tasks if one[0] == uid]:
            self._tasks.pop(key).handle.cancel()


async def _work(task: Task, operations: Sequence[Operation], seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            for number, operation in enumerate(operations, 1):
                task.number = number
                task.tell(operation.description)
                await operation.run(task)
        task.is_done = True
    except TimeoutError:
        task.error = OutOfTime(f"it did not end within {seconds:g} s")
    except Exception as error:  # read by the machine's reconcile, which tells it
        task.error = error
    task.changed()
