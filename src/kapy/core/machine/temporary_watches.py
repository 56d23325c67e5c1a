"""Temporary watches in workload clusters, for Machines that are being deleted.

    snapshot = await watches.snapshot(controller, waiting, PODS, "spec.nodeName=n")
    if not_yet(snapshot.items):
        snapshot.watch()                                  # changes enqueue the Machine
    watches.release_unused(machine, waiting.watched)      # ends all other watches of the Machine

The first snapshot is a list; objects are watched only for Machines that have to wait, and Machines
that wait for the same objects share a watch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from kapy.client.client import Listed
from kapy.engine.cache import Change
from kapy.engine.controller import Controller
from kapy.kube import Document, Key
from kapy.kube.names import Resource
from kapy.remote.cluster_cache import ClusterCache

BATCH_SECONDS: Final = 0.25
"""Seconds in which changes of the Pods that leave a Node are collected."""


class WatchedObjects(NamedTuple):
    """A selection of objects of a workload cluster that is watched."""

    cluster: Key
    resource: Resource
    fields: str


@dataclass(frozen=True, slots=True)
class WaitingMachine:
    """A Machine that waits for changes around its Node. watched: the watches that it needs."""

    machine: Key
    cluster: Key
    node: str
    watched: set[WatchedObjects]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The objects at one moment. watch: a function that starts to watch them; it raises
    NotConnected.
    """

    items: Sequence[Document]
    watch: Callable[[], None]


class TemporaryWatches:
    """Starts and ends the temporary watches, and knows the Machines that wait for each of them."""

    def __init__(self, remote: ClusterCache) -> None:
        self._remote = remote
        self._waiting: dict[WatchedObjects, dict[Key, str]] = {}
        self._watched: dict[Key, set[WatchedObjects]] = {}
        self._daemon_sets: dict[Key, set[Key]] = {}

    async def snapshot(
        self, controller: Controller, waiting: WaitingMachine, resource: Resource, fields: str = ""
    ) -> Snapshot:
        """Return the current objects of a resource in the Machine's workload cluster. fields: a
        field selector. Raises NotConnected, and the workload cluster's errors.
        """
        watched = WatchedObjects(waiting.cluster, resource, fields)
        informer = self._remote.temporary_informer(*watched)
        if informer is None:
            listed = await self._remote.client(waiting.cluster).list(resource, fields=fields)
        else:
            listed = Listed(informer.list(), "")
        return Snapshot(listed.items, lambda: self._watch(controller, waiting, watched, listed))

    def daemon_sets(self, machine: Key) -> set[Key]:
        """Return the DaemonSets that were found during the drain of the Machine's Node."""
        return self._daemon_sets.setdefault(machine, set())

    def release_unused(self, machine: Key, needed: Collection[WatchedObjects] = ()) -> None:
        """End all watches of the Machine except for the needed ones."""
        watched = self._watched.pop(machine, set())
        for key in watched.difference(needed):
            waiting = self._waiting[key]
            del waiting[machine]
            if not waiting:
                del self._waiting[key]
                self._remote.stop_temporary_informer(*key)
        if needed:
            self._watched[machine] = watched.intersection(needed)
        else:
            self._daemon_sets.pop(machine, None)

    def _watch(
        self,
        controller: Controller,
        waiting: WaitingMachine,
        watched: WatchedObjects,
        objects: Listed[Document],
    ) -> None:
        informer = self._remote.start_temporary_informer(*watched, objects)
        waiting.watched.add(watched)
        self._waiting.setdefault(watched, {})[waiting.machine] = waiting.node
        self._watched.setdefault(waiting.machine, set()).add(watched)
        controller.watch(
            informer, _WaitingMachinesMapper(self, watched), initial=0, debounce=BATCH_SECONDS
        )

    def waiting_machines(self, watched: WatchedObjects, node: str | None) -> Iterable[Key]:
        """Return the Machines that wait for these objects, optionally on a Node."""
        machines = self._waiting.get(watched, {})
        return [key for key, name in machines.items() if node in (None, name)]


@dataclass(frozen=True, slots=True)
class _WaitingMachinesMapper:
    """Maps a change of watched objects to the waiting Machines; equal mappers count as one."""

    watches: TemporaryWatches
    objects: WatchedObjects

    def __call__(self, change: Change) -> Iterable[Key]:
        old, new = change.old, change.new
        if change.initial or (old and new and _relevant_state(old) == _relevant_state(new)):
            return ()
        node = (change.document.get("spec") or {}).get("nodeName")
        return self.watches.waiting_machines(self.objects, node)


def _relevant_state(document: Document) -> object:
    """Return the fields of a Pod, a VolumeAttachment or a disruption budget that waiting Machines
    depend on.
    """
    metadata, status = document["metadata"], document.get("status") or {}
    return (
        metadata.get("deletionTimestamp"),
        metadata.get("labels"),
        status.get("phase"),
        status.get("attached"),
        status.get("disruptionsAllowed"),
    )
