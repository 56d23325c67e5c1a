"""Several requests under way at once, but not more than a server likes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 16


async def bounded_gather(
    works: Iterable[Callable[[], Awaitable[T]]], *, at_once: int = AT_ONCE
) -> list[T]:
    """The answers in the order of the works. The first failure ends the others, and is raised."""
    from asyncio import Semaphore, TaskGroup

    room = Semaphore(at_once)

    async def one(work: Callable[[], Awaitable[T]]) -> T:
        async with room:
            return await work()

    try:
        async with TaskGroup() as group:
            tasks = [group.create_task(one(work)) for work in works]
    except BaseExceptionGroup as failures:
        raise _first(failures) from None
    return [task.result() for task in tasks]


async def gather_all(works: Iterable[Callable[[], Awaitable[T]]]) -> list[T]:
    """Do the work side by side; after a failure wait for the requests that are under way.

    The effect of each request is known when the failure is raised. No more requests are begun.
    """
    failures: list[Exception] = []

    async def one(work: Callable[[], Awaitable[T]]) -> list[T]:
        if failures:
            return []
        try:
            return [await work()]
        except Exception as error:
            failures.append(error)
            return []

    def begun(work: Callable[[], Awaitable[T]]) -> Callable[[], Awaitable[list[T]]]:
        return lambda: one(work)

    answers = await bounded_gather(begun(work) for work in works)
    if failures:
        raise failures[0]
    return [one for some in answers for one in some]


def _first(failures: BaseException) -> BaseException:
    while isinstance(failures, BaseExceptionGroup):
        failures = failures.exceptions[0]
    return failures
