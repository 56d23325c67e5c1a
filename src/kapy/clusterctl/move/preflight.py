"""The start of a move: the checks and messages before anything is changed."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.move.copying import present
from kapy.clusterctl.move.discovery import discovered, not_considered
from kapy.clusterctl.move.journal import Begun, Journal, Pausing
from kapy.clusterctl.move.log import Log
from kapy.clusterctl.move.plan import Way, left_behind, planned
from kapy.clusterctl.move.refusals import (
    check_providers,
    check_ready,
    check_undeleted,
    check_unpaused,
)
from kapy.clusterctl.move.summary import paused_by, tell_counts, tell_left_behind

_REHEARSAL: Final = (
    "*" * 56,
    "This is a dry-run move, will not perform any real action",
    "*" * 56,
)


async def begin(
    source: Client,
    target: Client,
    begun: Begun,
    path: Path,
    tell: Log,
    *,
    besides: Collection[str] = (),
) -> Journal:
    """The journal of a new move; nothing is changed yet. Raises MoveError if a check fails.

    besides: labels of providers that the target does not need.
    """
    tell(0, "Performing move...")
    await check_providers(source, target, besides)
    graph = await discovered(source, begun.namespace, tell)
    check_ready(graph)
    tell_counts(graph, tell)
    check_unpaused(graph)
    plan = planned(graph)
    check_undeleted(plan)
    await present(target, plan.objects.values())  # refuses kinds that the target does not serve
    for one in left_behind(graph, plan):
        tell_left_behind(one, tell, level=0 if one.belongs else 5)
    journal = Journal.new(path, begun)
    journal.write(Pausing(paused_by(graph)))
    return journal


async def check_source(source: Client, namespace: str) -> None:
    """Raises MoveError if the objects of a namespace cannot be moved now."""
    graph = await discovered(source, namespace)
    check_ready(graph)
    check_unpaused(graph)
    check_undeleted(planned(graph))


async def rehearse(source: Client, namespace: str, tell: Log) -> None:
    """Log what a move would do and what it would leave behind. Raises MoveError."""
    tell(0, "Performing move...")
    for text in _REHEARSAL:
        tell(0, text)
    graph = await discovered(source, namespace, tell)
    tell_counts(graph, tell)
    check_unpaused(graph)
    plan = planned(graph)
    tell(1, "Pausing the source cluster")
    tell(1, "Pausing the source ClusterClasses")
    tell(0, "Waiting for all resources to be ready to move")
    tell(0, "Creating objects in the target cluster")
    for one in plan.objects.values():
        tell(1, "Creating", **{one.ref.kind: one.ref.name}, Namespace=one.ref.namespace)
    tell(0, "Deleting objects from the source cluster")
    for one in reversed(plan.of(Way.MOVED)):
        tell(1, "Deleting", **{one.ref.kind: one.ref.name}, Namespace=one.ref.namespace)
    tell(1, "Resuming the target ClusterClasses")
    tell(1, "Resuming the target cluster")
    for left in left_behind(graph, plan):
        tell_left_behind(left, tell)
    for left in await not_considered(source, graph.kinds, namespace):
        tell_left_behind(left, tell)
