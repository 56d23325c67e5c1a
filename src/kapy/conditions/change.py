"""Write conditions to an object."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Protocol

import msgspec

from kapy.api.condition import Condition
from kapy.api.times import moment, stamp
from kapy.conditions.lookup import get
from kapy.conditions.order import place
from kapy.kube.meta import ObjectMeta
from kapy.kube.names import Resource

LONGEST_MESSAGE: Final = 32768


class HasConditions(Protocol):
    """A status with conditions."""

    conditions: list[Condition]


class HasMetadata(Protocol):
    """A typed object."""

    @property
    def RESOURCE(self) -> Resource: ...  # noqa: N802

    @property
    def metadata(self) -> ObjectMeta: ...


class Conditioned(HasMetadata, Protocol):
    """A typed object whose status has conditions."""

    @property
    def status(self) -> HasConditions: ...


def set_condition(obj: Conditioned, condition: Condition, now: datetime) -> bool:
    """Write a condition to an object's status; return True if that changed anything.

    The transition time is the condition's own, or `now`, and changes only with the status.
    observedGeneration is the object's generation. `condition` is copied. Too long messages (of
    providers) are truncated.
    """
    if len(condition.message) > LONGEST_MESSAGE:
        cut = condition.message[:LONGEST_MESSAGE]
        condition = msgspec.structs.replace(condition, message=cut)
    generation = obj.metadata.generation or None
    conditions = obj.status.conditions
    present = get(conditions, condition.type)
    if present is None:
        added = Condition(
            type=condition.type,
            status=condition.status,
            reason=condition.reason,
            message=condition.message,
            last_transition_time=_time_of(condition, now),
            observed_generation=generation,
        )
        conditions.append(added)
    elif (
        present.status == condition.status
        and present.reason == condition.reason
        and present.message == condition.message
        and (present.observed_generation or None) == generation
    ):
        return False
    else:
        if present.status != condition.status:
            present.last_transition_time = _time_of(condition, now)
        present.status = condition.status
        present.reason = condition.reason
        present.message = condition.message
        present.observed_generation = generation
    conditions.sort(key=place)
    return True


def delete_condition(obj: Conditioned, type_: str) -> None:
    """Remove a condition from an object's status."""
    conditions = obj.status.conditions
    conditions[:] = [condition for condition in conditions if condition.type != type_]


def _time_of(condition: Condition, now: datetime) -> str:
    """Return the transition time in whole seconds."""
    time = condition.last_transition_time
    if "." in time:
        return stamp(moment(time))
    return time or stamp(now)
