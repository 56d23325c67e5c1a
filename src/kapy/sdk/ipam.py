"""Addresses of pools: the two questions that an IPAM provider answers.

Which address is for this claim (`allocate`), and is it free again (`free`). The SDK does the rest
of the IPAM contract: `kapy.sdk.ipam_controller`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from typing import Generic, TypeAlias, TypeVar

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.ip_address import IPAddressClaim
from kapy.kube import Key
from kapy.sdk.answers import Released, Waiting

P = TypeVar("P")
IP: TypeAlias = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocated:
    """The address of a claim. prefix: of its network, in bits. gateway: of the network, if any."""

    address: IP
    prefix: int
    gateway: IP | None = None


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The pool has no free address. The SDK asks again when one is released or the pool changes."""

    because: str = "no address of the pool is free"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressOrder(Generic[P]):
    """A request to allocate or release the address of a claim; read-only for the provider.

    pool: where the address is to come from; None only in `free`, when the pool is gone already.
    taken: the addresses of the pool that other claims have, and which claims. allocated: what this
    claim has. cluster: the claim's, if it names one.
    """

    key: Key
    uid: str
    claim: IPAddressClaim
    pool: P | None
    taken: Mapping[IP, Key] = field(default_factory=dict)
    allocated: Allocated | None = None
    cluster: Cluster | None = None


class IPAMProvider(ABC, Generic[P]):
    """Implement this class to allocate the addresses of a kind of pools."""

    @abstractmethod
    async def allocate(self, order: AddressOrder[P]) -> Allocated | Exhausted | Waiting:
        """Take an address that is not in `order.taken`; the same one each time for a claim.

        Claims of one pool are asked for one after the other. An answer is stored before the next
        one is asked; who keeps no books of their own needs none besides `order.taken`.
        """

    @abstractmethod
    async def free(self, order: AddressOrder[P]) -> Released | Waiting:
        """Give it back. Must answer Released for a claim that never had one."""

    def report(self, pool: P, taken: Mapping[IP, Key]) -> Sequence[Condition]:
        """Conditions of a pool; its Ready sums them up. Without any, it is Ready."""
        del pool, taken
        return ()
