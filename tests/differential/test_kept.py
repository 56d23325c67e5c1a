"""Cases that once were different, with the answers of a real kube-apiserver: asked of ours, on
virtual time. `make differential` finds new ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest

from kapy._aio.clock import loop_clock, system_clock
from tests.differential.case import Case
from tests.differential.comparing import judged
from tests.differential.hooks import Hooks
from tests.differential.initial_objects import prepare
from tests.differential.keeping import kept
from tests.differential.known import KNOWN
from tests.differential.peers import Embedded, embedded
from tests.differential.playing import Play, differences
from tests.differential.working import AREAS, HOOKED, generated

WORDS = count()


@asynccontextmanager
async def prepared() -> AsyncIterator[Embedded]:
    """The embedded server with the kinds of the cases."""
    async with embedded(loop_clock()) as peer:
        await prepare(peer)
        yield peer


async def failures(peer: Embedded, case: Case, hooks: Any = None) -> list[str]:
    """Return the differences from the real server's answers, one line each."""
    answers = await Play(case, peer, f"w{next(WORDS)}x", hooks=hooks).run()
    expected = [step["response"] for step in case["steps"]]
    outcome = judged(case, expected, answers)
    return [
        f"{case['id']} step {number}: {line}"
        for number in outcome.unequal
        for line in differences(expected[number], answers[number])
    ]


@pytest.mark.parametrize("area", [area for area in AREAS if area not in HOOKED])
async def test_kept_cases_are_answered_as_by_kube_apiserver(area: str) -> None:
    cases = kept(area)
    assert cases, f"no cases of {area}"
    async with prepared() as peer:
        results = {case["id"]: await failures(peer, case) for case in cases}
    wrong = [line for case, lines in results.items() if case not in KNOWN for line in lines]
    assert not wrong, "\n".join(wrong[:40])
    healed = [case for case in results if case in KNOWN and not results[case]]
    assert not healed, f"known differences that are none any more: {healed}"


@pytest.mark.sockets
@pytest.mark.parametrize("area", [area for area in HOOKED if kept(area)])
async def test_kept_cases_of_webhooks_are_answered_as_by_kube_apiserver(area: str) -> None:
    cases, hooks = kept(area), Hooks()
    assert cases
    async with embedded(system_clock) as peer:
        await prepare(peer)
        lines = [line for case in cases for line in await failures(peer, at_once(case), hooks)]
    assert not lines, "\n".join(lines[:40])


def at_once(case: Case) -> Case:
    """A case without the time that the real server needs to notice its webhooks."""
    parts = {
        part: [item for item in case[part] if "sleep" not in item] for part in ("setup", "steps")
    }
    return {**case, **parts}


async def test_a_wrong_answer_is_reported() -> None:
    case = kept("crud")[0]
    last = case["steps"][-1]
    broken = {**last, "response": {**last["response"], "status": 299}}
    async with prepared() as peer:
        assert await failures(peer, {**case, "steps": [*case["steps"][:-1], broken]})


@pytest.mark.parametrize("area", AREAS)
async def test_generated_cases_get_an_answer(area: str, caplog: pytest.LogCaptureFixture) -> None:
    """Also what no case was kept of: nothing reaches a traceback, every answer has a status."""
    async with prepared() as peer:
        for number in range(12):
            case = generated(area, 99, number)
            if "webhooks" in case:
                case = {"steps": case["steps"][:8]}
            steps = [step for step in case["steps"] if not {"calls", "hook"} & step.keys()]
            answers = await Play({**case, "steps": steps}, peer, f"w{next(WORDS)}x").run()
            for answer in answers:
                assert answer.get("status", 200) != 0, answer
    failed = [record.getMessage() for record in caplog.records if record.exc_info]
    assert not failed, failed
