"""What a provider made for the checks is gone in the end, whatever happens, or it is listed."""

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
from kapy.testing.conformance.capacity import needed
from kapy.testing.conformance.errors import ConformanceError
from kapy.testing.conformance.findings import State
from kapy.testing.conformance.following import watched
from kapy.testing.conformance.ground import embedded
from kapy.testing.conformance.reports import FORMATS
from kapy.testing.conformance.run import judged
from kapy.testing.conformance.scene import Scene
from kapy.testing.conformance.session import Session
from kapy.testing.conformance.subject import VIRTUAL
from tests.testing.conformance.behaviour.clouds import ROLES, Cloud, costly
from tests.testing.conformance.behaviour.mutants import subject
from tests.testing.conformance.behaviour.plain import RESOURCES, Plain

FIRST = tuple(one for one in BEHAVIOUR if not one.stage)


@pytest.mark.parametrize("parallel", [0, 3])
async def test_everything_is_gone_and_there_was_never_more_than_was_told(parallel: int) -> None:
    cloud, lines = Cloud(), list[str]()
    provider = costly(cloud)
    report = await judged(
        provider, BEHAVIOUR, light=True, session=Session(parallel, tell=lines.append)
    )
    assert report.of(State.BROKEN) == []
    assert cloud.ever > 30
    assert cloud.there == set()
    assert report.remains == ()
    needs = needed(provider, BEHAVIOUR, parallel)
    assert {kind: cloud.most[kind] <= most for kind, most in needs.items()} == dict.fromkeys(
        needs, True
    )
    assert all(f"{count} {kind}" in lines[0] for kind, count in needs.items())


async def test_what_the_time_cuts_off_is_removed() -> None:
    cloud = Cloud()
    patience = replace(VIRTUAL, whole=10)
    report = await judged(costly(cloud), FIRST, light=True, patience=patience)
    assert {one.reason for one in report.of(State.NOT_RUN)} >= {
        "the time for all checks (10 seconds) was over"
    }
    assert cloud.ever > 10
    assert (cloud.there, report.remains) == (set(), ())


@pytest.mark.parametrize("seconds", [0.1, 31, 61, 91, 590])
async def test_what_is_interrupted_is_removed(seconds: float) -> None:
    # Whatever the checks have done to their objects then: paused, deleted, without a finalizer.
    cloud, session = Cloud(forgets=True), Session()
    async with asyncio.TaskGroup() as group:
        course = group.create_task(judged(costly(cloud), FIRST, light=True, session=session))
        await asyncio.sleep(seconds)
        assert cloud.there
        course.cancel()
    assert course.cancelled()
    assert (cloud.there, session.remains) == (set(), [])


async def test_what_a_provider_has_made_before_it_died_is_removed_by_the_next_one() -> None:
    cloud = Cloud(dies_with=12)
    report = await judged(costly(cloud), FIRST, light=True)
    assert "the cloud is gone" in report.trouble
    assert cloud.ever >= 12
    assert (cloud.there, report.remains) == (set(), ())


async def test_bad_days_leave_nothing() -> None:
    cloud = Cloud()
    report = await judged(costly(cloud), (), light=True, seeds=range(2))
    assert cloud.ever > 3
    assert (cloud.there, report.remains) == (set(), ())


async def test_what_does_not_go_is_listed_with_the_way_to_remove_it() -> None:
    cloud = Cloud(holds=True)
    checks = [one for one in FIRST if one.rule in ("infra-machine/watch", "infra-cluster/watch")]
    report = await judged(costly(cloud), checks, light=True)
    told = {one.object.partition(" (")[0] for one in report.remains}
    assert told == {f"{kind} {namespace}/{name}" for kind, namespace, name in cloud.there}
    machine = next(one for one in report.remains if one.object.startswith("PlainMachine "))
    assert "providerID plain://conformance-0-" in machine.object
    assert "remove that by hand" in machine.remedy
    for form in FORMATS.values():
        assert machine.object.partition(" (")[0] in form([report])


async def test_a_provider_with_little_room_is_told_how_to_be_judged() -> None:
    patience = replace(VIRTUAL, within=40, check=100, whole=170)
    report = await judged(costly(Cloud(room=4)), FIRST, light=True, patience=patience)
    reasons = [one.reason for one in report.of(State.NOT_RUN)]
    assert sum("do fewer checks at a time (--parallel)" in one for one in reasons) > 3
    cloud = Cloud(room=4)
    report = await judged(
        costly(cloud), BEHAVIOUR, light=True, patience=patience, session=Session(1)
    )
    assert {one.rule.name for one in report.of(State.NOT_RUN)} == {"once"}
    assert report.of(State.BROKEN) == []
    assert cloud.there == set()


async def test_kinds_that_nobody_serves_are_told() -> None:
    provider = subject(Plain, "infra-machine")
    nothing = replace(provider, kinds=())
    async with embedded(nothing, clock=loop_clock(), light=True) as ground:
        with pytest.raises(ConformanceError, match=r"plainmachines.* cannot be watched in v1"):
            async with watched(ground, provider, VIRTUAL, Session()):
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
async def test_no_check_makes_more_than_it_says(role: str) -> None:
    made: dict[str, int] = {}

    def counted(check: Check) -> Check:
        async def look(scene: Scene):  # type: ignore[no-untyped-def]
            transport = Counted(scene.client.transport)
            transport.plural = RESOURCES[role].plural
            scene.client = scene.core.client = Client(transport)
            async for one in check.look(scene):
                yield one
            made[check.rule] = max(made.get(check.rule, 0), transport.count)

        return replace(check, look=look)

    checks = [one for one in FIRST if one.role == role]
    await judged(subject(Plain, role), [counted(one) for one in checks], light=True)
    most = {one.rule: max(two.makes for two in checks if two.rule == one.rule) for one in checks}
    assert {rule: count for rule, count in made.items() if count > most[rule]} == {}
    assert len(made) > 5
