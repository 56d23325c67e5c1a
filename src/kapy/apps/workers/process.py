"""A worker: controllers in a process of their own, beside the API server of their plane."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from kapy._aio.clock import Clock, system_clock
from kapy._aio.frames import Frames
from kapy._aio.services import Service, run_services
from kapy.apps.cluster_controllers import add_cluster_controllers
from kapy.apps.control_plane_pods import PodAccess
from kapy.apps.extension_clients import extension_clients, services_of
from kapy.apps.process_tuning import tuned_process
from kapy.apps.transports import over_network, with_url_override
from kapy.apps.workers.channel import (
    API,
    CONFIGURATION,
    METRICS,
    PROBE,
    PUBLISHED,
    READY,
    SERVER,
    Channel,
)
from kapy.apps.workers.clusters import RemoteClusters
from kapy.apps.workers.configuration import WorkerConfig, decode, shards_of, worker_terms
from kapy.apps.workers.logs import log_over
from kapy.apps.workers.metrics import metrics_reply
from kapy.client.client import Client
from kapy.engine.idle_packing import pack_idle_objects
from kapy.engine.leadership import Fenced, first_error
from kapy.engine.private_keys import SPARE_KEYS
from kapy.engine.runtime import Runtime
from kapy.engine.shards import Shards
from kapy.kube import Key
from kapy.kube.errors import KapyError, Unreachable
from kapy.kube.http import Reply, Request
from kapy.providers.docker.published import PublishedAddresses
from kapy.remote.cluster_cache import ClusterCache

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from kapy.hooks.transport import HookTransport

log = logging.getLogger(__name__)


class ApiServer:
    """The plane's API server, over the channel."""

    over_network = True
    host = "plane"

    def __init__(self, channel: Channel) -> None:
        self._ask = channel.ask

    async def __call__(self, request: Request) -> Reply:
        if request.method == "GET" and request.body is None:
            request.body = b""  # then lists reuse the JSON that the server keeps
        return await self._ask(API, request)


class Worker:
    """The program of one worker process. shards: its share of the clusters. runtime: the runtime of
    its controllers. Both are None before the start.
    """

    def __init__(self) -> None:
        self.channel = Channel(self._answer, self._take_notice)
        self._published = PublishedAddresses()
        self._clusters = RemoteClusters(
            self.channel,
            lambda access: over_network(with_url_override(self._published.instead_of, access)),
        )
        self._trigger_probe: Callable[[Key], None] | None = None
        self.shards: Shards | None = None
        self.runtime: Runtime | None = None
        self._registry: CollectorRegistry | None = None

    async def run(self, end: socket.socket) -> int:
        """Work for the plane at the other end of a socket, until it closes the connection or has
        ended; return the exit code.
        """
        channel = self.channel
        channel.connection = await Frames.open(end, channel.receive, channel.lose)
        try:
            config = await self.configuration()
            log_over(channel, config.log_level)
            with tuned_process():
                await self.work(config, system_clock, Random())
        except BaseExceptionGroup as failures:
            return _log_end(first_error(failures))
        except KapyError as error:
            return _log_end(error)
        finally:
            channel.end()
        return 0

    async def work(self, config: WorkerConfig, clock: Clock, random: Random) -> None:
        """Work until the connection has ended."""
        runtime, services = self.build(config, clock, random)
        if clock is system_clock:
            services["packing"] = partial(pack_idle_objects, *runtime.packing)
        async with run_services(runtime=runtime.run, **services):
            await runtime.cache.wait_for_sync()
            self.channel.notify(READY, os.getpid())
            await self.channel.closed.wait()

    async def configuration(self) -> WorkerConfig:
        reply = await self.channel.ask(CONFIGURATION, Request("GET", "/"))
        assert isinstance(reply.body, bytes)
        return decode(reply.body)

    def build(
        self, config: WorkerConfig, clock: Clock, random: Random
    ) -> tuple[Runtime, dict[str, Service]]:
        """Return the runtime with the controllers of this worker, and the services to run beside
        it, by name.
        """
        server, options = ApiServer(self.channel), config.controllers
        terms = worker_terms(config.slot, os.getpid())
        shards = self.shards = shards_of(
            Client(server, field_manager="kapy"),
            terms,
            config.slot,
            config.processes,
            clock,
            random,
        )
        runtime = Runtime.on(
            Fenced(server, shards), clock=clock, random=random, options=options.manager
        )
        runtime.shards, runtime.leader_gate = shards, shards.run_as_member
        runtime.metrics.add(shards)
        if config.sockets:  # as in the plane's process
            runtime.private_keys.spare = SPARE_KEYS
        cluster_cache = ClusterCache(runtime, dial=self._clusters.dial)
        self._trigger_probe = cluster_cache.trigger_probe
        clients = extension_clients(
            runtime,
            options,
            lambda: _hook_transport(self.channel),
            reconciled="core" not in options.disabled_managers,
        )
        pods = PodAccess(
            runtime, self._clusters, self._published.instead_of, sockets=config.sockets
        )
        add_cluster_controllers(runtime, cluster_cache, options, clients, pods)
        self.runtime = runtime
        return runtime, {"connections": cluster_cache.run, **services_of(clients)}

    async def _answer(self, target: str, request: Request) -> Reply:
        del request
        if target == METRICS and self.runtime is not None:
            return metrics_reply(self._metrics(self.runtime).collect())
        raise Unreachable(f"a worker answers nothing to {target}")

    def _metrics(self, runtime: Runtime) -> CollectorRegistry:
        if self._registry is None:
            from prometheus_client import ProcessCollector

            self._registry = runtime.metrics.registry
            ProcessCollector(registry=self._registry)
        return self._registry

    def _take_notice(self, name: str, value: Any) -> None:
        if name == SERVER:
            self._clusters.learn_server(value[0], exists=value[1])
        elif name == PUBLISHED:
            self._published.set(*value)
        elif name == PROBE and self._trigger_probe is not None:
            self._trigger_probe(Key(*value))


def _hook_transport(channel: Channel) -> HookTransport:
    from kapy.apps.workers.hooks import HooksOverChannel  # all hooks: most planes have no extension

    return HooksOverChannel(channel)


def _log_end(error: BaseException) -> int:
    """Log why this process ends; return its exit code."""
    unexpected = None if isinstance(error, KapyError) else error
    log.error("%s", error or type(error).__name__, exc_info=unexpected)
    return 1
