"""A cache of connections to workload clusters (upstream's ClusterCache, without its fixed waits).

A connection is made as soon as the cluster's kubeconfig Secret (`<cluster>-kubeconfig`) exists and
its control plane answers; both are watched or probed with back-off. Losing or getting a connection
notifies the subscribed controllers. An idle cluster costs no task besides one for each collection
that is watched there.
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
from kapy.client.server_clock import ServerClock
from kapy.client.tracing import with_tracing
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller
from kapy.engine.result import DONE, Result, requeue
from kapy.engine.runtime import Runtime
from kapy.engine.shards import ExtraKeys
from kapy.engine.worker_slots import yield_slot
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound, Unauthorized, Unreachable
from kapy.kube.http import Transport
from kapy.kube.names import SECRETS, Resource
from kapy.remote.cluster_accessor import ClusterAccessor, FailureDetector, Selection, pack_idle
from kapy.remote.metrics import ClusterAccessorMetrics
from kapy.remote.request_throttle import PROMPT, RequestThrottle, SlowRequestLimit
from kapy.remote.request_throttle import NotConnected as NotConnected

log = logging.getLogger(__name__)

CLUSTER_NAME: Final = "cluster.x-k8s.io/cluster-name"
PROBE_EVERY: Final = timedelta(seconds=10)
TURNS: Final = 10
"""The number of groups of clusters. Clusters of one group are probed together, so that an idle
program wakes up less often."""
EARLY: Final = 0.1  # minimum seconds between a probe or a connect and the next probe
PROBE_TIMEOUT: Final = 5.0
FAILURES: Final = 5
CONCURRENCY: Final = 100  # most of the time of a connect is waiting


Dial = Callable[[Kubeconfig], Transport]
"""Connects to a workload cluster. The in-memory provider responds in process for its own clusters.
Raises Unreachable if the server is known to be gone. A transport whose `over_network` is true is
probed; one that has `aclose` is closed."""


ATTEMPTS: Final = 5
"""The number of failed connects after which a cluster counts as unreachable."""


@dataclass(frozen=True, slots=True)
class Health:
    """The state of the connection to one cluster (upstream's HealthCheckingState)."""

    connected: bool
    last_success: datetime | None = None
    failures: int = 0
    reason: str = ""

    @property
    def is_establishing(self) -> bool:
        """Return whether no attempt has succeeded yet, and only a few were made. That is normal
        after a start of this program and says nothing about the cluster."""
        return self.last_success is None and self.failures < ATTEMPTS


@dataclass(frozen=True, slots=True)
class ClusterMapper:
    """A mapper of changes in one workload cluster; equal mappers count as one for a controller."""

    cluster: Key
    keys: Callable[[Key, Change], Iterable[Key]]

    def __call__(self, change: Change) -> Iterable[Key]:
        return self.keys(self.cluster, change)


def kubeconfig_secret(cluster: Key) -> Key:
    """Return the key of the Secret that holds a cluster's kubeconfig in its field `value`."""
    return Key(cluster.namespace, f"{cluster.name}-kubeconfig")


class ClusterCache:
    """One connection per Cluster, shared by every controller of this program.

    secrets: an informer for the Secrets with the cluster-name label. probing: connections are
    probed periodically even if nobody uses them; otherwise only after a request failed.
    """

    def __init__(self, runtime: Runtime, *, dial: Dial, probing: bool = True) -> None:
        self.secrets = runtime.cache.informer(SECRETS, labels=CLUSTER_NAME)
        self.controller = Controller("clustercache", self._reconcile, concurrency=CONCURRENCY)
        self.controller.watch(self.secrets, _cluster_of)
        self._runtime = runtime
        self._dial = dial
        self._probing = probing
        self._opening = asyncio.Lock()
        self._accessors: dict[Key, ClusterAccessor] = {}
        self._slow_requests = SlowRequestLimit()
        self._handlers: list[Callable[[Key], None]] = []
        self._on_trigger: list[Callable[[Key], None]] = []
        self._group: asyncio.TaskGroup | None = None
        shared = self._shards = runtime.shards
        filtered = shared is not None or bool(runtime.options.watch_filter)
        runtime.adopt(
            self.controller, runtime.cache.informer(Cluster.RESOURCE) if filtered else None
        )
        self._extra_clusters = ExtraKeys(self.controller) if shared is not None else None
        if shared is not None:
            shared.subscribe(self._drop_foreign)
        runtime.metrics.add(ClusterAccessorMetrics(self._accessors.values))
        runtime.packing.append(lambda packer: pack_idle(self._accessors.values(), packer))

    def client(self, cluster: Key) -> Client:
        """Return a client of the workload cluster. Raises NotConnected."""
        accessor = self._accessors.get(cluster)
        if accessor is None or accessor.client is None:
            raise NotConnected(f"no connection to cluster {cluster}: {self._reason(accessor)}")
        return accessor.client

    def now(self, cluster: Key) -> datetime:
        """Return the present moment by the workload cluster's API server, which dates Nodes, Pods
        and bootstrap tokens; by the runtime's clock until the cluster has answered."""
        clock = self.clock(cluster)
        return self._runtime.clock() if clock is None else clock.now()

    def clock(self, cluster: Key) -> ServerClock | None:
        """Return the clock of a workload cluster's API server, None before a connection."""
        accessor = self._accessors.get(cluster)
        return None if accessor is None else accessor.clock

    def connect_foreign(self, cluster: Key) -> None:
        """Connect to a cluster that another shard owns, until the assignment of clusters changes.
        An object without a cluster of its own needs the connection here."""
        if self._extra_clusters is not None and cluster not in self._extra_clusters.keys:
            self._extra_clusters.keys.add(cluster)
            self.controller.enqueue(cluster)

    def health(self, cluster: Key) -> Health:
        """Return the state of the connection, for conditions."""
        accessor = self._accessors.get(cluster)
        if accessor is None:
            return Health(connected=False, reason=self._reason(None))
        connected = accessor.client is not None
        last_success = accessor.last_success
        if connected and not accessor.over_network and not accessor.failures:
            # In-process connections cannot be lost, so it counts as just probed.
            last_success = self._runtime.clock()
        return Health(connected, last_success, accessor.failures, accessor.reason)

    def informer(self, cluster: Key, resource: Resource, *, labels: str = "") -> Informer[Document]:
        """Return a synced informer on the workload cluster. Raises NotConnected until it has its
        list.
        """
        self.client(cluster)
        assert self._group is not None
        watched = self._accessors[cluster].watch(
            Selection(resource, labels),
            self._group,
            self._runtime.random,
            lambda: self._notify(cluster),
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
        """Return the informer, and enqueue `keys(cluster, change)` at the controller on each
        change.

        Call it in every reconcile: it does nothing if the watch exists, and restores it after a
        lost connection. Raises NotConnected as `informer` does.
        """
        informer = self.informer(cluster, resource, labels=labels)
        # Objects of the first list have the priority of changes, because a reconcile waits for
        # them.
        controller.watch(informer, ClusterMapper(cluster, keys), initial=0)
        return informer

    def temporary_informer(
        self, cluster: Key, resource: Resource, fields: str
    ) -> Informer[Document] | None:
        """Return the informer that `start_temporary_informer` made, None if there is none or if the
        connection was lost.
        """
        accessor = self._accessors.get(cluster)
        watched = (
            accessor.informers.get(Selection(resource, fields=fields, temporary=True))
            if accessor
            else None
        )
        return None if watched is None else watched.informer

    def start_temporary_informer(
        self, cluster: Key, resource: Resource, fields: str, listed: Listed[Document]
    ) -> Informer[Document]:
        """Start an informer for the objects that a field selector selects, until it is stopped.

        listed: their list as the caller has just read it. Raises NotConnected.
        """
        self.client(cluster)
        assert self._group is not None
        accessor, selection = (
            self._accessors[cluster],
            Selection(resource, fields=fields, temporary=True),
        )
        random = self._runtime.random
        return accessor.watch(selection, self._group, random, _do_nothing, listed).informer

    def stop_temporary_informer(self, cluster: Key, resource: Resource, fields: str) -> None:
        """Stop an informer that `start_temporary_informer` started."""
        accessor = self._accessors.get(cluster)
        if accessor is not None:
            accessor.unwatch(Selection(resource, fields=fields, temporary=True))

    def subscribe(self, handler: Callable[[Key], None]) -> Callable[[], None]:
        """Call `handler(cluster)` whenever a connection or one of its informers is added or lost.

        It is also called when probes of a connection begin to fail, or pass again.
        """
        self._handlers.append(handler)
        return lambda: self._handlers.remove(handler)

    def trigger_probe(self, cluster: Key) -> None:
        """Connect or probe now: the caller knows that the cluster may have changed."""
        accessor = self._accessors.get(cluster)
        if accessor is not None:
            accessor.suspected = accessor.client is not None
            accessor.backoff.reset()
            accessor.unreachable_since = None
        self.controller.enqueue(cluster)
        for handler in tuple(self._on_trigger):
            handler(cluster)

    def subscribe_triggers(self, handler: Callable[[Key], None]) -> Callable[[], None]:
        """Call `handler(cluster)` with each `trigger_probe`, for other processes that have
        connections. Returns a function that unsubscribes.
        """
        self._on_trigger.append(handler)
        return lambda: self._on_trigger.remove(handler)

    async def run(self) -> None:
        """Connect to clusters, probe the connections and reconnect, until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                # Thousands of handshakes would delay the first lists, which controllers need before
                # they can work.
                await self._runtime.cache.wait_for_sync()
                await self.controller.run()
        finally:
            self._group = None
            for accessor in self._accessors.values():
                await accessor.close("this program is stopping")

    async def _reconcile(self, cluster: Key) -> Result:
        value = self._kubeconfig(cluster)
        accessor = self._accessors.get(cluster)
        if value is None:
            if accessor is not None:
                del self._accessors[cluster]
                await self._disconnect(accessor, "its kubeconfig Secret is gone")
            return DONE
        if accessor is None:
            accessor = self._accessors[cluster] = ClusterAccessor(cluster, self._runtime.random)
        if accessor.value != value:
            accessor.value = value
            accessor.backoff.reset()
            await self._disconnect(accessor, "its kubeconfig changed")
        if (
            accessor.client is not None
            and accessor.suspected
            and await self._is_in_process_now(accessor)
        ):
            await self._disconnect(accessor, "the cluster is in this program now")
        if accessor.client is None:
            return await self._connect(accessor)
        return await self._probe(accessor)

    async def _connect(self, accessor: ClusterAccessor) -> Result:
        async with self._opening:
            # One per turn of the event loop: parsing keys and certificates takes milliseconds of
            # CPU, and a thousand clusters would block the loop.
            await asyncio.sleep(0)
        try:
            kubeconfig = _kubeconfig_of(accessor)
        except KubeconfigError as error:
            accessor.record_failure(str(error))
            log.warning("%s", error)
            return DONE  # a change of the Secret enqueues the cluster
        transport: FailureDetector | None = None
        try:
            clock = ServerClock(self._dial(kubeconfig), self._runtime.clock)
            transport = FailureDetector(clock, lambda: self._suspect(accessor))
            await _contact(transport)
            accessor.clock = clock
            self._store_connection(accessor, transport)
        except KapyError as error:
            accessor.record_failure(str(error))
            # A timer, because no event shows that an unreachable server comes up; programs that
            # know it call `trigger_probe`.
            after = timedelta(seconds=accessor.pause(error))
            return requeue(after=after, because=f"cannot connect: {error}")
        finally:
            if transport is not None and accessor.client is None:
                await transport.aclose()
        accessor.record_success(self._runtime.clock())
        log.info("connected to cluster %s", accessor.cluster)
        self._notify(accessor.cluster)
        return self._until_probe(accessor)

    async def _is_in_process_now(self, accessor: ClusterAccessor) -> bool:
        """Return whether a cluster that was reached over the network can be reached in process now.

        That is so after a move from another plane of this machine: the former server still answers,
        or hangs up, and five failed probes would take most of a minute.
        """
        if not accessor.over_network:
            return False
        try:
            way = Interceptor(self._dial(_kubeconfig_of(accessor)))
        except Unreachable:
            return True
        await way.aclose()
        return not way.over_network

    def _store_connection(self, accessor: ClusterAccessor, transport: FailureDetector) -> None:
        way, random = with_tracing(transport), self._runtime.random
        throttle = RequestThrottle(
            way, random, lambda: self._notify(accessor.cluster), self._slow_requests
        )
        accessor.use(transport, throttle, self._runtime.client.field_manager)

    async def _probe(self, accessor: ClusterAccessor) -> Result:
        if not (self._is_probed(accessor) or accessor.suspected):
            return DONE
        assert accessor.transport is not None
        try:
            await _contact(accessor.transport)
        except KapyError as error:
            return await self._probe_failed(accessor, error)
        accessor.probes_passed += 1
        recovered = accessor.failures > 0
        accessor.record_success(self._runtime.clock())
        if recovered:
            self._notify(accessor.cluster)
        return self._until_probe(accessor)

    async def _probe_failed(self, accessor: ClusterAccessor, error: KapyError) -> Result:
        accessor.record_failure(str(error))
        accessor.probes_failed += 1
        # Refused credentials will not be accepted later: the Secret will get new ones.
        if accessor.failures >= FAILURES or isinstance(error, Unauthorized):
            await self._disconnect(accessor, f"its API server does not answer: {error}")
            accessor.backoff.reset()
        elif accessor.failures == 1:
            self._notify(accessor.cluster)
        after = timedelta(seconds=accessor.backoff.next(error))
        if accessor.client is not None and accessor.over_network:
            after = PROBE_EVERY
        return requeue(after=after, because=f"its API server does not answer: {error}")

    def _is_probed(self, accessor: ClusterAccessor) -> bool:
        return self._probing and accessor.over_network

    def _until_probe(self, accessor: ClusterAccessor) -> Result:
        if not self._is_probed(accessor):
            return DONE
        # A timer, because a peer that vanished sends no event.
        return requeue(after=_time_until_probe(accessor.cluster), because="next health probe")

    async def _disconnect(self, accessor: ClusterAccessor, because: str) -> None:
        was_connected = accessor.client is not None
        # That of an in-process connection, which is not probed, is now; its Nodes are not unknown
        # in the moment until the next connection.
        accessor.last_success = self.health(accessor.cluster).last_success or accessor.last_success
        await accessor.close(because)
        if was_connected:
            log.info("disconnected from cluster %s: %s", accessor.cluster, because)
            self._notify(accessor.cluster)

    def _drop_foreign(self) -> None:
        """Drop the connections to clusters that another shard owns."""
        shards, besides = self._shards, self._extra_clusters
        assert shards is not None
        assert besides is not None
        besides.keys.clear()
        for cluster in [key for key in self._accessors if not shards.claims(key)]:
            accessor = self._accessors.pop(cluster)
            if self._group is not None:
                because = "another program looks after it"
                self._group.create_task(
                    self._disconnect(accessor, because), name=f"leave {cluster}"
                )

    def _suspect(self, accessor: ClusterAccessor) -> None:
        if accessor.client is not None and not accessor.suspected:
            accessor.suspected = True
            self.controller.enqueue(accessor.cluster)

    def _kubeconfig(self, cluster: Key) -> str | None:
        secret = self.secrets.raw(kubeconfig_secret(cluster))
        if secret is None or not any(_cluster_of(Change(None, secret))):
            return None
        value = (secret.get("data") or {}).get("value")
        return str(value) if value else None

    def _reason(self, accessor: ClusterAccessor | None) -> str:
        return "there is no kubeconfig Secret" if accessor is None else accessor.reason

    def _notify(self, cluster: Key) -> None:
        for handler in tuple(self._handlers):
            try:
                handler(cluster)
            except Exception:
                log.exception("a handler failed on the connection of cluster %s", cluster)


def _do_nothing() -> None:
    """Ignore the first list of a temporary informer: the caller has read it already."""


def _cluster_of(change: Change) -> Iterable[Key]:
    """Return the cluster of a kubeconfig Secret, nothing for other Secrets."""
    metadata = change.document["metadata"]
    name = (metadata.get("labels") or {}).get(CLUSTER_NAME)
    if name and metadata["name"] == f"{name}-kubeconfig":
        yield Key(metadata["namespace"], name)


def _kubeconfig_of(accessor: ClusterAccessor) -> Kubeconfig:
    """Parse the kubeconfig in a cluster's Secret. Raises KubeconfigError."""
    return parse(_decode(accessor.value), f"the kubeconfig of cluster {accessor.cluster}")


def _decode(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise KubeconfigError("the kubeconfig Secret's value is not base64") from None


def _time_until_probe(cluster: Key) -> timedelta:
    """Return the time until the cluster's next probe: `PROBE_EVERY` at most."""
    value = PROBE_EVERY.total_seconds()
    turn = value / TURNS * (crc32(str(cluster).encode()) % TURNS)
    remaining = (turn - asyncio.get_running_loop().time()) % value
    return timedelta(seconds=remaining if remaining > EARLY else value)


async def _contact(transport: FailureDetector) -> None:
    """Send a request that only a working API server answers, and only to an authenticated
    client.
    """
    try:
        with yield_slot(after=PROMPT):
            async with asyncio.timeout(PROBE_TIMEOUT):
                answer = await _server_version(Client(transport.probe))
    except TimeoutError:
        raise Unreachable(f"no answer within {PROBE_TIMEOUT:g} seconds") from None
    if "major" not in answer and "versions" not in answer:
        raise Unreachable("who answers is no Kubernetes API server: /version tells no version")


async def _server_version(client: Client) -> Document:
    """Read the server's version, or at least its API versions (upstream's in-memory clusters have
    no other).
    """
    try:
        return await client.raw("GET", "/version")
    except NotFound:
        return await client.raw("GET", "/api")
