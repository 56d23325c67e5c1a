"""Tests of the time by a server's clock, in virtual time."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from email.utils import format_datetime

import pytest

from kapy._aio.clock import loop_clock
from kapy.client.intercept import probe_of
from kapy.client.server_clock import ASK_INTERVAL, ServerClock
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request

ASK = Request("GET", "/x")
HOUR = timedelta(hours=1)


class Server:
    """A server that takes `seconds` for an answer. ahead: its clock is so much ahead of the truth.
    date: sent in place of its time."""

    over_network = True
    host = "server"

    def __init__(self, ahead: timedelta = timedelta(), seconds: float = 0.1) -> None:
        self.ahead, self.seconds = ahead, seconds
        self.date: str | None = None
        self.truth = loop_clock()
        self.is_reachable = True
        self.requests: list[str] = []

    async def __call__(self, request: Request) -> Reply:
        self.requests.append(request.path)
        if not self.is_reachable:
            raise Unreachable("the server does not answer")
        await asyncio.sleep(self.seconds / 2)
        date = format_datetime(self.truth() + self.ahead, usegmt=True)
        await asyncio.sleep(self.seconds / 2)
        return Reply(200, {}, {"date": date if self.date is None else self.date})


class Here:
    """The clock of this machine. ahead: of the truth."""

    def __init__(self) -> None:
        self.truth, self.ahead = loop_clock(), timedelta()

    def __call__(self) -> datetime:
        return self.truth() + self.ahead

    def is_right(self, clock: ServerClock, by: timedelta = timedelta()) -> bool:
        """Whether a clock tells the truth, or a time that is `by` ahead of it."""
        return abs(clock.now() - self.truth() - by) < timedelta(seconds=2)


async def test_a_clock_that_is_right_is_left_alone() -> None:
    here = Here()
    clock = ServerClock(Server(seconds=40), here)
    for seconds in (0.3, 0.5, 2.9):
        await asyncio.sleep(seconds)
        await clock(ASK)
        assert clock.now() == here()


@pytest.mark.parametrize("by", [HOUR, -HOUR, timedelta(seconds=30)])
async def test_a_wrong_clock_is_corrected_by_the_first_answer(by: timedelta) -> None:
    here = Here()
    here.ahead = by
    clock = ServerClock(Server(), here)
    assert clock.now() == here()
    await clock(ASK)
    assert here.is_right(clock)


async def test_a_thread_may_ask_for_the_time() -> None:
    here = Here()
    here.ahead = HOUR
    clock = ServerClock(Server(), here)
    await clock(ASK)
    moment = await asyncio.get_running_loop().run_in_executor(None, clock.now)
    assert abs(moment - here.truth()) < timedelta(seconds=2)


async def test_the_time_is_that_of_the_server() -> None:
    here = Here()
    clock = ServerClock(Server(ahead=HOUR), here)
    await probe_of(clock)(ASK)
    assert here.is_right(clock, HOUR)


async def test_a_step_of_the_clock_is_undone_before_any_answer() -> None:
    here = Here()
    clock = ServerClock(Server(), here)
    await clock(ASK)
    before = clock.now()
    here.ahead = HOUR
    assert clock.now() == before
    await clock(ASK)
    assert here.is_right(clock)
    here.ahead = timedelta()
    assert here.is_right(clock)


@pytest.mark.parametrize("step", [HOUR, -HOUR])
async def test_a_step_that_an_answer_has_corrected_is_not_undone_again(step: timedelta) -> None:
    here = Here()
    clock = ServerClock(Server(), here)
    await clock(ASK)
    clock.now()
    here.ahead = step
    await clock(ASK)  # nobody has looked at the clock since the step
    assert here.is_right(clock)


async def test_a_step_that_the_server_confirms_is_taken() -> None:
    """As after a sleep of the machine, in which the loop's clock stood still."""
    here, server = Here(), Server()
    clock = ServerClock(server, here)
    await clock(ASK)
    clock.now()
    here.ahead = server.ahead = HOUR
    assert here.is_right(clock)
    await clock(ASK)
    assert clock.now() == here()


async def test_the_server_is_asked_after_a_step() -> None:
    """A program at rest sends no request for an hour."""
    here, server = Here(), Server()
    clock = ServerClock(server, here)
    await clock(ASK)
    clock.now()
    here.ahead = server.ahead = HOUR
    server.is_reachable = False
    assert here.is_right(clock)
    await asyncio.sleep(1)
    server.is_reachable = True
    assert here.is_right(clock)  # not asked at every look at the clock
    assert server.requests == ["/x", "/version"]
    await asyncio.sleep(ASK_INTERVAL)
    clock.now()
    await asyncio.sleep(1)
    assert clock.now() == here()
    await asyncio.sleep(2 * ASK_INTERVAL)
    assert clock.now() == here()
    assert server.requests == ["/x", "/version", "/version"]


async def test_a_request_for_the_time_ends_with_its_client() -> None:
    here, server = Here(), Server(seconds=60)
    clock = ServerClock(server, here)
    await clock(ASK)
    clock.now()
    here.ahead = HOUR
    clock.now()
    await asyncio.sleep(1)
    assert server.requests == ["/x", "/version"]
    await clock.aclose()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    await asyncio.sleep(2 * ASK_INTERVAL)
    clock.now()
    await asyncio.sleep(1)
    assert server.requests == ["/x", "/version"]


async def test_a_step_during_a_request_does_no_harm() -> None:
    here, server = Here(), Server(seconds=2)
    clock = ServerClock(server, here)
    await clock(ASK)
    for step in (HOUR, -HOUR):
        clock.now()
        async with asyncio.TaskGroup() as group:
            group.create_task(clock(ASK))
            await asyncio.sleep(1.0)
            here.ahead += step
        assert here.is_right(clock)


@pytest.mark.parametrize(
    "date",
    [
        "",
        "today",
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "1" * 6000,
        "Thu, 99 Foo 2026 99:99:99 GMT",
        "Thu, 01 Jan 2026 00:00:00 +9999",
    ],
)
async def test_a_date_that_means_nothing_changes_nothing(date: str) -> None:
    here, server = Here(), Server()
    server.date = date
    clock = ServerClock(server, here)
    await clock(ASK)
    assert clock.now() == here()
    here.ahead = HOUR
    assert clock.now() == here()


async def test_without_dates_the_clock_is_this_machines() -> None:
    async def answer(_: Request) -> Reply:
        return Reply(200, {})

    here = Here()
    clock = ServerClock(answer, here)
    await clock(ASK)
    here.ahead = HOUR
    assert clock.now() == here()
