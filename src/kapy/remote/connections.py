"""Connections to workload clusters (upstream's ClusterCache, without its fixed waits).

A connection is made as soon as the cluster's kubeconfig Secret (`<cluster>-kubeconfig`) is there
and its control plane answers; both are watched or probed with back-off. Losing or getting a
connection wakes the controllers that asked to know.

A cluster that is idle costs no task besides one for each collection that somebody watches there.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from zlib import crc32

from kapy.api.cluster import Cluster
from kapy.client.client import Client, Listed
from kapy.client.intercept import Interceptor
from kapy.client.kubeconfig import Kubeconfig as Kubeconfig
from kapy.client.kubeconfig import KubeconfigError, parse
from kapy.client.traced import traced
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller
from kapy.engine.places import away
from kapy.engine.result import DONE, Result, requeue
from kapy.engine.runtime import Runtime
from kapy.engine.shards import Besides
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound, Unauthorized, Unreachable
from kapy.kube.http import Transport
from kapy.kube.names import SECRETS, Resource
from kapy.remote.link import Link, Selection, Suspicious
from kapy.remote.metrics import LinkMetrics
from kapy.remote.patience import PROMPT, Overdue, Patience
from kapy.remote.patience import NotConnected as NotConnected

log = logging.getLogger(__name__)

CLUSTER_NAME: Final = "cluster.x-k8s.io/cluster-name"
PROBE_EVERY: Final = timedelta(seconds=10)
TURNS: Final = 10
"""Of all clusters those that have the same turn are probed together: a program that sleeps is woken
once for them, and a kept connection costs the less the warmer everything is."""
EARLY: Final = 0.1  # seconds; no probe follows another one, or a connect, so soon
PROBE_TIMEOUT: Final = 5.0
FAILURES: Final = 5
CONCURRENCY: Final = 100  # most of a connect's time is waiting for an answer


Dial = Callable[[Kubeconfig], Transport]
"""How a workload cluster is reached. The in-memory provider answers in process for its own.

