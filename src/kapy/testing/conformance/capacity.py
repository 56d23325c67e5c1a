"""The room that a provider needs while it is judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nlargest
from typing import Final

from kapy.testing.conformance.behaviour import stage
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.subject import Kind, Subject

_CLUSTER: Final = "infra-cluster"


def needed(subject: Subject, checks: Sequence[Check], parallel: int = 0) -> dict[str, int]:
    """The most objects of each kind of a provider that are there at the same time, by kind.

    parallel: the most checks at one time, 0 for all that can be done side by side.
    """
    stages = {check.stage for check in checks}
    found = {one.resource.kind: 0 for one in subject.kinds}
    for number in stages:
        looks = [_made(subject, *look) for look in _looks(subject, checks, number)]
        for kind in found:
            counts = [one.get(kind, 0) for one in looks]
            most = sum(nlargest(parallel, counts) if parallel else counts)
            found[kind] = max(found[kind], most)
    return {kind: count for kind, count in found.items() if count}


def told(needs: dict[str, int]) -> str:
    """A sentence with the numbers."""
    counts = " and ".join(f"{count} {kind}" for kind, count in needs.items())
    return (
        f"The provider needs room for {counts} at the same time. All objects are deleted in the "
        "end. --parallel N does fewer checks at a time, which needs less room and more time."
    )


def _looks(subject: Subject, checks: Iterable[Check], number: int) -> list[tuple[Check, Kind]]:
    found = []
    for check in checks:
        if check.stage == number and not subject.unseen.get(check.role):
            whole = check.role == "clusterctl"
            kinds = subject.kinds[:1] if whole else subject.of(check.role)
            found += [(check, kind) for kind in kinds]
    return found


def _made(subject: Subject, check: Check, kind: Kind) -> dict[str, int]:
    """What one look makes, by kind."""
    if check.role == "clusterctl":
        return {one.resource.kind: 1 for one in subject.kinds}
    found = {kind.resource.kind: check.makes}
    clusters = subject.of(_CLUSTER)
    if clusters and kind.role in stage.PARTS and stage.PARTS[kind.role].around:
        found.setdefault(clusters[0].resource.kind, 1)
    return found
