"""The interface of load balancers for control planes.

The load balancer provides the cluster's endpoint (`endpoint`) and forwards to its members
(`register`, `drain`, `deregister`). The SDK calls `endpoint` before the rest of the cluster's
infrastructure. It registers a control plane machine that exists before it reports the machine as
provisioned, drains it while its Machine is being deleted, and deregisters it before its deletion,
even if it was never provisioned. All methods are called repeatedly, also after a crash, and must
change nothing if their work is done.

    balancer = PaperBalancer(cloud)
    add_infra_cluster(runtime, PaperCluster, land, finalizer=…, load_balancer=balancer)
    add_infra_machine(runtime, PaperMachine, cloud, finalizer=…, load_balancer=balancer)

The load balancer is deleted with the rest of the cluster's infrastructure (`reconcile_delete`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from kapy.kube import Key
from kapy.sdk.contract_objects import InfraMachineContractObject
from kapy.sdk.infra_cluster import ClusterContext
from kapy.sdk.infra_machine import MachineContext
from kapy.sdk.results import Address, Endpoint, Waiting

__all__ = ["ControlPlaneLoadBalancer", "Member"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A control plane machine, by the key of its infrastructure object; read-only.

    provider_id, addresses: as its provider returned them; empty if it never did.
    """

    key: Key
    uid: str
    cluster: Key
    provider_id: str = ""
    addresses: Sequence[Address] = ()


class ControlPlaneLoadBalancer(ABC, Generic[T]):
    """Implement this class if the provider manages a load balancer for the control plane."""

    @abstractmethod
    async def endpoint(self, context: ClusterContext[T]) -> Endpoint | Waiting:
        """Create the load balancer by one step and return its endpoint.

        `context.endpoint` is the first result, or the user's choice: it never changes.
        """

    @abstractmethod
    async def register(self, member: Member) -> Waiting | None:
        """Add the member; return None once it is done."""

    async def drain(self, member: Member) -> Waiting | None:
        """Send the member no new requests while others can take them: its Machine is being deleted.

        Called from that moment on instead of `register`, long before `deregister`: the machine
        still runs while its Node is drained. Return None once it is done.
        """
        del member
        return None

    @abstractmethod
    async def deregister(self, member: Member) -> Waiting | None:
        """Remove the member; return None once it is done, and for one that never was a member."""


class Membership:
    """Registers machines with a load balancer. balancer: None if there is none."""

    def __init__(self, balancer: ControlPlaneLoadBalancer[Any] | None) -> None:
        self._balancer = balancer

    async def join(
        self, context: MachineContext[Any], provider_id: str, addresses: Sequence[Address]
    ) -> Waiting | None:
        """Register a provisioned machine, or drain it if its Machine is being deleted."""
        if self._balancer is None or not context.control_plane:
            return None
        member = _member(context, provider_id, addresses)
        if context.machine is not None and context.machine.deleting:
            return await self._balancer.drain(member)
        return await self._balancer.register(member)

    async def leave(
        self, context: MachineContext[Any], obj: InfraMachineContractObject
    ) -> Waiting | None:
        """Deregister a machine before its release; also if it may never have been a member."""
        if self._balancer is None or not (context.control_plane or context.machine is None):
            return None
        stored = [(address.type, address.address) for address in obj.status.addresses]
        addresses = msgspec.convert(stored, list[Address], strict=False)
        return await self._balancer.deregister(_member(context, obj.spec.provider_id, addresses))


def _member(context: MachineContext[Any], provider_id: str, addresses: Sequence[Address]) -> Member:
    return Member(
        key=context.key,
        uid=context.uid,
        cluster=context.cluster,
        provider_id=provider_id,
        addresses=tuple(addresses),
    )
