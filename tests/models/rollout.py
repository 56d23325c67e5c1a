"""A model of the rolling update: kapy's planner, and everything that may happen meanwhile.

A state has the old and the new MachineSet: what is wanted, what exists, what is available, and what
the MachineDeployment controller has seen of the last two. It may see them late, and it may crash
between two writes. The worst Machine is deleted first or last: both are tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.core.machinedeployment import strategies
from kapy.core.machinedeployment.rollout import ROLLING_UPDATE, Rollout
from kapy.kube import Document
from kapy.kube.model import decode
from tests.models.explorer import Model


class Set(NamedTuple):
    """One MachineSet. seen, seen_available: its status as the planner knows it."""

    wanted: int
    exists: int
    available: int
    seen: int
    seen_available: int


class State(NamedTuple):
    """old, new: the sets. lost: how many Machines may still fail."""

    old: Set
    new: Set
    lost: int


class Case(NamedTuple):
    """The fields of the MachineDeployment: numbers, or percentages."""

    desired: int
    surge: int | str
    unavailable: int | str
    failures: int = 0

    def __str__(self) -> str:
        return f"{self.desired}+{self.surge}-{self.unavailable}!{self.failures}"


EMPTY: Final = Set(0, 0, 0, 0, 0)


def model_of(case: Case) -> Model[State]:
    """The model of a rollout of all Machines."""
    full = Set(case.desired, case.desired, case.desired, case.desired, case.desired)
    most, least = limits(case)

    def broken(state: State) -> str:
        total = state.old.exists + state.new.exists
        if total > most:
            return f"{total} Machines exist, more than {most}"
        available = state.old.available + state.new.available
        failed = case.failures - state.lost
        if available < least - failed:
            return f"{available} Machines are available, less than {least}"
        return ""

    def is_goal(state: State) -> bool:
        done = Set(case.desired, case.desired, case.desired, case.desired, case.desired)
        return state.new == done and state.old == EMPTY

    return Model(
        [State(full, EMPTY, case.failures)], lambda item: steps(case, item), broken, is_goal
    )


def limits(case: Case) -> tuple[int, int]:
    """The most Machines that may exist, the fewest that must be available: by the documentation of
    maxSurge (rounded up) and maxUnavailable (rounded down), not by kapy's code."""
    surge = _share(case.surge, case.desired, up=True)
    unavailable = _share(case.unavailable, case.desired, up=False)
    if surge == unavailable == 0:
        unavailable = 1
    return case.desired + surge, max(case.desired - unavailable, 0)


def _share(value: int | str, desired: int, *, up: bool) -> int:
    if isinstance(value, int):
        return value
    hundredths = int(value.rstrip("%")) * desired
    return -(-hundredths // 100) if up else hundredths // 100


def steps(case: Case, state: State) -> Iterator[tuple[str, State]]:
    """Everything that may happen next."""
    old, new = state.old, state.new
    planned = plan(case, _seen(old), _seen(new))
    for name, count in planned.items():
        # Each write by itself: the manager may crash after it.
        if name == "old":
            yield "the planner scales old", state._replace(old=old._replace(wanted=count))
        else:
            yield "the planner scales new", state._replace(new=new._replace(wanted=count))
    for label, after in _set_steps(old):
        yield f"old: {label}", state._replace(old=after)
    for label, after in _set_steps(new):
        yield f"new: {label}", state._replace(new=after)
    if state.lost and old.available:
        failed = old._replace(available=old.available - 1)
        yield "!old: a Machine fails", State(failed, new, state.lost - 1)
    if state.lost and new.available:
        failed = new._replace(available=new.available - 1)
        yield "!new: a Machine fails", State(old, failed, state.lost - 1)


def _set_steps(item: Set) -> Iterator[tuple[str, Set]]:
    if item.exists < item.wanted:
        yield "a Machine is created", item._replace(exists=item.exists + 1)
    if item.exists > item.wanted:
        if item.available < item.exists:
            yield "an unavailable Machine is deleted", item._replace(exists=item.exists - 1)
        if item.available:
            fewer = item._replace(exists=item.exists - 1, available=item.available - 1)
            yield "an available Machine is deleted", fewer
    if item.available < item.exists:
        yield "a Machine becomes available", item._replace(available=item.available + 1)
    if (item.seen, item.seen_available) != (item.exists, item.available):
        yield "its status is seen", item._replace(seen=item.exists, seen_available=item.available)


def _seen(item: Set) -> tuple[int, int, int]:
    return item.wanted, item.seen, item.seen_available


@cache
def plan(case: Case, old: tuple[int, int, int], new: tuple[int, int, int]) -> dict[str, int]:
    """Return the replicas that kapy's planner assigns to each MachineSet."""
    rollout = Rollout(_deployment(case), _machine_set("new", new), [_machine_set("old", old)])
    strategies.plan_rolling_update(rollout)
    return rollout.scale


def _deployment(case: Case) -> MachineDeployment:
    update: Document = {"maxSurge": case.surge, "maxUnavailable": case.unavailable}
    strategy: Document = {"type": ROLLING_UPDATE, "rollingUpdate": update}
    spec: Document = {"replicas": case.desired, "rollout": {"strategy": strategy}}
    return decode({"metadata": {"name": "md"}, "spec": {**_SPEC, **spec}}, MachineDeployment)


def _machine_set(name: str, numbers: tuple[int, int, int]) -> MachineSet:
    wanted, observed, available = numbers
    status = {"replicas": observed, "availableReplicas": available}
    spec = {**_SPEC, "replicas": wanted}
    return decode({"metadata": {"name": name}, "spec": spec, "status": status}, MachineSet)


_SPEC: Final[Document] = {
    "clusterName": "meadow",
    "selector": {},
    "template": {
        "spec": {
            "clusterName": "meadow",
            "bootstrap": {},
            "infrastructureRef": {"apiGroup": "i", "kind": "K", "name": "n"},
        }
    },
}
