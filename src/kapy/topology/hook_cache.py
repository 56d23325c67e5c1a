"""Cache of hook answers: blocking answers until their retry time, upgrade plans for a while.

One cache serves all clusters. It is lost with the process; hooks are then called again. They are
also called again when the ExtensionConfigs, the Cluster or the request change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from math import ceil
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kapy.topology.hooks import Answer, Hook, UpgradePlans

PLAN_SECONDS: Final = 600.0
"""How long an upgrade plan is cached; extensions must answer equal requests equally."""

MIN_INTERVAL: Final = 1.0
"""Minimum seconds between two calls if only annotations have changed: extensions write annotations,
too, and must not be called again and again because of their own writes."""

_EARLY_SECONDS: Final = 0.001  # the precision of timers
K = TypeVar("K")
V = TypeVar("V")

PlanKey = tuple[str, str, str, str, str]
"""A Cluster's UID, the extension, and the versions of control plane and workers, now and wanted."""


class CacheInputs(NamedTuple):
    """The inputs of an answer; with other inputs the extension must be called again."""

    facts: Any
    annotations: Mapping[str, str]


class _CachedAnswer(NamedTuple):
    about: CacheInputs
    message: str
    at: float


class HookCache:
    """Answers and upgrade plans, keyed by the UID of the Cluster."""

    def __init__(self) -> None:
        self._answers = _ExpiringCache[tuple[str, Hook], _CachedAnswer]()
        self._plans = _ExpiringCache[PlanKey, UpgradePlans]()

    def keep(self, uid: str, hook: Hook, about: CacheInputs, answer: Answer) -> None:
        """Cache a blocking answer."""
        cache_inputs = _CachedAnswer(about, answer.message, _now())
        self._answers.keep((uid, hook), cache_inputs, answer.retry_after)

    def answer(self, uid: str, hook: Hook, about: CacheInputs) -> Answer | None:
        """Return the cached answer that is still valid, with the remaining seconds."""
        entry = self._answers.get((uid, hook))
        if entry is None or entry.value.about.facts != about.facts:
            return None
        cache_inputs, seconds = entry
        if cache_inputs.about.annotations != about.annotations:
            seconds = min(seconds, cache_inputs.at + MIN_INTERVAL - _now())
        return (
            Answer(ceil(round(seconds, 3)), cache_inputs.message)
            if seconds > _EARLY_SECONDS
            else None
        )

    def clear(self) -> None:
        """Drop all answers and plans, because the registered extensions have changed."""
        self._answers.clear()
        self._plans.clear()

    def keep_plan(self, key: PlanKey, plans: UpgradePlans) -> None:
        """Cache an upgrade plan."""
        self._plans.keep(key, plans, PLAN_SECONDS)

    def plan(self, key: PlanKey) -> UpgradePlans | None:
        """Return the cached plan that is still valid."""
        entry = self._plans.get(key)
        return entry and entry.value


class _Remaining(NamedTuple, Generic[V]):
    value: V
    seconds: float


class _ExpiringCache(Generic[K, V]):
    """Values that expire after some seconds of the event loop's time; a write drops expired
    ones."""

    def __init__(self) -> None:
        self._kept: dict[K, tuple[float, V]] = {}

    def clear(self) -> None:
        self._kept = {}

    def keep(self, key: K, value: V, seconds: float) -> None:
        now = _now()
        self._kept = {item: entry for item, entry in self._kept.items() if entry[0] > now}
        self._kept[key] = (now + seconds, value)

    def get(self, key: K) -> _Remaining[V] | None:
        if key not in self._kept:
            return None
        until, value = self._kept[key]
        seconds = until - _now()
        return _Remaining(value, seconds) if seconds > _EARLY_SECONDS else None


def _now() -> float:
    return asyncio.get_running_loop().time()
