"""What extensions answered before: blocking answers count until they want to be asked again, plans
for a while.

One memory serves all clusters. It is lost with the process, after which extensions are asked anew,
as they are when they are others than before, and when the Cluster or what is asked has changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from math import ceil
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kapy.topology.hooks import Answer, Hook, UpgradePlans

PLAN_SECONDS: Final = 600.0
"""How long a plan is remembered; extensions are functions of what they are asked."""

APART: Final = 1.0
"""Seconds between two questions where only annotations are others: extensions write some, too, and
should not be asked again and again because of what they write."""

_EARLY: Final = 0.001  # as much as a timer may be
K = TypeVar("K")
V = TypeVar("V")

PlanKey = tuple[str, str, str, str, str]
"""A Cluster's UID, the extension, and the versions of control plane and workers, now and wanted."""


class About(NamedTuple):
    """What an answer depends on; asked about something else, an extension may answer otherwise."""

    facts: Any
    annotations: Mapping[str, str]


class _Said(NamedTuple):
    about: About
    message: str
    at: float


class HookMemory:
    """Answers and plans, by the UID of the Cluster."""

    def __init__(self) -> None:
        self._answers = _Lasting[tuple[str, Hook], _Said]()
        self._plans = _Lasting[PlanKey, UpgradePlans]()

    def keep(self, uid: str, hook: Hook, about: About, answer: Answer) -> None:
        """Remember a blocking answer."""
        said = _Said(about, answer.message, _now())
        self._answers.keep((uid, hook), said, answer.retry_after)

    def answer(self, uid: str, hook: Hook, about: About) -> Answer | None:
        """The answer that still counts, with the seconds that are left."""
        kept = self._answers.get((uid, hook))
        if kept is None or kept.value.about.facts != about.facts:
            return None
        said, left = kept
        if said.about.annotations != about.annotations:
            left = min(left, said.at + APART - _now())
        return Answer(ceil(round(left, 3)), said.message) if left > _EARLY else None

    def forget(self) -> None:
        """Ask everybody again: the extensions are others than before."""
        self._answers.clear()
        self._plans.clear()

    def keep_plan(self, key: PlanKey, plans: UpgradePlans) -> None:
        """Remember an upgrade plan."""
        self._plans.keep(key, plans, PLAN_SECONDS)

    def plan(self, key: PlanKey) -> UpgradePlans | None:
        """The plan that still counts."""
        kept = self._plans.get(key)
        return kept and kept.value


class _Kept(NamedTuple, Generic[V]):
    value: V
    left: float


class _Lasting(Generic[K, V]):
    """Values that count for some seconds, by the event loop's time; they go when others come."""

    def __init__(self) -> None:
        self._kept: dict[K, tuple[float, V]] = {}

    def clear(self) -> None:
        self._kept = {}

    def keep(self, key: K, value: V, seconds: float) -> None:
        now = _now()
        self._kept = {one: kept for one, kept in self._kept.items() if kept[0] > now}
        self._kept[key] = (now + seconds, value)

    def get(self, key: K) -> _Kept[V] | None:
        if key not in self._kept:
            return None
        until, value = self._kept[key]
        left = until - _now()
        return _Kept(value, left) if left > _EARLY else None


def _now() -> float:
    return asyncio.get_running_loop().time()
