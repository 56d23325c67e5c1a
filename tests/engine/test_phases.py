"""The phases of a reconcile: their requeues, failures and cancellation."""

import asyncio
from datetime import timedelta

import pytest

from kapy.engine.reconciler import Phase, run_phases
from kapy.engine.result import DONE, Result, requeue


def answering(result: Result) -> Phase[list[str]]:
    async def phase(calls: list[str]) -> Result:
        calls.append("ran")
        return result

    return phase


def failing(error: BaseException) -> Phase[list[str]]:
    async def phase(calls: list[str]) -> Result:
        calls.append("failed")
        raise error

    return phase


SOON = requeue(after=timedelta(seconds=5), because="soon")
LATER = requeue(after=timedelta(seconds=60), because="later")


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param([], DONE, id="no phases"),
        pytest.param([DONE, DONE], DONE, id="nobody asks"),
        pytest.param([DONE, LATER], LATER, id="one asks"),
        pytest.param([LATER, SOON, DONE], SOON, id="the earliest wins"),
    ],
)
async def test_the_earliest_requeue_wins(answers: list[Result], expected: Result) -> None:
    assert await run_phases([answering(answer) for answer in answers], []) == expected


async def test_a_failure_does_not_starve_later_phases() -> None:
    calls: list[str] = []
    with pytest.raises(OSError, match="api down"):
        await run_phases([failing(OSError("api down")), answering(SOON)], calls)
    assert calls == ["failed", "ran"]


async def test_several_failures_are_raised_together() -> None:
    phases = [failing(OSError("api down")), failing(ValueError("no version"))]
    with pytest.raises(ExceptionGroup) as caught:
        await run_phases(phases, [])
    assert [type(error) for error in caught.value.exceptions] == [OSError, ValueError]


async def test_cancellation_stops_at_once() -> None:
    calls: list[str] = []
    with pytest.raises(asyncio.CancelledError):
        await run_phases([failing(asyncio.CancelledError()), answering(SOON)], calls)
    assert calls == ["failed"]


def test_a_requeue_without_a_delay_is_refused() -> None:
    with pytest.raises(ValueError, match="must be positive"):
        requeue(after=timedelta(0), because="now")
