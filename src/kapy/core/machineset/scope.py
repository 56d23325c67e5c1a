"""The dependencies, inputs and results of one reconcile of a MachineSet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeAlias
from weakref import WeakValueDictionary

from kapy._aio.clock import Clock
from kapy.api.cluster import Cluster
from kapy.api.condition import V1Beta1Condition
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import Annotation
from kapy.client.client import Client
from kapy.conditions.aggregation_input import AggregationInput, Group, MemoCache, aggregation_input
from kapy.contract.cluster_objects import ClusterObjects
from kapy.contract.external import External
from kapy.engine.cache import Cache, Change, Informer
from kapy.engine.controller import Controller
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.engine.ssa_cache import SSACache
from kapy.engine.status_writes import StatusInputs
from kapy.kube import Document, Key
from kapy.kube.names import Resource


class ObservedMachine(NamedTuple):
    """A Machine, and its relation to the set. selected: whether the selector matches. controller:
    the uid of its controller, None without one. group: its aggregation group, None without one.
    checked: whether a health check reported on it.
    """

    document: Document
    selected: bool
    controller: str | None
    machine: Machine
    group: Group | None
    checked: bool


class SyncedMachine(NamedTuple):
    """A Machine in a state that agreed with the template, as did its clones. kinds: the kinds of
    the Machine and its clones.
    """

    machine: Document
    kinds: tuple[str, ...]


CloneKey: TypeAlias = tuple[Resource, Key]


@dataclass(slots=True, weakref_slot=True)
class MachineSetCache:
    """Cached states of one MachineSet's Machines.

    template: the encoded template. synced: the states that agree with `template`, by Machine uid.
    clones: the uid of the Machine for each clone that was not changed since it was compared.
    """

    observed: MemoCache[ObservedMachine] = field(default_factory=MemoCache)
    template: bytes = b""
    synced: dict[str, SyncedMachine] = field(default_factory=dict)
    clones: dict[CloneKey, str] = field(default_factory=dict)


class CloneChanges:
    """Finds out which Machines have to be compared with their template again: those whose clones
    were changed.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._watched: set[Resource] = set()
        # A set whose cache is dropped is compared as a whole.
        self._caches: WeakValueDictionary[CloneKey, MachineSetCache] = WeakValueDictionary()

    def follow(self, cache: MachineSetCache, uid: str, clones: Sequence[CloneKey]) -> None:
        """Record changes of a Machine's clones from now on."""
        for clone in clones:
            if clone[0] not in self._watched:
                self._watched.add(clone[0])
                informer = self._cache.informer(clone[0])
                informer.subscribe(partial(self._on_change, clone[0]))
            self._caches[clone] = cache
            cache.clones[clone] = uid

    def _on_change(self, resource: Resource, change: Change) -> None:
        clone = resource, Key.of(change.document)
        cache = self._caches.pop(clone, None)
        if cache is not None and (uid := cache.clones.pop(clone, None)) is not None:
            cache.synced.pop(uid, None)


@dataclass(slots=True)
class Dependencies:
    """The dependencies of the MachineSet reconciler.

    preflight: names of the enabled preflight checks, or `All`. applied: the SSA cache. caches:
    cached Machine states per MachineSet. controller: is enqueued by changes of clones, of the kinds
    in watched_clones.
    """

    client: Client
    cache: Cache
    external: External
    fleet: ClusterObjects
    events: Recorder
    clock: Clock
    preflight: frozenset[str]
    applied: SSACache
    caches: dict[Key, MachineSetCache] = field(default_factory=dict)
    controller: Controller | None = None
    watched_clones: dict[Resource, Informer[Document]] = field(default_factory=dict)
    clone_changes: CloneChanges = field(init=False)

    def __post_init__(self) -> None:
        self.clone_changes = CloneChanges(self.cache)


@dataclass(slots=True)
class MachineSetScope:
    """The state of one reconcile of a MachineSet.

    machines: its Machines, None before they were read, shared with other readers; documents: the
    same Machines by name; groups: their aggregation groups, by the Machine's `id`; checked: the
    Machines that a health check reported on. bootstrap_missing, infrastructure_missing: whether the
    template does not exist. blocked: the reasons for which no Machine can be created now;
    not_created: the same for v1beta1.
    """

    dependencies: Dependencies
    draft: Draft[MachineSet]
    cluster: Cluster
    now: datetime
    deployment: MachineDeployment | None = None
    machines: list[Machine] | None = None
    documents: dict[str, Document] = field(default_factory=dict)
    groups: dict[int, Group] = field(default_factory=dict)
    checked: list[Machine] = field(default_factory=list)
    bootstrap_missing: bool = False
    infrastructure_missing: bool = False
    blocked: Sequence[str] = ()
    not_created: V1Beta1Condition | None = None
    _sums: AggregationInput | None = None

    @property
    def machine_set(self) -> MachineSet:
        return self.draft.object

    @property
    def namespace(self) -> str:
        return self.draft.object.metadata.namespace

    @property
    def is_current(self) -> bool:
        """Return whether the set has its MachineDeployment's template, or is standalone."""
        if self.deployment is None:
            return True
        own, theirs = (
            item.metadata.annotations.get(Annotation.REVISION)
            for item in (self.machine_set, self.deployment)
        )
        return own == theirs

    @property
    def cache(self) -> MachineSetCache:
        """The cached states of the set's Machines."""
        return self.dependencies.caches.setdefault(self.machine_set.key, MachineSetCache())

    @property
    def status_inputs(self) -> StatusInputs | None:
        """Return the inputs of the status, used as a memoization key. None if the status depends on
        time (deletion, errors) and must be computed.
        """
        if self.machine_set.deleting or self.machines is None or self.blocked or self.not_created:
            return None
        if self.bootstrap_missing or self.infrastructure_missing:
            return None
        if len(self.groups) != len(self.machines):
            return None
        return StatusInputs([self.draft.before, self.cluster, *self.machines])

    @property
    def aggregation_input(self) -> AggregationInput:
        """Return the Machines to aggregate."""
        if self._sums is None:
            self._sums = aggregation_input(self.machines or (), self.groups)
        return self._sums

    def drop_machine(self, name: str) -> None:
        """Remove a Machine from the scope: it belongs to another set now."""
        machines, self._sums = self.machines, None
        assert machines is not None
        self.documents.pop(name, None)
        machines[:] = [machine for machine in machines if machine.metadata.name != name]

    def update_machine(self, document: Document) -> None:
        """Replace a Machine in the scope with its newer state."""
        machines, self._sums = self.machines, None
        assert machines is not None
        name = document["metadata"]["name"]
        self.documents[name] = document
        machines[:] = [
            self.dependencies.fleet.machine_of(document)
            if machine.metadata.name == name
            else machine
            for machine in machines
        ]
