"""Runs requests concurrently, with a limit on the number that is under way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

T = TypeVar("T")

MAX_CONCURRENT: Final = 16


async def bounded_gather(
    works: Iterable[Callable[[], Awaitable[T]]], *, at_once: int = MAX_CONCURRENT
) -> list[T]:
    """Return the results in the order of the calls. The first failure cancels the others and is
    raised.
    """
    from asyncio import Semaphore, TaskGroup

    room = Semaphore(at_once)

    async def call(work: Callable[[], Awaitable[T]]) -> T:
        async with room:
            return await work()

    try:
        async with TaskGroup() as group:
            tasks = [group.create_task(call(work)) for work in works]
    except BaseExceptionGroup as failures:
        raise _first_failure(failures) from None
    return [task.result() for task in tasks]


async def gather_all(works: Iterable[Callable[[], Awaitable[T]]]) -> list[T]:
    """Run all calls concurrently; after a failure, wait for the requests that are under way.

    So the effect of each request is known when the failure is raised. No further request is
    started.
    """
    failures: list[Exception] = []

    async def call(work: Callable[[], Awaitable[T]]) -> list[T]:
        if failures:
            return []
        try:
            return [await work()]
        except Exception as error:
            failures.append(error)
            return []

    def bind(work: Callable[[], Awaitable[T]]) -> Callable[[], Awaitable[list[T]]]:
        return lambda: call(work)

    answers = await bounded_gather(bind(work) for work in works)
    if failures:
        raise failures[0]
    return [item for some in answers for item in some]


def _first_failure(failures: BaseException) -> BaseException:
    while isinstance(failures, BaseExceptionGroup):
        failures = failures.exceptions[0]
    return failures
