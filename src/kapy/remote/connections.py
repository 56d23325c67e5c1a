"""Connections to workload clusters (upstream's ClusterCache, without its fixed waits).

A connection is made as soon as the cluster's kubeconfig Secret (`<cluster>-kubeconfig`) is there
and its control plane answers; both are watched or probed with back-off. Losing or getting a
connection wakes the controllers that asked to know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from kapy.client.client import Client
from kapy.engine.cache import Informer
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.http import Transport
from kapy.kube.names import Resource


class NotConnected(KapyError):
    """There is no connection to the workload cluster (yet, or any more); the message says why."""


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """What a dialler needs: server URL, CA, client certificate and key, all PEM (bytes)."""

    server: str
    certificate_authority: bytes
    client_certificate: bytes
    client_key: bytes


Dial = Callable[[Kubeconfig], Transport]
"""How a workload cluster is reached. The in-memory provider answers in process for its own."""


@dataclass(frozen=True, slots=True)
class Health:
    """What is known about the connection to one cluster (upstream's HealthCheckingState)."""

    connected: bool
    last_success: datetime | None = None
    failures: int = 0
    because: str = ""


class Connections:
    """One connection per Cluster, shared by every controller of this program."""

    def __init__(self, runtime: Runtime, *, dial: Dial) -> None: ...

    def client(self, cluster: Key) -> Client:
        """A client of the workload cluster. Raises NotConnected."""
        raise NotImplementedError

    def health(self, cluster: Key) -> Health:
        """The state of the connection, for conditions."""
        raise NotImplementedError

    def informer(self, cluster: Key, resource: Resource, *, labels: str = "") -> Informer[Document]:
        """A synced informer on the workload cluster. Raises NotConnected until it has its list."""
        raise NotImplementedError

    def subscribe(self, handler: Callable[[Key], None]) -> Callable[[], None]:
        """Call `handler(cluster)` whenever a connection or one of its informers comes or goes."""
        raise NotImplementedError

    async def run(self) -> None:
        """Connect, probe, reconnect; until cancelled."""
