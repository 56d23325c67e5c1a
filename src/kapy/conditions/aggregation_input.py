"""Optimization for aggregation: healthy Machines with nothing to report are represented by one of
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

from kapy.api.machine import Machine
from kapy.api.machines import is_updating_in_place
from kapy.api.names import Annotation, ConditionType
from kapy.api.names_v1beta1 import V1Beta1Type
from kapy.conditions import v1beta1
from kapy.conditions.lookup import FALSE, TRUE
from kapy.kube import Document

T = TypeVar("T")

_WELL = frozenset({ConditionType.READY, ConditionType.UP_TO_DATE})
_TRUE = frozenset({*_WELL, ConditionType.AVAILABLE, ConditionType.NODE_READY})


def is_healthy_and_silent(machine: Machine) -> bool:
    """Return whether the Machine is ready, available and up to date, without messages."""
    if machine.deleting or machine.status.node_ref is None or is_updating_in_place(machine):
        return False
    if Annotation.PENDING_ACKNOWLEDGE_MOVE in machine.metadata.annotations:
        return False
    missing = len(_TRUE)
    for one in machine.status.conditions:
        if one.type in _TRUE:
            if one.status != TRUE or (one.message and one.type in _WELL):
                return False
            missing -= 1
        elif one.type == ConditionType.HEALTH_CHECK_SUCCEEDED and one.status == FALSE:
            return False
    return not missing and _is_ready_in_v1beta1(machine)


def _is_ready_in_v1beta1(machine: Machine) -> bool:
    deprecated = machine.status.deprecated
    if deprecated is None or deprecated.v1beta1 is None:
        return False
    ready = v1beta1.get(deprecated.v1beta1.conditions, V1Beta1Type.READY)
    return ready is not None and ready.status == TRUE


class AggregationInput(NamedTuple):
    """The Machines to aggregate. loud: Machines with something to report. quiet: the number of
    other Machines. telling: the noteworthy Machines and one of the healthy ones.
    """

    noteworthy: list[Machine]
    healthy_count: int
    representatives: list[Machine]


def aggregation_input(machines: Iterable[Machine], quiet: set[int]) -> AggregationInput:
    """Build the aggregation input. quiet: the `id` of each Machine that is known to be healthy and
    silent.
    """
    loud: list[Machine] = []
    others: list[Machine] = []
    for machine in machines:
        (others if id(machine) in quiet else loud).append(machine)
    return AggregationInput(loud, len(others), [*loud, *others[:1]])


class MemoCache(Generic[T]):
    """Caches results by the identity of documents.

    about: the other inputs; if they change, the cache is dropped.
    """

    __slots__ = ("_about", "_known")

    def __init__(self) -> None:
        self._about: object = None
        # By the identity of the document, which is kept so that no other one can get it.
        self._known: dict[int, tuple[Document, T]] = {}

    def map(
        self, documents: Iterable[Document], about: object, make: Callable[[Document], T]
    ) -> list[T]:
        """Return `make` of each document, in order."""
        known = self._known if about == self._about else {}
        kept: dict[int, tuple[Document, T]] = {}
        for document in documents:
            one = id(document)
            kept[one] = known.get(one) or (document, make(document))
        self._about, self._known = about, kept
        return [made for _, made in kept.values()]
