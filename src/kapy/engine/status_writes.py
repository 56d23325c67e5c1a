"""Saves computations and writes of statuses: remembers inputs, and delays minor changes.

Most reconciles find nothing new: they come from a resync, or from a change that does not matter.
Statuses are pure functions of what was read, and caches return the same document until it changes.
So statuses are memoized by their inputs, and an unchanged one is not computed again.

While a cluster comes up, many reconciles only change messages and what is aggregated from others,
or report for the first time that they wait; the next change follows within milliseconds. Nobody
waits for these. So such minor changes are delayed, and several of them are one write. Whatever
somebody waits for (a condition's status or reason, a counter, a phase) is written at once, together
with all that was delayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from datetime import datetime, timedelta
from operator import is_
from typing import Any, Final, NamedTuple

from kapy.api.names import ConditionType as T
from kapy.api.names_v1beta1 import V1Beta1Type
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, Result, requeue
from kapy.kube import Document, Key

STATUS_DELAY: Final = timedelta(milliseconds=500)
MAX_DELAYED: Final = 100_000
AGGREGATED: Final = frozenset(
    {
        T.MACHINES_READY,
        T.MACHINES_UP_TO_DATE,
        T.CONTROL_PLANE_MACHINES_READY,
        T.CONTROL_PLANE_MACHINES_UP_TO_DATE,
        T.WORKER_MACHINES_READY,
        T.WORKER_MACHINES_UP_TO_DATE,
        T.SCALING_UP,
        T.SCALING_DOWN,
        V1Beta1Type.RESIZED,
        V1Beta1Type.MACHINE_SET_READY,
    }
)
"""Conditions that summarize conditions of other objects, or compare counters; counters say the
same, and sooner."""
NO_COUNTERS: Final[Set[str]] = frozenset()
_FIRST_REPORT: Final = frozenset(
    {"conditions", "deprecated", "observedGeneration", "phase", "lastUpdated"}
)


class StatusInputs(NamedTuple):
    """The inputs from which a status is computed. objects: shared documents (or objects decoded
    from them once), compared by identity. facts: all other inputs, compared by value.
    """

    objects: Sequence[object]
    facts: tuple[object, ...] = ()

    def equal(self, others: StatusInputs) -> bool:
        """Return whether both inputs are the same."""
        mine, theirs = self.objects, others.objects
        return (
            len(mine) == len(theirs) and self.facts == others.facts and all(map(is_, mine, theirs))
        )


class StatusMemo:
    """Remembers, by object, the inputs of its stored status, if the status does not depend
    on time.
    """

    def __init__(self) -> None:
        self._known: dict[Key, StatusInputs] = {}

    def is_current(self, key: Key, inputs: StatusInputs | None) -> bool:
        """Return whether the status would be the same. inputs: None if the status must always be
        computed.
        """
        memo = self._known.get(key)
        return memo is not None and inputs is not None and memo.equal(inputs)

    def keep(self, key: Key, inputs: StatusInputs) -> None:
        """Remember that the stored status was computed from these inputs."""
        self._known[key] = inputs

    def forget(self, key: Key) -> None:
        """Forget a deleted object."""
        self._known.pop(key, None)


class StatusDelay:
    """Remembers, by object, since when a minor change of its status has not been written.

    counters: fields of the status whose changes are minor, too.
    """

    def __init__(self, counters: Set[str] = NO_COUNTERS) -> None:
        self._since: dict[Key, datetime] = {}
        self._counters = counters

    def wait(self, draft: Draft[Any], now: datetime) -> Result:
        """Return when to reconcile again if the draft is not to be saved yet, else DONE."""
        key = draft.object.key
        if draft.object.deleting or not _is_minor(draft, self._counters):
            self._since.pop(key, None)
            return DONE
        if len(self._since) >= MAX_DELAYED:
            self._since.clear()  # the cache is full: all delays start again
        waited = now - self._since.setdefault(key, now)
        if timedelta(0) <= waited < STATUS_DELAY:
            return requeue(after=STATUS_DELAY - waited, because="a minor change of the status")
        del self._since[key]
        return DONE

    def forget(self, key: Key) -> None:
        """Forget a deleted object."""
        self._since.pop(key, None)


def _is_minor(draft: Draft[Any], counters: Set[str]) -> bool:
    """Return whether only messages, counters and aggregated conditions have changed, or all that is
    reported for the first time is that the object is not ready.
    """
    main, rest = draft.changes()
    if main or not rest:
        return False
    before, patch = draft.before.get("status") or {}, rest["status"]
    if before.get("conditions"):
        return _changes_no_outcome(before, patch, counters)
    return patch.keys() <= _FIRST_REPORT and not any(
        item["type"] == T.READY and item["status"] == "True"
        for item in patch.get("conditions") or ()
    )


def _changes_no_outcome(before: Document, patch: Document, counters: Set[str]) -> bool:
    for name, new in patch.items():
        if name in counters:
            continue
        old = before.get(name)
        if not new or not old:
            return False
        if name == "deprecated":
            if not _changes_no_outcome(old, new, counters):
                return False
        elif name == "v1beta1":
            if not new.keys() <= {"conditions", *counters} or (
                "conditions" in new and _statuses(old) != _statuses(new)
            ):
                return False
        elif name != "conditions" or _outcomes(old) != _outcomes(new):
            return False
    return True


def _outcomes(conditions: Iterable[Document]) -> dict[str, object]:
    """Return what each condition says, apart from its message; nothing of aggregated ones."""
    return {
        item["type"]: (item["status"], item.get("reason"))
        for item in conditions
        if item["type"] not in AGGREGATED
    }


def _statuses(v1beta1: Document) -> dict[str, object]:
    """Return which conditions of v1beta1 are true: why they are not is aggregated, too."""
    return {
        item["type"]: item["status"] == "True"
        for item in v1beta1.get("conditions") or ()
        if item["type"] not in AGGREGATED
    }