Raises Unreachable when it knows that nobody is there. A transport whose `over_network` is true is
probed; one that has `aclose` is closed.
"""


ATTEMPTS: Final = 5
"""Failed connects after which a cluster counts as unreachable."""


@dataclass(frozen=True, slots=True)
class Health:
    """What is known about the connection to one cluster (upstream's HealthCheckingState)."""

    connected: bool
    last_success: datetime | None = None
    failures: int = 0
    because: str = ""

    @property
    def is_establishing(self) -> bool:
        """Whether nothing was heard yet, after a few attempts at most.

        That is the state after a start of this program, and says nothing about the cluster.
        """
        return self.last_success is None and self.failures < ATTEMPTS


@dataclass(frozen=True, slots=True)
class OfCluster:
    """A mapper of changes in one workload cluster; equal ones count as one for a controller."""

    cluster: Key
    keys: Callable[[Key, Change], Iterable[Key]]

    def __call__(self, change: Change) -> Iterable[Key]:
        return self.keys(self.cluster, change)


def kubeconfig_secret(cluster: Key) -> Key:
    """The Secret that holds a cluster's kubeconfig, in its key `value`."""
    return Key(cluster.namespace, f"{cluster.name}-kubeconfig")


class Connections:
    """One connection per Cluster, shared by every controller of this program.

    secrets: the Secrets that carry the cluster-name label, for whoever reads them too. probing:
    somebody here wants to know how connections fare that nobody uses at the moment; else one is
    probed only when a request found nobody.
    """

    def __init__(self, runtime: Runtime, *, dial: Dial, probing: bool = True) -> None:
        self.secrets = runtime.cache.informer(SECRETS, labels=CLUSTER_NAME)
        self.controller = Controller("clustercache", self._reconcile, concurrency=CONCURRENCY)
        self.controller.watch(self.secrets, _cluster_of)
        self._runtime = runtime
        self._dial = dial
        self._probing = probing
        self._opening = asyncio.Lock()
        self._links: dict[Key, Link] = {}
        self._overdue = Overdue()
        self._handlers: list[Callable[[Key], None]] = []
        self._group: asyncio.TaskGroup | None = None
        shared = runtime.shards
        filtered = shared is not None or bool(runtime.options.watch_filter)
        runtime.adopt(
            self.controller, runtime.cache.informer(Cluster.RESOURCE) if filtered else None
        )
        self._besides = Besides(self.controller) if shared is not None else None
        if shared is not None:
            shared.subscribe(self._leave)
        runtime.metrics.add(LinkMetrics(self._links.values))

    def client(self, cluster: Key) -> Client:
        """A client of the workload cluster. Raises NotConnected."""
        link = self._links.get(cluster)
        if link is None or link.client is None:
            raise NotConnected(f"no connection to cluster {cluster}: {self._because(link)}")
        return link.client

    def reach_too(self, cluster: Key) -> None:
        """Connect to a cluster even where another program looks after it, until clusters are shared
        out anew: somebody here has something for it that belongs to no cluster."""
        if self._besides is not None and cluster not in self._besides.keys:
            self._besides.keys.add(cluster)
            self.controller.enqueue(cluster)

    def health(self, cluster: Key) -> Health:
        """The state of the connection, for conditions."""
        link = self._links.get(cluster)
        if link is None:
            return Health(connected=False, because=self._because(None))
        connected = link.client is not None
        last_success = link.last_success
        if connected and not link.over_network and not link.failures:
            # Nothing can be lost on the way: it is as good as probed right now.
            last_success = self._runtime.clock()
        return Health(connected, last_success, link.failures, link.because)

    def informer(self, cluster: Key, resource: Resource, *, labels: str = "") -> Informer[Document]:
        """A synced informer on the workload cluster. Raises NotConnected until it has its list."""
        self.client(cluster)
        assert self._group is not None
        watched = self._links[cluster].follow(
            Selection(resource, labels),
            self._group,
            self._runtime.random,
            lambda: self._tell(cluster),
        )
        if not watched.store.is_synced:
            raise NotConnected(f"the {resource.plural} of cluster {cluster} are not read yet")
        return watched.informer

    def watch(
        self,
        controller: Controller,
        cluster: Key,
        resource: Resource,
        keys: Callable[[Key, Change], Iterable[Key]],
        *,
        labels: str = "",
    ) -> Informer[Document]:
        """The informer, whose changes enqueue `keys(cluster, change)` at the controller.

        Call it in every reconcile: it does nothing when that is so already, and connects anew
        what a lost connection took away. Raises NotConnected as `informer` does.
        """
        informer = self.informer(cluster, resource, labels=labels)
        # What a cluster holds when it is first read is news: somebody waits for those nodes.
        controller.watch(informer, OfCluster(cluster, keys), initial=0)
        return informer

    def selected(self, cluster: Key, resource: Resource, fields: str) -> Informer[Document] | None:
        """The informer that `select` made, None where it did not or the connection was lost."""
        link = self._links.get(cluster)
        watched = (
            link.informers.get(Selection(resource, fields=fields, passing=True)) if link else None
        )
        return None if watched is None else watched.informer

    def select(
        self, cluster: Key, resource: Resource, fields: str, listed: Listed[Document]
    ) -> Informer[Document]:
        """An informer of the few objects that a field selector selects, until `release`.

        listed: what the caller has just read of them. Raises NotConnected.
        """
        self.client(cluster)
        assert self._group is not None
        link, selection = self._links[cluster], Selection(resource, fields=fields, passing=True)
        random = self._runtime.random
        return link.follow(selection, self._group, random, _nothing, listed).informer

    def release(self, cluster: Key, resource: Resource, fields: str) -> None:
        """Nobody looks any more at what `select` selected."""
        link = self._links.get(cluster)
        if link is not None:
            link.unfollow(Selection(resource, fields=fields, passing=True))

    def subscribe(self, handler: Callable[[Key], None]) -> Callable[[], None]:
        """Call `handler(cluster)` whenever a connection or one of its informers comes or goes.

        Also when a connection begins to fail its probes, or passes them again.
        """
        self._handlers.append(handler)
        return lambda: self._handlers.remove(handler)

    def poke(self, cluster: Key) -> None:
        """Try (or probe) now: somebody knows that the cluster may have changed."""
        link = self._links.get(cluster)
        if link is not None:
            link.suspected = link.client is not None
            link.backoff.reset()
            link.away_since = None
        self.controller.enqueue(cluster)

    async def run(self) -> None:
        """Connect, probe, reconnect; until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                # Thousands of handshakes would keep what there is from being read, and nobody can
                # work with a cluster before it is.
                await self._runtime.cache.synced()
                await self.controller.run()
        finally:
            self._group = None
            for link in self._links.values():
                await link.close("this program is stopping")

    async def _reconcile(self, cluster: Key) -> Result:
        value = self._kubeconfig(cluster)
        link = self._links.get(cluster)
        if value is None:
            if link is not None:
                del self._links[cluster]
                await self._disconnect(link, "its kubeconfig Secret is gone")
            return DONE
        if link is None:
            link = self._links[cluster] = Link(cluster, self._runtime.random)
        if link.value != value:
            link.value = value
            link.backoff.reset()
            await self._disconnect(link, "its kubeconfig changed")
        if link.client is not None and link.suspected and await self._moved_in(link):
            await self._disconnect(link, "the cluster is in this program now")
        if link.client is None:
            return await self._connect(link)
        return await self._probe(link)

    async def _connect(self, link: Link) -> Result:
        async with self._opening:
            # One in each turn of the loop: keys and certificates are milliseconds of CPU, and
            # nobody else would work while a thousand clusters are connected to.
            await asyncio.sleep(0)
        try:
            kubeconfig = _kubeconfig_of(link)
        except KubeconfigError as error:
            link.failed(str(error))
            log.warning("%s", error)
            return DONE  # a change of the Secret brings us back
        transport: Suspicious | None = None
        try:
            transport = Suspicious(self._dial(kubeconfig), lambda: self._suspect(link))
            await _contact(transport)
            self._established(link, transport)
        except KapyError as error:
            link.failed(str(error))
            # A timer, because nobody tells when a server that we cannot reach comes up; those who
            # know call `poke`.
            after = timedelta(seconds=link.pause(error))
            return requeue(after=after, because=f"cannot connect: {error}")
        finally:
            if transport is not None and link.client is None:
                await transport.aclose()
        link.succeeded(self._runtime.clock())
        log.info("connected to cluster %s", link.cluster)
        self._tell(link.cluster)
        return self._until_probe(link)

    async def _moved_in(self, link: Link) -> bool:
        """Whether a cluster that was reached over the network would be reached in process now.

        So it is after a move from another plane of this machine: who answered there still does, or
        hangs up, and five failed probes would take most of a minute.
        """
        if not link.over_network:
            return False
        try:
            way = Interceptor(self._dial(_kubeconfig_of(link)))
        except Unreachable:
            return True
        await way.aclose()
        return not way.over_network

    def _established(self, link: Link, transport: Suspicious) -> None:
        way, random = traced(transport), self._runtime.random
        patient = Patience(way, random, lambda: self._tell(link.cluster), self._overdue)
        manager = self._runtime.client.field_manager
        link.transport = transport
        link.patience = patient
        link.client = Client(patient, field_manager=manager, observe=link.observe)

    async def _probe(self, link: Link) -> Result:
        if not (self._is_probed(link) or link.suspected):
            return DONE
        assert link.transport is not None
        try:
            await _contact(link.transport)
        except KapyError as error:
            return await self._probe_failed(link, error)
        link.probes_passed += 1
        recovered = link.failures > 0
        link.succeeded(self._runtime.clock())
        if recovered:
            self._tell(link.cluster)
        return self._until_probe(link)

    async def _probe_failed(self, link: Link, error: KapyError) -> Result:
        link.failed(str(error))
        link.probes_failed += 1
        # Credentials that are refused will not be accepted later: new ones are in the Secret soon.
        if link.failures >= FAILURES or isinstance(error, Unauthorized):
            await self._disconnect(link, f"its API server does not answer: {error}")
            link.backoff.reset()
        elif link.failures == 1:
            self._tell(link.cluster)
        after = timedelta(seconds=link.backoff.next(error))
        if link.client is not None and link.over_network:
            after = PROBE_EVERY
        return requeue(after=after, because=f"its API server does not answer: {error}")

    def _is_probed(self, link: Link) -> bool:
        return self._probing and link.over_network

    def _until_probe(self, link: Link) -> Result:
        if not self._is_probed(link):
            return DONE
        # A timer, because a peer that vanished from the network sends no event.
        return requeue(after=_until_turn(link.cluster), because="next health probe")

    async def _disconnect(self, link: Link, because: str) -> None:
        was_connected = link.client is not None
        await link.close(because)
        if was_connected:
            log.info("disconnected from cluster %s: %s", link.cluster, because)
            self._tell(link.cluster)

    def _leave(self) -> None:
        """Let go of clusters that another program looks after."""
        shards, besides = self._runtime.shards, self._besides
        assert shards is not None
        assert besides is not None
        besides.keys.clear()
        for cluster in [one for one in self._links if not shards.claims(one)]:
            link = self._links.pop(cluster)
            if self._group is not None:
                because = "another program looks after it"
                self._group.create_task(self._disconnect(link, because), name=f"leave {cluster}")

    def _suspect(self, link: Link) -> None:
        if link.client is not None and not link.suspected:
            link.suspected = True
            self.controller.enqueue(link.cluster)

    def _kubeconfig(self, cluster: Key) -> str | None:
        secret = self.secrets.raw(kubeconfig_secret(cluster))
        if secret is None or not any(_cluster_of(Change(None, secret))):
            return None
        value = (secret.get("data") or {}).get("value")
        return str(value) if value else None

    def _because(self, link: Link | None) -> str:
        return "there is no kubeconfig Secret" if link is None else link.because

    def _tell(self, cluster: Key) -> None:
        for handler in tuple(self._handlers):
            try:
                handler(cluster)
            except Exception:
                log.exception("a handler failed on the connection of cluster %s", cluster)


def _nothing() -> None:
    """Nobody waits for a first list that is there already."""


def _cluster_of(change: Change) -> Iterable[Key]:
    """The cluster whose kubeconfig a Secret is, if it is one."""
    metadata = change.document["metadata"]
    name = (metadata.get("labels") or {}).get(CLUSTER_NAME)
    if name and metadata["name"] == f"{name}-kubeconfig":
        yield Key(metadata["namespace"], name)


def _kubeconfig_of(link: Link) -> Kubeconfig:
    """Raises KubeconfigError."""
    return parse(_decoded(link.value), f"the kubeconfig of cluster {link.cluster}")


def _decoded(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise KubeconfigError("the kubeconfig Secret's value is not base64") from None


def _until_turn(cluster: Key) -> timedelta:
    """The time until the cluster is to be probed: `PROBE_EVERY` at most."""
    every = PROBE_EVERY.total_seconds()
    turn = every / TURNS * (crc32(str(cluster).encode()) % TURNS)
    left = (turn - asyncio.get_running_loop().time()) % every
    return timedelta(seconds=left if left > EARLY else every)


async def _contact(transport: Suspicious) -> None:
    """Any answer that only a working API server gives, to somebody whom it knows."""
    try:
        with away(after=PROMPT):
            async with asyncio.timeout(PROBE_TIMEOUT):
                answer = await _told_of_itself(Client(transport.probe))
    except TimeoutError:
        raise Unreachable(f"no answer within {PROBE_TIMEOUT:g} seconds") from None
    if "major" not in answer and "versions" not in answer:
        raise Unreachable("who answers is no Kubernetes API server: /version tells no version")


async def _told_of_itself(client: Client) -> Document:
    """Its version, or at least those of its API (upstream's in-memory clusters tell no other)."""
    try:
        return await client.raw("GET", "/version")
    except NotFound:
        return await client.raw("GET", "/api")
