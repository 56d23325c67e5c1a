"""One case played on both servers."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

from tests.differential.case import Case, Json
from tests.differential.peers import Embedded, Remote
from tests.differential.playing import Play, differences
from tests.differential.signature import signature


@dataclass
class Outcome:
    """The result of a case. unequal: the steps whose answers differ. cause: the class of the first.
    dropped: the number of steps that are not compared, because the real server closed the
    connection (it panics at some patches) at the first of them."""

    answers: int
    dropped: int = 0
    unequal: list[int] = field(default_factory=list)
    cause: str = ""
    expected: list[Json] = field(default_factory=list)
    given: list[Json] = field(default_factory=list)


@dataclass
class Pair:
    """The real server and the embedded one. hooks: the server of webhooks, where there is one."""

    real: Remote
    own: Embedded
    hooks: Any = None

    async def compare(self, case: Case) -> Outcome:
        """Play a case on both."""
        word = "w" + secrets.token_hex(4)
        word = "".join(chr(ord(text) + 49) if text.isdigit() else text for text in word)
        hooks = self.hooks if "webhooks" in case else None
        own = Play(case, self.own, word, hooks=hooks)
        answers = await own.run()
        real = Play(case, self.real, word, counts=own.seen, hooks=hooks)
        expected = await real.run()
        return judged(case, expected, answers)


def judged(case: Case, expected: list[Json], actual: list[Json]) -> Outcome:
    """Compare the answers to a case."""
    silent = next((n for n, item in enumerate(expected) if _gone(item)), len(expected))
    dropped = len(expected) - silent
    outcome = Outcome(silent, dropped, expected=expected, given=actual)
    for number, step in enumerate(case["steps"][:silent]):
        if differences(expected[number], actual[number]):
            outcome.cause = outcome.cause or signature(step, expected[number], actual[number])
            outcome.unequal.append(number)
    return outcome


def _gone(answer: Json) -> bool:
    """Whether the real server gave no answer, or said only that it prepares a kind anew."""
    return answer.get("status") == 0 or any(text in str(answer.get("body")) for text in _PREPARING)


_PREPARING = ("apiserver is shutting down", "storage is (re)initializing")


def with_answers(case: Case, expected: list[Json]) -> Case:
    """The case with what the real server answered."""
    steps = [
        {**element, "response": answer}
        for element, answer in zip(case["steps"], expected, strict=True)
    ]
    for step, item in zip(steps, expected, strict=True):
        if "collect" in step:
            step["collect"] = {**step["collect"], "count": len(item["events"])}
    return {**case, "steps": steps}
