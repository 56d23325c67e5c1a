"""Reaches the etcd members and API servers of control plane machines, in memory or remote."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Protocol

from kapy.apps.transports import UrlOverride, with_url_override
from kapy.client.kubeconfig import Kubeconfig
from kapy.engine.runtime import Runtime
from kapy.kube import Key
from kapy.kube.http import Transport
from kapy.providers.kubeadm.controlplane.pods_over_network import PodsOverNetwork


class ControlPlaneAccess(Protocol):
    """Reaches the etcd members and API servers of control plane machines."""

    def etcd(self, cluster: Key, access: Kubeconfig, node: str) -> Transport:
        """Return an `EtcdDial` for the control plane provider."""

    async def certificate_expiry(self, access: Kubeconfig, node: str) -> datetime:
        """Return the expiry time of an API server's certificate."""


class SimulatedClusters(Protocol):
    """The clusters of the in-memory provider: of this process, or of the plane's."""

    def serves(self, kubeconfig: Kubeconfig) -> bool:
        """Return whether the cluster is simulated."""

    def etcd_dial(self, _: Key, kubeconfig: Kubeconfig, node: str) -> Transport:
        """Connect to the etcd gateway of a control plane machine. Raises Unreachable."""

    async def certificate_expiry(self, kubeconfig: Kubeconfig, node: str) -> datetime:
        """Return the expiry time of the API server's certificate on a machine. Raises
        Unreachable.
        """


class PodAccess:
    """Reaches clusters of the in-memory provider in process, and all others over sockets.

    instead_of: returns the URL at which a remote server is reached.
    """

    def __init__(
        self,
        runtime: Runtime,
        in_memory: SimulatedClusters,
        instead_of: UrlOverride,
        *,
        sockets: bool,
    ) -> None:
        self._runtime = runtime
        self._instead_of = instead_of
        self._in_memory = in_memory
        self._sockets = sockets

    @cached_property
    def _remote(self) -> PodsOverNetwork:
        return PodsOverNetwork(self._runtime)

    def etcd(self, cluster: Key, access: Kubeconfig, node: str) -> Transport:
        """Return the etcd member on a node. Raises Unreachable."""
        if self._sockets and not self._in_memory.serves(access):
            return self._remote.etcd(cluster, with_url_override(self._instead_of, access), node)
        return self._in_memory.etcd_dial(cluster, access, node)

    async def certificate_expiry(self, access: Kubeconfig, node: str) -> datetime:
        """Return the expiry time of the API server's certificate on a node. Raises Unreachable."""
        if self._sockets and not self._in_memory.serves(access):
            there = with_url_override(self._instead_of, access)
            return await self._remote.certificate_expiry(there, node)
        return await self._in_memory.certificate_expiry(access, node)
