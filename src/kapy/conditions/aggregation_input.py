"""An optimization for aggregating conditions: one Machine represents all that report the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.machines import is_updating_in_place
from kapy.api.names import Annotation, ConditionType, Label
from kapy.api.names_v1beta1 import V1Beta1Type
from kapy.conditions import v1beta1
from kapy.conditions.lookup import FALSE, TRUE
from kapy.kube import Document

T = TypeVar("T")


class Group(NamedTuple):
    """The common state of a group of Machines: the message of their condition UpToDate and, if
    they wait to be replaced, the time of its last transition.
    """

    message: str = ""
    since: str = ""


HEALTHY: Final = Group()
"""The Machines that are up to date and have nothing to report."""

_WELL = frozenset({ConditionType.READY, ConditionType.AVAILABLE, ConditionType.NODE_READY})


def group_of(machine: Machine) -> Group | None:
    """Return the group of a Machine that is ready and available, and either healthy or waiting to
    be replaced.

    None: the Machine has something of its own to report, or its status will change with time.
    """
    if machine.deleting or machine.status.node_ref is None or is_updating_in_place(machine):
        return None
    if Annotation.PENDING_ACKNOWLEDGE_MOVE in machine.metadata.annotations:
        return None
    group: Group | None = None
    missing = len(_WELL)
    for condition in machine.status.conditions:
        if condition.type in _WELL:
            if condition.status != TRUE or (
                condition.message and condition.type == ConditionType.READY
            ):
                return None
            missing -= 1
        elif condition.type == ConditionType.UP_TO_DATE:
            group = _group_by(condition)
        elif condition.type == ConditionType.HEALTH_CHECK_SUCCEEDED and condition.status == FALSE:
            return None
    if missing or (group != HEALTHY and Label.CONTROL_PLANE in machine.metadata.labels):
        return None
    return group if _is_ready_in_v1beta1(machine) else None


def _group_by(up_to_date: Condition) -> Group | None:
    """Return the group of a Machine by its condition UpToDate."""
    if up_to_date.status == TRUE and not up_to_date.message:
        return HEALTHY
    if up_to_date.status == FALSE and up_to_date.message:
        return Group(up_to_date.message, up_to_date.last_transition_time)
    return None


def _is_ready_in_v1beta1(machine: Machine) -> bool:
    deprecated = machine.status.deprecated
    if deprecated is None or deprecated.v1beta1 is None:
        return False
    ready = v1beta1.get(deprecated.v1beta1.conditions, V1Beta1Type.READY)
    return ready is not None and ready.status == TRUE


@dataclass(slots=True)
class OutdatedGroup:
    """Ready and available Machines whose conditions UpToDate are False and equal. others: names of
    the Machines beside the representative.
    """

    representative: Machine
    others: list[str]

    def __len__(self) -> int:
        return 1 + len(self.others)


class AggregationInput(NamedTuple):
    """The Machines to aggregate.

    noteworthy: the Machines that belong to no group. healthy_count: the number of healthy Machines.
    outdated: the groups of Machines that wait to be replaced. representatives: the noteworthy
    Machines and one of each group.
    """

    noteworthy: list[Machine]
    healthy_count: int
    outdated: list[OutdatedGroup]
    representatives: list[Machine]

    @property
    def ready_count(self) -> int:
        """The number of Machines of all groups; all of them are ready and available."""
        return self.healthy_count + sum(map(len, self.outdated))


def aggregation_input(machines: Iterable[Machine], groups: Mapping[int, Group]) -> AggregationInput:
    """Build the aggregation input. groups: the group of each Machine that has one, by the Machine's
    `id`.
    """
    noteworthy: list[Machine] = []
    outdated: dict[Group, OutdatedGroup] = {}
    healthy, healthy_count = list[Machine](), 0
    for machine in machines:
        group = groups.get(id(machine))
        if group is None:
            noteworthy.append(machine)
        elif group is HEALTHY:
            healthy_count += 1
            if healthy_count == 1:
                healthy.append(machine)
        elif (same := outdated.get(group)) is not None:
            same.others.append(machine.metadata.name)
        else:
            outdated[group] = OutdatedGroup(machine, [])
    waiting = [*outdated.values()]
    representatives = [*noteworthy, *healthy, *(group.representative for group in waiting)]
    return AggregationInput(noteworthy, healthy_count, waiting, representatives)


_MISSING: Final[Any] = object()


class MemoCache(Generic[T]):
    """Caches results by the identity of documents.

    about: the other inputs; if they change, the cache is dropped. Documents are compared with those
    of the last call at the same places, since one of thousands has changed, mostly.
    """

    __slots__ = ("_about", "_documents", "_results")

    def __init__(self) -> None:
        self._about: object = None
        self._documents: Sequence[Document] = ()  # they are kept, so no `id` can be reused
        self._results: list[T] = []

    def map(
        self, documents: Sequence[Document], about: object, make: Callable[[Document], T]
    ) -> Sequence[T]:
        """Return `make` of each document, in order."""
        before, results = self._documents, self._results
        if about != self._about:
            before, results = (), []
        if len(documents) == len(before):
            changed = [
                place
                for place, (new, old) in enumerate(zip(documents, before, strict=True))
                if new is not old
            ]
            if not changed:
                return results
            if len(changed) == 1:
                results = results.copy()
                for place in changed:
                    results[place] = make(documents[place])
                return self._keep(about, documents, results)
        results_by_id = dict(zip(map(id, before), results, strict=True))
        return self._keep(
            about,
            documents,
            [
                make(document) if result is _MISSING else result
                for document in documents
                for result in (results_by_id.get(id(document), _MISSING),)
            ],
        )

    def _keep(self, about: object, documents: Sequence[Document], results: list[T]) -> Sequence[T]:
        self._about, self._documents, self._results = about, documents, results
        return results
