"""What is watched in workload clusters for as long as Machines are being deleted.

    sight = await vigils.look(controller, waiting, PODS, "spec.nodeName=n")
    if not_yet(sight.items):
        sight.hold()                          # a change of these objects wakes the Machine
    vigils.keep(machine, waiting.held)        # … and what it waited for before does no longer

The first look is a list; only who has to wait has the objects watched, and those who wait for the
same objects share them.
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

TOGETHER: Final = 0.25
"""Seconds in which the Pods of a Node that leave are taken in together."""


class Held(NamedTuple):
    """Objects of a workload cluster that somebody waits for."""

    cluster: Key
    resource: Resource
    fields: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A Machine that waits for what happens to its Node. held: what it has to see for that."""

    machine: Key
    cluster: Key
    node: str
    held: set[Held]


@dataclass(frozen=True, slots=True)
class Sight:
    """What was seen at one look. hold: be woken when it changes; raises NotConnected."""

    items: Sequence[Document]
    hold: Callable[[], None]


class Vigils:
    """Who waits for which objects of which workload cluster."""

    def __init__(self, remote: ClusterCache) -> None:
        self._remote = remote
        self._waiting: dict[Held, dict[Key, str]] = {}
        self._held: dict[Key, set[Held]] = {}
        self._daemon_sets: dict[Key, set[Key]] = {}

    async def look(
        self, controller: Controller, waiting: Waiting, resource: Resource, fields: str = ""
    ) -> Sight:
        """The objects as they are now. Raises NotConnected, and what the cluster answers."""
        held = Held(waiting.cluster, resource, fields)
        informer = self._remote.temporary_informer(*held)
        if informer is None:
            listed = await self._remote.client(waiting.cluster).list(resource, fields=fields)
        else:
            listed = Listed(informer.list(), "")
        return Sight(listed.items, lambda: self._hold(controller, waiting, held, listed))

    def daemon_sets(self, machine: Key) -> set[Key]:
        """The DaemonSets that were seen already while the Machine's Node is drained."""
        return self._daemon_sets.setdefault(machine, set())

    def keep(self, machine: Key, needed: Collection[Held] = ()) -> None:
        """Let go of everything else that the Machine has waited for."""
        held = self._held.pop(machine, set())
        for one in held.difference(needed):
            waiting = self._waiting[one]
            del waiting[machine]
            if not waiting:
                del self._waiting[one]
                self._remote.stop_temporary_informer(*one)
        if needed:
            self._held[machine] = held.intersection(needed)
        else:
            self._daemon_sets.pop(machine, None)

    def _hold(
        self, controller: Controller, waiting: Waiting, held: Held, listed: Listed[Document]
    ) -> None:
        informer = self._remote.start_temporary_informer(*held, listed)
        waiting.held.add(held)
        self._waiting.setdefault(held, {})[waiting.machine] = waiting.node
        self._held.setdefault(waiting.machine, set()).add(held)
        controller.watch(informer, _Wakes(self, held), initial=0, debounce=TOGETHER)

    def waiting(self, held: Held, node: str | None) -> Iterable[Key]:
        """The Machines that wait for these objects, as far as they are about their Node."""
        machines = self._waiting.get(held, {})
        return [key for key, name in machines.items() if node in (None, name)]


@dataclass(frozen=True, slots=True)
class _Wakes:
    """Maps a change to the Machines that wait for it; equal ones count as one."""

    vigils: Vigils
    held: Held

    def __call__(self, change: Change) -> Iterable[Key]:
        old, new = change.old, change.new
        if change.initial or (old and new and _telling(old) == _telling(new)):
            return ()
        node = (change.document.get("spec") or {}).get("nodeName")
        return self.vigils.waiting(self.held, node)


def _telling(document: Document) -> object:
    """What matters of a Pod, a VolumeAttachment or a disruption budget to those who wait."""
    metadata, status = document["metadata"], document.get("status") or {}
    return (
        metadata.get("deletionTimestamp"),
        metadata.get("labels"),
        status.get("phase"),
        status.get("attached"),
        status.get("disruptionsAllowed"),
    )
