"""Several programs share the clusters among them, each working on its own.

Each holds one of a few Leases (`slots`), and gets the clusters that fall to it when all that are
held are the choice. Who holds which Lease is seen by all in the Leases; that they do not see it
in the same moment is what this module is about. The rules, by which no two ever work on one
cluster:

* A shard writes into its own Lease by which choice of members it works: its claims.
* It works on a cluster that it claims, unless somebody else's Lease claims it, too. It looks at
  the Leases of all after it wrote its claims and before it goes by them: of two who claim the same,
  the later one sees the earlier one, and waits.
* When members come or go, it begins nothing more on clusters that are not its own by the new
  choice, waits for what is under way on them, and only then writes the new choice into its Lease.
* A shard that does not renew its Lease stops writing (`Fenced`), and after the Lease's duration
  another one takes it from it, by a write that makes any later renewal fail. Only then are its
  claims void.

So nothing rests on two clocks being equal, nor on messages that arrive in time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from kapy.engine.belonging import chosen, cluster_of
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller
from kapy.engine.leadership import JITTER, Leadership, Terms, first_of
from kapy.engine.leases import Seen, given_up
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


class _Claims(msgspec.Struct):
    """What a Lease's annotation says: by the choice of which members its holder works."""

    holder: str
    members: list[str]


