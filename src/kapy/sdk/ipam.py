"""The interface of IPAM providers.

A provider allocates an address for a claim (`allocate`) and frees it (`free`). The SDK implements
the rest of the IPAM contract: `kapy.sdk.ipam_controller`.
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
from kapy.kube.renamed import renamed_fields
from kapy.sdk.results import Released, Waiting

P = TypeVar("P")
IP: TypeAlias = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocated:
    """The address of a claim. prefix: the prefix length of its network, in bits. gateway: the
    gateway of the network, if any.
    """

    address: IP
    prefix: int
    gateway: IP | None = None


@renamed_fields(because="message")
@dataclass(frozen=True, slots=True)
class Exhausted:
    """The pool has no free address. The SDK calls again when one is released or the pool
    changes.
    """

    message: str = "no address of the pool is free"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressClaimContext(Generic[P]):
    """The input for allocating or releasing the address of a claim; read-only for the provider.

    pool: the pool; None only in `free`, if it is gone. taken: the addresses of the pool's other
    claims. allocated: the claim's current address. cluster: the claim's Cluster, if it names one.
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
    async def allocate(self, context: AddressClaimContext[P]) -> Allocated | Exhausted | Waiting:
        """Return an address that is not in `context.taken`; always the same one for a claim.

        Claims of one pool are handled one after the other, and each result is stored before the
        next call; so `context.taken` is sufficient as a record.
        """

    @abstractmethod
    async def free(self, context: AddressClaimContext[P]) -> Released | Waiting:
        """Release the address of a claim. Must return Released for a claim that never had one."""

    def report(self, pool: P, taken: Mapping[IP, Key]) -> Sequence[Condition]:
        """Return conditions of a pool; its Ready summarizes them. Without any, it is Ready."""
        del pool, taken
        return ()
