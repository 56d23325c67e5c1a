"""Divide the clusters among several replicas of a program.

Each replica holds one of a few Leases (`slots`) and owns the clusters that rendezvous hashing over
the held slots assigns to it. Every replica sees the holders in the Leases, but not at the same
moment. The following rules ensure that no two replicas ever work on one cluster:

* A shard writes the members by which it works into its own Lease: its claims.
* It works on a cluster that it claims, unless another Lease claims it, too. It reads all Leases
  after it wrote its claims and before it acts on them: of two shards that claim the same cluster,
  the later one sees the earlier one, and waits.
* When members join or leave, a shard begins nothing more on clusters that are not its own under
  the new membership, waits for running work on them, and only then writes the new members.
* A shard that does not renew its Lease stops writing (`Fenced`). After the Lease's duration another
  one revokes its claims by a write that makes any later renewal fail. Only then are they void.

So nothing depends on synchronized clocks or on messages that arrive in time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kapy._aio.clock import Clock
from kapy._aio.services import Service, run_together
from kapy.client.client import Client
from kapy.client.stream import Event
from kapy.engine.cache import Change, Informer
from kapy.engine.cluster_of import NO_WEIGHTS, cluster_of, rendezvous_owner
from kapy.engine.controller import Controller
from kapy.engine.leadership import JITTER, LeaderElectionConfig, LeaderElector, first_error
from kapy.engine.leases import ObservedLease, released_lease
from kapy.engine.queue import INITIAL
from kapy.engine.reflector import Reflector
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, Conflict, NotFound, Unreachable
from kapy.kube.names import LEASES
from kapy.kube.prometheus import gauge

if TYPE_CHECKING:
    from prometheus_client.core import Metric

log = logging.getLogger(__name__)

LABEL: Final = "kapy.cluster.x-k8s.io/shards-of"
CLAIMS: Final = "kapy.cluster.x-k8s.io/claims-of"


def slot_name(lease: Key, number: int) -> str:
    """Return the name of the Lease of a slot."""
    return f"{lease.name}-shard-{number}"


class _Claims(msgspec.Struct):
    """The annotation of a Lease: the members by which its holder works."""

    holder: str
    members: list[str]


class _Slot(ObservedLease):
    """One Lease, as it was last observed."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    @property
    def claims(self) -> Sequence[str]:
        """The members by which its holder works; empty if it claims nothing (claims of a former
        holder are void).
        """
        lease = self.lease or {"metadata": {}}
        text = (lease["metadata"].get("annotations") or {}).get(CLAIMS, "")
        try:
            result = msgspec.json.decode(text, type=_Claims)
        except (ValueError, RecursionError):
            return ()
        return result.members if self.holder and result.holder == self.holder else ()


