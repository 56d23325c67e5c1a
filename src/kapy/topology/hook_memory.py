"""What extensions answered before: blocking answers count until they want to be asked again, and a
plan counts for as long as nobody asks for another one.

One memory serves all clusters. It is lost with the process, after which extensions are asked anew.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from math import ceil
from typing import Final

from kapy.topology.hooks import Answer, Hook, UpgradePlans

PLAN_SECONDS: Final = 600.0
"""How long a plan is remembered; extensions are functions of what they are asked."""

PlanKey = tuple[str, str, str, str]
"""A Cluster's UID, and the versions of control plane and workers, now and wanted."""


@dataclass(slots=True)
class HookMemory:
    """Answers and plans by the UID of the Cluster, each with the event loop's time until which it
    counts."""

    _answers: dict[tuple[str, Hook], tuple[float, str]] = field(default_factory=dict)
    _plans: dict[PlanKey, tuple[float, UpgradePlans]] = field(default_factory=dict)

    def keep(self, uid: str, hook: Hook, answer: Answer) -> None:
        """Remember a blocking answer."""
        self._answers[uid, hook] = (_now() + answer.retry_after, answer.message)

    def answer(self, uid: str, hook: Hook) -> Answer | None:
        """The answer that still counts, with the seconds that are left."""
        until, message = self._answers.get((uid, hook), (0.0, ""))
        left = ceil(round(until - _now(), 3))  # a timer may be a little early
        if left > 0:
            return Answer(left, message)
        self._answers.pop((uid, hook), None)
        return None

    def keep_plan(self, key: PlanKey, plans: UpgradePlans) -> None:
        """Remember an upgrade plan; what stopped to count goes."""
        now = _now()
        self._plans = {one: kept for one, kept in self._plans.items() if kept[0] > now}
        self._plans[key] = (now + PLAN_SECONDS, plans)

    def plan(self, key: PlanKey) -> UpgradePlans | None:
        """The plan that still counts."""
        until, plans = self._plans.get(key, (0.0, None))
        return plans if until > _now() else None

    def forget(self, uid: str) -> None:
        """The Cluster is gone."""
        self._answers = {key: one for key, one in self._answers.items() if key[0] != uid}
        self._plans = {key: one for key, one in self._plans.items() if key[0] != uid}


def _now() -> float:
    return asyncio.get_running_loop().time()
