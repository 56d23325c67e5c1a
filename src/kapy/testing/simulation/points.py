"""Points at which a fault may happen, and faults.

A point is a request or a watch event of one manager, counted from the begin of the run:
`core:w12` is the twelfth write of the core manager, over all of its processes. A fault is written
`KIND@POINT`, as `crash-after@core:w12`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from kapy.kube.errors import KapyError


class BadFault(KapyError):
    """A fault is written wrong; the message says how to write it."""


class PointKind(Enum):
    """The kinds of points: the manager's writes, reads, watch events, and requests to workload
    clusters, extensions and clouds.
    """

    WRITE = "w"
    READ = "r"
    EVENT = "e"
    WORKLOAD = "k"
    HOOK = "h"
    CLOUD = "c"


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """One request or watch event of a manager.

    number: its number among those of the same manager and kind, from 1. is_known: whether it is a
    watch event of a write whose reply the process has: its cache has that state already.
    """

    manager: str
    letter: str
    number: int
    is_known: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f"{self.manager}:{self.letter}{self.number}"

    @property
    def kind(self) -> PointKind:
        """The kind of the point."""
        return PointKind(self.letter)


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of fault. points: the kinds of points at which it may happen. text: a description of
    the fault for reports.
    """

    name: str
    points: frozenset[PointKind]
    text: str


_W, _R, _E = PointKind.WRITE, PointKind.READ, PointKind.EVENT
_K, _H, _C = PointKind.WORKLOAD, PointKind.HOOK, PointKind.CLOUD


def _kind(name: str, text: str, *points: PointKind) -> FaultKind:
    return FaultKind(name, frozenset(points), text)


FAULT_KINDS: Final[Mapping[str, FaultKind]] = {
    kind.name: kind
    for kind in (
        _kind("crash-before", "the manager ended before it sent the request", _W),
        _kind("crash-after", "the manager ended after the write was stored", _W),
        _kind("lost-request", "the request was lost, and nothing was stored", _W, _R, _K, _H),
        _kind("lost-reply", "the reply was lost after the request was processed", _W, _R, _K, _H),
        _kind("late", "the request ran into its deadline and was applied a minute later", _W),
        _kind("conflict", "the server answered 409", _W),
        _kind("conflict-storm", "the next ten writes of the manager got a 409", _W),
        _kind("throttled", "the server answered 429", _W, _R),
        _kind("broken", "the server answered 500", _W, _R),
        _kind("unavailable", "the server answered 503 for 30 seconds", _W, _R),
        _kind("storage-full", "the server refused every write for a minute", _W),
        _kind("second-leader", "a second process of the manager worked for a minute", _W),
        _kind("lease-down", "the process could not renew its Lease for a minute", _W),
        _kind("stopped", "the process was stopped for a minute (SIGSTOP)", _W),
        _kind("clock-ahead", "the clock of the manager jumped an hour ahead", _W),
        _kind("clock-behind", "the clock of the manager jumped an hour back", _W),
        _kind("candidate-ahead", "the clock of this process alone jumped an hour ahead", _W),
        _kind("candidate-behind", "the clock of this process alone jumped an hour back", _W),
        _kind("restored", "the API server was restored, and resourceVersions went back", _W, _R),
        _kind(
            "backup-restored",
            "the API server was restored from a backup of five seconds ago, without Leases",
            _W,
            _R,
        ),
        _kind("stale", "the watch showed nothing new for 20 seconds", _E),
        _kind("expired", "the watch ended with 410, and the manager listed again", _E),
        _kind("gap", "the watch lost what happened in 20 seconds, and ended with 410", _E),
        _kind("watch-broken", "the watch ended", _E),
        _kind("repeated", "the watch sent the event twice", _E),
        _kind("workload-down", "the workload cluster did not answer for two minutes", _K),
        _kind("workload-silent", "requests to the workload cluster hung for two minutes", _K),
        _kind("workload-restored", "the workload's API server was restored from a backup", _K),
        _kind("etcd-quorum-lost", "etcd of the workload cluster had no quorum for two minutes", _K),
        _kind("etcd-leader-moved", "etcd of the workload cluster elected another leader", _K),
        _kind("etcd-member-late", "new etcd members were listed for 30 seconds unstarted", _K),
        _kind("node-flapping", "a Node was ready and not ready in turn for two minutes", _K),
        _kind("workload-ahead", "the clocks of workload clusters jumped an hour ahead", _K),
        _kind("workload-behind", "the clocks of workload clusters jumped an hour back", _K),
        _kind("hook-down", "no extension could be reached for a minute", _H),
        _kind("hook-timeout", "the extension did not answer in time", _H),
        _kind("hook-failed", "the extension answered 500", _H),
        _kind("hook-refused", "the extension answered that it failed", _H),
        _kind("hook-nonsense", "the extension answered what cannot be read", _H),
        _kind("cloud-crash-before", "the manager ended before it asked the cloud", _C),
        _kind("cloud-crash-after", "the manager ended after the cloud had carried it out", _C),
        _kind("cloud-lost-request", "the request to the cloud was lost", _C),
        _kind("cloud-lost-reply", "the cloud carried it out, and its reply was lost", _C),
        _kind("cloud-late", "the request timed out, and was carried out a minute later", _C),
        _kind("cloud-slow", "the cloud answered after 20 seconds", _C),
        _kind("cloud-failed", "the cloud answered with an error, and did nothing", _C),
        _kind("cloud-half-failed", "the cloud carried it out, and answered with an error", _C),
        _kind("cloud-down", "the cloud did not answer for a minute", _C),
    )
}


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that is injected at one request or event of a simulated run."""

    kind: str
    point: Point

    def __str__(self) -> str:
        return f"{self.kind}@{self.point}"


def fault_kind(name: str) -> FaultKind:
    """Return the kind of fault with a name. Raises BadFault."""
    if name not in FAULT_KINDS:
        raise BadFault(f"there is no fault {name!r}; there are {', '.join(FAULT_KINDS)}")
    return FAULT_KINDS[name]


_FAULT: Final = re.compile(r"([a-z-]+)@([a-z-]+):([wrekhc])([1-9][0-9]{0,8})")


def parse_fault(text: str) -> Fault:
    """Parse a fault in the form `KIND@POINT`. Raises BadFault."""
    match = _FAULT.fullmatch(text.strip())
    if match is None:
        raise BadFault(
            f"{text.strip()!r} is no fault; write KIND@MANAGER:POINT, as crash-after@core:w12"
        )
    name, manager, letter, number = match.groups()
    kind = fault_kind(name)
    if PointKind(letter) not in kind.points:
        letters = ", ".join(sorted(point_kind.value for point_kind in kind.points))
        raise BadFault(f"{name} does not happen at {letter}{number}, only at points {letters}")
    return Fault(name, Point(manager, letter, int(number)))


def parse_faults(text: str) -> tuple[Fault, ...]:
    """Parse faults that are separated by commas. Raises BadFault."""
    return tuple(parse_fault(part) for part in text.split(",") if part.strip())


def format_faults(faults: Sequence[Fault]) -> str:
    """Return faults as the text that `parse_faults` parses."""
    return ",".join(map(str, faults))