class Shards:
    """One of the replicas.

    client: its own client, not fenced. terms: the configuration of the shared Lease, from whose
    name the slots derive theirs. count: how many replicas may work at a time; further ones wait for
    a free slot. slot: the number of the only slot that this replica may hold, None for any.
    weights: the shares of slots (by the names of their Leases) in the clusters, where that of all
    others is 1; the same in all replicas.
    """

    def __init__(
        self,
        client: Client,
        terms: LeaderElectionConfig,
        count: int,
        clock: Clock,
        random: Random,
        *,
        slot: int | None = None,
        weights: Mapping[str, float] = NO_WEIGHTS,
    ) -> None:
        self._client, self._terms, self._clock, self._random = client, terms, clock, random
        self._slots: dict[str, _Slot] = {}
        numbers = range(count) if slot is None else (slot,)
        self._own = [slot_name(terms.lease, number) for number in numbers]
        self._weights = weights
        self._held: LeaderElector | None = None
        self._name = ""
        self._view: frozenset[str] = frozenset()
        self._next: frozenset[str] | None = None
        self._changed = asyncio.Event()
        self._known: dict[Key, bool] = {}
        self._under_way: dict[object, Key | None] = {}
        self._ended = asyncio.Event()
        self._controllers: list[tuple[Controller, Informer[Any]]] = []
        self._listeners: list[Callable[[], None]] = []

    def may_write(self) -> bool:
        """Return whether no other program can hold this program's slot at this moment."""
        return self._held is not None and self._held.may_write()

    @property
    def members(self) -> Sequence[str]:
        """The slots by which this program works."""
        return sorted(self._view)

    def claims(self, cluster: Key) -> bool:
        """Return whether this program owns a cluster; the former owner may still have to finish."""
        return bool(self._name) and self._owner(cluster, self._view) == self._name

    def holds(self, cluster: Key) -> bool:
        """Return whether this program may begin work for a cluster."""
        may_begin = self._known.get(cluster)
        if may_begin is None:
            may_begin = self._known[cluster] = self._may_begin(cluster)
        return may_begin

    def _may_begin(self, cluster: Key) -> bool:
        if not self.claims(cluster):
            return False
        if self._next is not None and self._owner(cluster, self._next) != self._name:
            return False
        others = (slot for slot in self._slots.values() if slot.name != self._name)
        return not any(self._owner(cluster, slot.claims) == slot.name for slot in others)

    def _owner(self, cluster: Key, members: Collection[str]) -> str:
        return rendezvous_owner(cluster, members, self._weights)

    def share(self, controller: Controller, of: Informer[Any]) -> None:
        """Limit a controller to this program's clusters.

        of: the objects that it reconciles. A deleted object belongs to no cluster and is reconciled
        by all.
        """
        controller.gate = _Gate(self, of)
        controller.watch(of, _keys_of_moved)
        self._controllers.append((controller, of))

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever the owned clusters may have changed."""
        self._listeners.append(listener)

    async def run_as_member(self, work: Service) -> None:
        """Wait for a slot, then run `work` for the owned clusters while the slot is held. Raises
        LostLeadership after the work has ended.
        """
        try:
            await run_together(watch=self._watch, part=partial(self._run_member, work))
        except BaseExceptionGroup as failures:
            raise first_error(failures) from None

    async def _run_member(self, work: Service) -> None:
        self._held = await self._acquire_slot()
        self._name = self._held.terms.lease.name
        try:
            await self._held.hold(partial(self._run_slot, work))
        finally:
            self._held = None

    async def _run_slot(self, work: Service) -> None:
        """Work on the owned clusters. The program may have held the slot before and lost its
        connection: it keeps none of its former state.
        """
        self._view, self._next = frozenset(), None
        self._notify()
        await run_together(work=work, shards=self._follow_membership)

    async def _watch(self) -> None:
        labels = f"{LABEL}={self._terms.lease.name}"
        namespace = self._terms.lease.namespace
        await Reflector(
            self._client, LEASES, self, self._random, labels=labels, namespace=namespace
        ).run()

    async def _acquire_slot(self) -> LeaderElector:
        """Return the first slot that can be acquired."""
        await self._read_leases()
        while True:
            self._changed.clear()
            for name in self._own:
                slot = self._slot_of(name)
                is_own = slot.holder == self._terms.identity  # it was deleted by mistake
                if not is_own and slot.remaining(self._terms.duration) > 0:
                    continue
                leader_elector = self._candidate(name)
                if await leader_elector.try_acquire():
                    return leader_elector
            await self._wait_for_change(self._own)

    def _candidate(self, name: str) -> LeaderElector:
        terms = replace(
            self._terms,
            lease=Key(self._terms.lease.namespace, name),
            labels={LABEL: self._terms.lease.name},
        )
        return LeaderElector(self._client, terms, self._clock, self._random, self._slot_of(name))

    async def _wait_for_change(self, slots: Iterable[str]) -> None:
        """Wait until a Lease changes or expires.

        The timer is the duration of the Leases: there is no event for a missing renewal.
        """
        times = [self._slot_of(name).remaining(self._terms.duration) for name in slots]
        with suppress(TimeoutError):
            async with asyncio.timeout(min((item for item in times if item > 0), default=None)):
                await self._changed.wait()

    async def _follow_membership(self) -> None:
        """Adapt to the current members."""
        while True:
            self._changed.clear()
            members = frozenset(slot.name for slot in self._slots.values() if slot.holder)
            members |= {self._name}
            if members != self._view:
                await self._change_members(members)
                continue
            others = [name for name in self._slots if name != self._name]
            silent = [name for name in others if self._is_silent(self._slots[name])]
            if silent:
                await self._revoke_claims(self._slots[silent[0]])
            else:
                await self._wait_for_change(others)

    def _is_silent(self, slot: _Slot) -> bool:
        return bool(slot.holder) and not slot.remaining(self._terms.duration)

    async def _change_members(self, members: frozenset[str]) -> None:
        assert self._held is not None
        self._next = members
        self._notify()
        await self._drain(members)
        claims = _Claims(self._held.terms.identity, sorted(members))
        await self._held.annotate_lease({CLAIMS: msgspec.json.encode(claims).decode()})
        await self._read_leases()
        self._view, self._next = members, None
        log.info("%s works by the choice of %s", self._name, ", ".join(sorted(members)))
        self._notify()

    async def _drain(self, members: frozenset[str]) -> None:
        """Wait until all running work for clusters that move away has ended."""
        leaving = {
            token
            for token, cluster in self._under_way.items()
            if cluster is None or self._owner(cluster, members) != self._name
        }
        while leaving & self._under_way.keys():
            self._ended.clear()
            await self._ended.wait()

    async def _read_leases(self) -> None:
        """Read all Leases from the server, not from the watch; retried until it succeeds."""
        labels = f"{LABEL}={self._terms.lease.name}"
        while True:
            try:
                leases = await self._client.list(LEASES, self._terms.lease.namespace, labels=labels)
            except (ApiError, Unreachable) as error:
                log.warning("cannot read the leases of shards: %s", error)
                await self._pause()
            else:
                await self.replace(leases.items, leases.resource_version)
                return

    async def _revoke_claims(self, slot: _Slot) -> None:
        """Revoke the claims of an expired Lease: its holder cannot renew after this."""
        assert slot.lease is not None
        key = Key.of(slot.lease)
        try:
            slot.observe(
                await self._client.update(LEASES, released_lease(slot.lease, self._clock()))
            )
            log.info("%s did not renew its lease: its clusters get other owners", slot.name)
        except NotFound:
            slot.forget()
        except Conflict:
            await self._read_leases()
        except (ApiError, Unreachable) as error:
            log.warning("cannot take lease %s away: %s", key, error)
            await self._pause()
        self._changed.set()

    async def _pause(self) -> None:
        """Sleep before a retry: there is no event for a server's recovery."""
        await asyncio.sleep(self._terms.retry_period * (1 + JITTER * self._random.random()))

    def collect(self) -> Iterable[Metric]:
        """Return the metrics of the shards."""
        yield gauge(
            "kapy_shards",
            "Shards by whose choice this one works.",
            ["shard"],
            [([self._name], len(self._view))],
        )
        yield gauge(
            "kapy_shard_clusters",
            "Clusters (and objects without one) that this shard works on.",
            ["shard"],
            [([self._name], sum(self._known.values()))],
        )

    def _slot_of(self, name: str) -> _Slot:
        return self._slots.setdefault(name, _Slot(name))

    def begin(self, cluster: Key | None) -> object | None:
        """Return a token for work on a cluster (None: for no cluster), None if this program must
        not begin it.
        """
        if cluster is not None and not self.holds(cluster):
            return None
        token = object()
        self._under_way[token] = cluster
        return token

    def end(self, token: object) -> None:
        """Record that the work has ended."""
        del self._under_way[token]
        self._ended.set()

    async def replace(self, items: Sequence[Document], version: str) -> bool:
        """Handle a list from the reflector. A Lease that was deleted by mistake still runs until it
        expires.
        """
        del version
        for lease in items:
            self._note(lease)
        return True

    def rewind(self) -> None:
        """Accept any version next: the server was restored."""
        for slot in self._slots.values():
            slot.rewind()

    def take(self, event: Event) -> None:
        """Handle an event from the reflector."""
        if event.type in ("ADDED", "MODIFIED"):
            self._note(event.document)
        elif self._held is not None and event.document["metadata"].get("name") == self._name:
            self._held.renew_now()  # it was deleted: another program could take the slot

    def _note(self, lease: Document) -> None:
        slot = self._slot_of(lease["metadata"]["name"])
        before = slot.holder, slot.claims
        slot.observe(lease)
        if (slot.holder, slot.claims) != before:
            self._changed.set()
            self._notify()

    def _notify(self) -> None:
        """Enqueue the objects of clusters that may be worked on only now, and notify listeners."""
        before, self._known = self._known, {}
        for controller, of in self._controllers:
            for key, cluster in _clusters(of):
                if self.holds(cluster) and not before.get(cluster):
                    controller.enqueue(key, priority=INITIAL)
        for listener in self._listeners:
            listener()


