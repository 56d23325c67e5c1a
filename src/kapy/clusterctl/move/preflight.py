"""The start of a move: the checks and messages before anything is changed."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.move.checks import (
    check_providers,
    check_ready,
    check_undeleted,
    check_unpaused,
)
from kapy.clusterctl.move.copying import existing_objects
from kapy.clusterctl.move.discovery import discover, ignored_objects
from kapy.clusterctl.move.journal import Journal, MoveStarted, PauseStarted
from kapy.clusterctl.move.log import Log
from kapy.clusterctl.move.plan import Treatment, left_behind, plan_move
from kapy.clusterctl.move.summary import log_counts, log_left_behind, paused_refs

_REHEARSAL: Final = (
    "*" * 56,
    "This is a dry-run move, will not perform any real action",
    "*" * 56,
)


async def start_move(
    source: Client,
    target: Client,
    start: MoveStarted,
    path: Path,
    log: Log,
    *,
    besides: Collection[str] = (),
) -> Journal:
    """Return the journal of a new move; nothing is changed yet. Raises MoveError if a check fails.

    besides: labels of providers that the target does not need.
    """
    log(0, "Performing move...")
    await check_providers(source, target, besides)
    graph = await discover(source, start.namespace, log)
    check_ready(graph)
    log_counts(graph, log)
    check_unpaused(graph)
    plan = plan_move(graph)
    check_undeleted(plan)
    await existing_objects(
        target, plan.objects.values()
    )  # refuses kinds that the target does not serve
    for remaining in left_behind(graph, plan):
        log_left_behind(remaining, log, level=0 if remaining.belongs else 5)
    journal = Journal.new(path, start)
    journal.write(PauseStarted(paused_refs(graph)))
    return journal


async def check_source(source: Client, namespace: str) -> None:
    """Raises MoveError if the objects of a namespace cannot be moved now."""
    graph = await discover(source, namespace)
    check_ready(graph)
    check_unpaused(graph)
    check_undeleted(plan_move(graph))


async def rehearse(source: Client, namespace: str, log: Log) -> None:
    """Log what a move would do and what it would leave behind. Raises MoveError."""
    log(0, "Performing move...")
    for text in _REHEARSAL:
        log(0, text)
    graph = await discover(source, namespace, log)
    log_counts(graph, log)
    check_unpaused(graph)
    plan = plan_move(graph)
    log(1, "Pausing the source cluster")
    log(1, "Pausing the source ClusterClasses")
    log(0, "Waiting for all resources to be ready to move")
    log(0, "Creating objects in the target cluster")
    for planned in plan.objects.values():
        log(1, "Creating", **{planned.ref.kind: planned.ref.name}, Namespace=planned.ref.namespace)
    log(0, "Deleting objects from the source cluster")
    for planned in reversed(plan.of(Treatment.MOVED)):
        log(1, "Deleting", **{planned.ref.kind: planned.ref.name}, Namespace=planned.ref.namespace)
    log(1, "Resuming the target ClusterClasses")
    log(1, "Resuming the target cluster")
    for item in left_behind(graph, plan):
        log_left_behind(item, log)
    for item in await ignored_objects(source, graph.kinds, namespace):
        log_left_behind(item, log)
