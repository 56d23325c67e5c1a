"""Objects that a provider made for the checks are always removed in the end, or listed."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from kapy._aio.clock import loop_clock
from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.kube.http import Reply, Request
from kapy.testing.conformance.behaviour import BEHAVIOUR
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.embedded import embedded
from kapy.testing.conformance.errors import ConformanceError
from kapy.testing.conformance.findings import State
from kapy.testing.conformance.fixture import Fixture
from kapy.testing.conformance.provider_under_test import VIRTUAL
from kapy.testing.conformance.reports import FORMATS
from kapy.testing.conformance.run import required_capacity, run_checks
from kapy.testing.conformance.run_context import RunContext
from kapy.testing.conformance.session import open_session
from tests.testing.conformance.behaviour.clouds import ROLES, Cloud, costly
from tests.testing.conformance.behaviour.mutants import subject
from tests.testing.conformance.behaviour.plain import RESOURCES, Plain

FIRST = tuple(check for check in BEHAVIOUR if not check.stage)


@pytest.mark.parametrize("parallel", [0, 3])
async def test_all_objects_are_removed_and_the_announced_number_is_a_limit(parallel: int) -> None:
    cloud, lines = Cloud(), list[str]()
    provider = costly(cloud)
    report = await run_checks(
        provider, BEHAVIOUR, light=True, context=RunContext(parallel, report_progress=lines.append)
    )
    assert report.with_state(State.BROKEN) == []
    assert cloud.ever > 30
    assert cloud.there == set()
    assert report.leftovers == ()
    needs = required_capacity(provider, BEHAVIOUR, parallel)
    assert {kind: cloud.most[kind] <= most for kind, most in needs.items()} == dict.fromkeys(
        needs, True
    )
    assert all(f"{count} {kind}" in lines[0] for kind, count in needs.items())


async def test_objects_of_a_run_that_times_out_are_removed() -> None:
    cloud = Cloud()
    timeouts = replace(VIRTUAL, whole=10)
    report = await run_checks(costly(cloud), FIRST, light=True, timeouts=timeouts)
    assert {item.reason for item in report.with_state(State.NOT_RUN)} >= {
        "the time for all checks (10 seconds) was over"
    }
    assert cloud.ever > 10
    assert (cloud.there, report.leftovers) == (set(), ())


@pytest.mark.parametrize("seconds", [0.1, 31, 61, 91, 590])
async def test_objects_of_an_interrupted_run_are_removed(seconds: float) -> None:
    # Whatever the checks have done to their objects then: paused, deleted, without a finalizer.
    cloud, context = Cloud(forgets=True), RunContext()
    async with asyncio.TaskGroup() as group:
        run = group.create_task(run_checks(costly(cloud), FIRST, light=True, context=context))
        await asyncio.sleep(seconds)
        assert cloud.there
        run.cancel()
    assert run.cancelled()
    assert (cloud.there, context.leftovers) == (set(), [])


async def test_objects_of_a_dead_provider_are_removed_by_the_next_one() -> None:
    cloud = Cloud(dies_with=12)
    report = await run_checks(costly(cloud), FIRST, light=True)
    assert "the cloud is gone" in report.trouble
    assert cloud.ever >= 12
    assert (cloud.there, report.leftovers) == (set(), ())


async def test_injected_faults_leave_no_objects() -> None:
    cloud = Cloud()
    report = await run_checks(costly(cloud), (), light=True, seeds=range(2))
    assert cloud.ever > 3
    assert (cloud.there, report.leftovers) == (set(), ())


async def test_leftovers_are_listed_with_the_command_that_removes_them() -> None:
    cloud = Cloud(holds=True)
    checks = [
        check for check in FIRST if check.rule in ("infra-machine/watch", "infra-cluster/watch")
    ]
    report = await run_checks(costly(cloud), checks, light=True)
    messages = {leftover.object.partition(" (")[0] for leftover in report.leftovers}
    assert messages == {f"{kind} {namespace}/{name}" for kind, namespace, name in cloud.there}
    machine = next(
        leftover for leftover in report.leftovers if leftover.object.startswith("PlainMachine ")
    )
    assert "providerID plain://conformance-0-" in machine.object
    assert "remove that by hand" in machine.remedy
    for form in FORMATS.values():
        assert machine.object.partition(" (")[0] in form([report])


async def test_a_provider_with_little_room_gets_advice() -> None:
    timeouts = replace(VIRTUAL, within=40, check=100, whole=170)
    report = await run_checks(costly(Cloud(room=4)), FIRST, light=True, timeouts=timeouts)
    reasons = [item.reason for item in report.with_state(State.NOT_RUN)]
    assert sum("do fewer checks at a time (--parallel)" in reason for reason in reasons) > 3
    cloud = Cloud(room=4)
    report = await run_checks(
        costly(cloud), BEHAVIOUR, light=True, timeouts=timeouts, context=RunContext(1)
    )
    assert {item.rule.name for item in report.with_state(State.NOT_RUN)} == {"once"}
    assert report.with_state(State.BROKEN) == []
    assert cloud.there == set()


async def test_kinds_without_a_controller_are_reported() -> None:
    provider = subject(Plain, "infra-machine")
    nothing = replace(provider, kinds=())
    async with embedded(nothing, clock=loop_clock(), light=True) as environment:
        with pytest.raises(ConformanceError, match=r"plainmachines.* cannot be watched in v1"):
            async with open_session(environment, provider, VIRTUAL, RunContext()):
                pass


class Counted(Interceptor):
    """Counts what is created of a kind."""

    count = 0
    plural = ""

    async def __call__(self, request: Request) -> Reply:
        reply = await super().__call__(request)
        self.count += request.method == "POST" and request.path.endswith(f"/{self.plural}")
        return reply


@pytest.mark.parametrize("role", ROLES)
async def test_no_check_creates_more_objects_than_announced(role: str) -> None:
    entries: dict[str, int] = {}

    def counted(check: Check) -> Check:
        async def run(fixture: Fixture):  # type: ignore[no-untyped-def]
            transport = Counted(fixture.client.transport)
            transport.plural = RESOURCES[role].plural
            fixture.client = fixture.core.client = Client(transport)
            async for finding in check.run(fixture):
                yield finding
            entries[check.rule] = max(entries.get(check.rule, 0), transport.count)

        return replace(check, run=run)

    checks = [check for check in FIRST if check.role == role]
    await run_checks(subject(Plain, role), [counted(check) for check in checks], light=True)
    most = {
        check.rule: max(two.objects_created for two in checks if two.rule == check.rule)
        for check in checks
    }
    assert {rule: count for rule, count in entries.items() if count > most[rule]} == {}
    assert len(entries) > 5