class _Gate:
    """Limits a controller to the clusters of this shard."""

    def __init__(self, shards: Shards, of: Informer[Any]) -> None:
        self._shards = shards
        self._of = of

    def begin(self, key: Key) -> object | None:
        document = self._of.raw(key)
        return self._shards.begin(None if document is None else cluster_of(document))

    def end(self, token: object) -> None:
        self._shards.end(token)


class ExtraKeys:
    """Permits a controller single keys besides those that its gate permits: work that belongs to an
    object without a cluster.
    """

    def __init__(self, controller: Controller) -> None:
        self._gate = controller.gate
        self._began: set[object] = set()
        self.keys: set[Key] = set()
        controller.gate = self

    def begin(self, key: Key) -> object | None:
        """Ask the gate first, then permit the extra keys."""
        token = None if self._gate is None else self._gate.begin(key)
        if token is None and key in self.keys:
            token = object()
            self._began.add(token)
        return token

    def end(self, token: object) -> None:
        """Record that the work has ended."""
        if token in self._began:
            self._began.remove(token)
        elif self._gate is not None:
            self._gate.end(token)


def _keys_of_moved(change: Change) -> Iterable[Key]:
    """Return the keys of an object that now belongs to another cluster."""
    new, old = change.new, change.old
    if new is not None and old is not None and cluster_of(new) != cluster_of(old):
        yield Key.of(new)


def _clusters(of: Informer[Any]) -> Iterator[tuple[Key, Key]]:
    for key in tuple(of.keys()):
        document = of.raw(key)
        if document is not None:
            yield key, cluster_of(document)