class _Slot(Seen):
    """One Lease, as it was seen last."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    @property
    def claims(self) -> Sequence[str]:
        """The choice by which its holder works; nobody where it says none (a former holder's
        counts no more)."""
        lease = self.lease or {"metadata": {}}
        text = (lease["metadata"].get("annotations") or {}).get(CLAIMS, "")
        try:
            found = msgspec.json.decode(text, type=_Claims)
        except (ValueError, RecursionError):
            return ()
        return found.members if self.holder and found.holder == self.holder else ()


class Shards:
    """One of the programs. client: of its own, not fenced. terms: of the Lease of all together,
    from which those of the slots have their names. count: how many may work at a time; further
    programs wait until a slot is free.
    """

    def __init__(
        self, client: Client, terms: Terms, count: int, clock: Clock, random: Random
    ) -> None:
        self._client, self._terms, self._clock, self._random = client, terms, clock, random
        self._slots: dict[str, _Slot] = {}
        self._own = [f"{terms.lease.name}-shard-{number}" for number in range(count)]
        self._held: Leadership | None = None
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
        """Whether nobody else can have this program's slot at this moment."""
        return self._held is not None and self._held.may_write()

    @property
    def members(self) -> Sequence[str]:
        """The slots by whose choice this program works."""
        return sorted(self._view)

    def claims(self, cluster: Key) -> bool:
        """Whether a cluster falls to this program; it may have to wait for who had it before."""
        return bool(self._name) and chosen(cluster, self._view) == self._name

    def holds(self, cluster: Key) -> bool:
        """Whether this program may begin something for a cluster."""
        known = self._known.get(cluster)
        if known is None:
            known = self._known[cluster] = self._judged(cluster)
        return known

    def _judged(self, cluster: Key) -> bool:
        if not self.claims(cluster):
            return False
        if self._next is not None and chosen(cluster, self._next) != self._name:
            return False
        others = (one for one in self._slots.values() if one.name != self._name)
        return not any(chosen(cluster, one.claims) == one.name for one in others)

    def share(self, controller: Controller, of: Informer[Any]) -> None:
        """Have a controller work only on what belongs to this program's clusters.

        of: the objects that it reconciles. What is gone belongs to nobody, and is looked at by all.
        """
        controller.gate = _Gate(self, of)
        controller.watch(of, _moved)
        self._controllers.append((controller, of))

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever clusters may have come or gone."""
        self._listeners.append(listener)

    async def take_part(self, work: Service) -> None:
        """Wait for a slot, then run `work`, with the clusters that fall to this program, for as
        long as it is held. Raises LostLeadership, after the work has ended."""
        try:
            await run_together(watch=self._watch, part=partial(self._part, work))
        except BaseExceptionGroup as failures:
            raise first_of(failures) from None

    async def _part(self, work: Service) -> None:
        self._held = await self._slot()
        self._name = self._held.terms.lease.name
        try:
            await self._held.hold(partial(self._share, work))
        finally:
            self._held = None

    async def _share(self, work: Service) -> None:
        """Work with what falls to this program. It may have held its slot before, and been cut off
        from the server: then nothing of what it knew counts."""
        self._view, self._next = frozenset(), None
        self._tell()
        await run_together(work=work, shards=self._follow)

    async def _watch(self) -> None:
        labels = f"{LABEL}={self._terms.lease.name}"
        namespace = self._terms.lease.namespace
        await Reflector(
            self._client, LEASES, self, self._random, labels=labels, namespace=namespace
        ).run()

    async def _slot(self) -> Leadership:
        """The first slot that can be had."""
        await self._look()
        while True:
            self._changed.clear()
            for name in self._own:
                if self._seen(name).left(self._terms.duration) > 0:
                    continue
                one = self._candidate(name)
                if await one.tried():
                    return one
            await self._something(self._own)

    def _candidate(self, name: str) -> Leadership:
        terms = replace(
            self._terms,
            lease=Key(self._terms.lease.namespace, name),
            labels={LABEL: self._terms.lease.name},
        )
        return Leadership(self._client, terms, self._clock, self._random, self._seen(name))

    async def _something(self, slots: Iterable[str]) -> None:
        """Wait until a Lease changes hands or says something new, or is silent for too long.

        The timer is the Leases': nothing tells that somebody does not renew.
        """
        left = [self._seen(name).left(self._terms.duration) for name in slots]
        with suppress(TimeoutError):
            async with asyncio.timeout(min((one for one in left if one > 0), default=None)):
                await self._changed.wait()

    async def _follow(self) -> None:
        """Work by the choice of those who are there."""
        while True:
            self._changed.clear()
            members = frozenset(one.name for one in self._slots.values() if one.holder)
            members |= {self._name}
            if members != self._view:
                await self._move_to(members)
                continue
            others = [name for name in self._slots if name != self._name]
            silent = [name for name in others if self._is_silent(self._slots[name])]
            if silent:
                await self._take_away(self._slots[silent[0]])
            else:
                await self._something(others)

    def _is_silent(self, slot: _Slot) -> bool:
        return bool(slot.holder) and not slot.left(self._terms.duration)

    async def _move_to(self, members: frozenset[str]) -> None:
        assert self._held is not None
        self._next = members
        self._tell()
        await self._drained(members)
        claims = _Claims(self._held.terms.identity, sorted(members))
        await self._held.note({CLAIMS: msgspec.json.encode(claims).decode()})
        await self._look()
        self._view, self._next = members, None
        log.info("%s works by the choice of %s", self._name, ", ".join(sorted(members)))
        self._tell()

    async def _drained(self, members: frozenset[str]) -> None:
        """Wait until all that was begun for clusters that go elsewhere has ended."""
        leaving = {
            token
            for token, cluster in self._under_way.items()
            if cluster is None or chosen(cluster, members) != self._name
        }
        while leaving & self._under_way.keys():
            self._ended.clear()
            await self._ended.wait()

    async def _look(self) -> None:
        """Read all Leases from the server, past the watch; tried until it is done."""
        labels = f"{LABEL}={self._terms.lease.name}"
        while True:
            try:
                found = await self._client.list(LEASES, self._terms.lease.namespace, labels=labels)
            except (ApiError, Unreachable) as error:
                log.warning("cannot read the leases of shards: %s", error)
                await self._pause()
            else:
                self.replace(found.items, found.resource_version)
                return

    async def _take_away(self, slot: _Slot) -> None:
        """Make void what a silent one claims: it cannot renew after this."""
        assert slot.lease is not None
        key = Key.of(slot.lease)
        try:
            slot.note(await self._client.update(LEASES, given_up(slot.lease, self._clock())))
            log.info("%s was silent for too long: its clusters go to others", slot.name)
        except NotFound:
            slot.forget()
        except Conflict:
            await self._look()
        except (ApiError, Unreachable) as error:
            log.warning("cannot take lease %s away: %s", key, error)
            await self._pause()
        self._changed.set()

    async def _pause(self) -> None:
        """A timer, because a server that fails does not tell when it will serve."""
        await asyncio.sleep(self._terms.retry_period * (1 + JITTER * self._random.random()))

    def collect(self) -> Iterable[Metric]:
        """What is shared out, as metrics."""
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

    def _seen(self, name: str) -> _Slot:
        return self._slots.setdefault(name, _Slot(name))

    def begin(self, cluster: Key | None) -> object | None:
        """A token for something that is begun for a cluster (None: nobody's), None where this
        program must not."""
        if cluster is not None and not self.holds(cluster):
            return None
        token = object()
        self._under_way[token] = cluster
        return token

    def end(self, token: object) -> None:
        """It has ended."""
        del self._under_way[token]
        self._ended.set()

    def replace(self, items: Sequence[Document], version: str) -> bool:
        """Take in a list, for the reflector. A Lease that is not in it was deleted by somebody who
        should not have: its holder's time runs all the same."""
        del version
        for lease in items:
            self._note(lease)
        return True

    def rewind(self) -> None:
        """The server was restored: its next answers are news."""
        for slot in self._slots.values():
            slot.rewind()

    def take(self, event: Event) -> None:
        """Take in an event, for the reflector."""
        if event.type in ("ADDED", "MODIFIED"):
            self._note(event.document)

    def _note(self, lease: Document) -> None:
        slot = self._seen(lease["metadata"]["name"])
        before = slot.holder, slot.claims
        slot.note(lease)
        if (slot.holder, slot.claims) != before:
            self._changed.set()
            self._tell()

    def _tell(self) -> None:
        """Something changed: look at what belongs to clusters that may be worked on only now."""
        before, self._known = self._known, {}
        for controller, of in self._controllers:
            for key, cluster in _clusters(of):
                if self.holds(cluster) and not before.get(cluster):
                    controller.enqueue(key, priority=INITIAL)
        for listener in self._listeners:
            listener()


class _Gate:
    """What a controller may begin."""

    def __init__(self, shards: Shards, of: Informer[Any]) -> None:
        self._shards = shards
        self._of = of

    def begin(self, key: Key) -> object | None:
        document = self._of.raw(key)
        return self._shards.begin(None if document is None else cluster_of(document))

    def end(self, token: object) -> None:
        self._shards.end(token)


class Besides:
    """What a controller may begin for single keys besides what its gate lets through: work that is
    none on the cluster, and goes with an object that belongs to no cluster."""

    def __init__(self, controller: Controller) -> None:
        self._gate = controller.gate
        self._began: set[object] = set()
        self.keys: set[Key] = set()
        controller.gate = self

    def begin(self, key: Key) -> object | None:
        """As the gate, whose answer counts first."""
        token = None if self._gate is None else self._gate.begin(key)
        if token is None and key in self.keys:
            token = object()
            self._began.add(token)
        return token

    def end(self, token: object) -> None:
        """As the gate."""
        if token in self._began:
            self._began.remove(token)
        elif self._gate is not None:
            self._gate.end(token)


def _moved(change: Change) -> Iterable[Key]:
    """An object that belongs to another cluster than before."""
    new, old = change.new, change.old
    if new is not None and old is not None and cluster_of(new) != cluster_of(old):
        yield Key.of(new)


def _clusters(of: Informer[Any]) -> Iterator[tuple[Key, Key]]:
    for key in tuple(of.keys()):
        document = of.raw(key)
        if document is not None:
            yield key, cluster_of(document)
