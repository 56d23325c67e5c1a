"""A move of clusters to a second management cluster, by a command that crashes and is resumed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.client.client import Client
from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.move.journal import Journal, Mode, MoveDone, MoveStarted, Place
from kapy.clusterctl.move.log import no_log
from kapy.clusterctl.move.mover import Mover
from kapy.clusterctl.move.preflight import check_source
from kapy.kube.errors import ApiError, Unreachable
from kapy.kube.http import ADMIN
from kapy.testing.simulation.event_loop import PROCESS
from kapy.testing.simulation.network import ManagerNetwork, ManagerState
from kapy.testing.simulation.world import World

MOVER: Final = "mover"
"""The name of the move command in points."""
RESUMED_AFTER: Final = 5.0
MOST_RUNS: Final = 20


class MemoryJournal(Journal):
    """A move's journal in a list instead of a file: the processes of a simulation fork, and share
    no file.
    """

    def __init__(self, disk: list[Any]) -> None:
        super().__init__(Path("journal"), -1, disk)
        self._disk = disk

    def write(self, *entries: Any) -> None:
        """Append entries to the journal."""
        self._disk.extend(entries)
        for entry in entries:
            self._apply_entry(entry)

    def end(self) -> None:
        """Record in the journal that the move is complete."""
        self.write(MoveDone())


class Command:
    """One run of the move command. error: the error with which the command ended, "" without
    one.
    """

    manager = MOVER

    def __init__(self) -> None:
        self.is_alive = True
        self.error = ""
        self.state = ManagerState()
        self.stopped_until = self.lease_down_until = -1.0
        self.clock_error = timedelta()
        self.written: set[str] = set()
        self.task: asyncio.Task[None] | None = None
        self.start_second: Callable[[], None] = lambda: None

    def crash(self) -> None:
        """End the move command at once."""
        self.is_alive = False
        if self.task is not None:
            asyncio.get_running_loop().call_soon(self.task.cancel)


class Sides:
    """Watches both management clusters of a move. broken: a sentence for each Cluster that both
    reconcile.
    """

    def __init__(self, source: World, target: World) -> None:
        self._worlds = source, target
        self.broken: set[str] = set()
        for world in self._worlds:
            world.server.store.listeners.append(self._on_write)

    def _on_write(self, event: WriteEvent) -> None:
        if not event.table.startswith("clusters."):
            return
        names = [
            {
                cluster["metadata"]["name"]
                for cluster in world.documents(world.resources["Cluster"])
                if not (cluster.get("spec") or {}).get("paused")
            }
            for world in self._worlds
        ]
        for name in names[0] & names[1]:
            self.broken.add(f"Cluster {name} is reconciled by both management clusters")


async def move(source: World, target: World, namespace: str) -> None:
    """Move all clusters of a namespace; resume the command until it has ended. Raises MoveError."""
    place = Place("source", "source"), Place("target", "target")
    disk: list[Any] = [MoveStarted("simulated", Mode.CLUSTERS, namespace, *place)]
    await check_source(source.client, namespace)
    for _ in range(MOST_RUNS):
        command = Command()
        journal = MemoryJournal(disk)
        there, here = (_client(world, command, source) for world in (target, source))
        mover = Mover(here, there, journal, no_log)
        async with asyncio.TaskGroup() as group:
            command.task = group.create_task(_attempt(mover, command))
        if journal.has_ended:
            return
        source.trace.add("user", does="resume the move")
        await asyncio.sleep(RESUMED_AFTER)
    raise MoveError(f"the move did not end in {MOST_RUNS} runs: {command.error}")


def _client(world: World, command: Command, source: World) -> Client:
    """Return the move command's client for one of the management clusters. source: the source of
    the move, whose network decides about faults.
    """
    network = ManagerNetwork(world.server.transport(ADMIN), command, source.network)
    return Client(network, field_manager=MOVER)


async def _attempt(mover: Mover, command: Command) -> None:
    PROCESS.set(command)
    try:
        await mover.run()
    except (MoveError, ApiError, Unreachable) as error:
        command.error = str(error)
