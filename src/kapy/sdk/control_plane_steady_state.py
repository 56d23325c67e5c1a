"""Skip reconciles of control planes of Machines that have nothing to do, until something changes.

A reconcile that took every step and found nothing to do need not be repeated, as long as no watch
delivered a change and the provider observes the same state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from kapy.engine.result import Result, requeue, requeue_if
from kapy.kube import Key
from kapy.sdk.change_counter import ChangeCounter
from kapy.sdk.machine_based_control_plane import MachineControlPlaneContext
from kapy.sdk.results import ControlPlaneObserved

MAX_AGE: Final = timedelta(minutes=10)
"""What nobody watches (a Secret of a user's, without our label) is looked at again after that, as
soon as somebody asks for a look."""


@dataclass(frozen=True, slots=True)
class SteadyState:
    """The cached result of such a reconcile. context: the provider's input. observed: its result.
    requeue: when to reconcile in any case. since: the time of the reconcile.
    """

    context: MachineControlPlaneContext[Any]
    observed: ControlPlaneObserved
    requeue: Result
    since: datetime

    def remaining(self, now: datetime) -> Result:
        """Return the remaining time until the next reconcile."""
        asked = requeue_if(after=self.observed.requeue_after, because=self.observed.requeue_reason)
        if self.requeue.after is None:
            return asked
        after = self.since + self.requeue.after - now
        return requeue(after=after, because=self.requeue.reason).earlier_of(asked)

    def expires_at(self) -> datetime:
        """When the result expires."""
        return self.since + min(MAX_AGE, self.requeue.after or MAX_AGE)


class SteadyStateCache(ChangeCounter):
    """The cached results of all control planes."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        super().__init__()
        self._clock = clock
        self._counts_at_start: dict[Key, int] = {}
        self._states: dict[Key, tuple[int, SteadyState]] = {}

    def begin(self, key: Key) -> SteadyState | None:
        """Start a reconcile before it reads anything; return the valid cached result."""
        self._counts_at_start[key] = self.count(key)
        news, state = self._states.get(key, (-1, None))
        if (
            state is None
            or news != self._counts_at_start[key]
            or state.expires_at() <= self._clock()
        ):
            return None
        return state

    def store(
        self, context: MachineControlPlaneContext[Any], observed: ControlPlaneObserved, wait: Result
    ) -> None:
        """Cache the result of a reconcile that found nothing to do."""
        state = SteadyState(context, observed, wait, self._clock())
        self._states[context.key] = self._counts_at_start[context.key], state

    def forget(self, key: Key) -> None:
        super().forget(key)
        self._counts_at_start.pop(key, None)
        self._states.pop(key, None)
