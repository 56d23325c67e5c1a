"""A whole IPAM provider: pools that are a range of addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from ipaddress import ip_address
from typing import ClassVar

from msgspec import field

from kapy.api.condition import Condition
from kapy.kube import Key
from kapy.kube.meta import Object
from kapy.kube.model import Model
from kapy.kube.names import Resource
from kapy.sdk import AddressClaimContext, Allocated, Exhausted, IPAMProvider, Released, conditions
from kapy.sdk.ipam import IP

GROUP = "ipam.example.dev"


class RangePoolSpec(Model):
    first: str = ""
    last: str = ""
    prefix: int = 24
    gateway: str = ""


class RangePoolStatus(Model):
    conditions: list[Condition] = field(default_factory=list)


class RangePool(Object):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "rangepools", "RangePool")

    spec: RangePoolSpec = field(default_factory=RangePoolSpec)
    status: RangePoolStatus = field(default_factory=RangePoolStatus)


class GlobalRangePool(RangePool):
    RESOURCE: ClassVar[Resource] = replace(
        RangePool.RESOURCE, plural="globalrangepools", kind="GlobalRangePool", namespaced=False
    )


class Ranges(IPAMProvider[RangePool]):
    """The lowest address that is free. It keeps no books: what is taken is stored already."""

    async def allocate(self, context: AddressClaimContext[RangePool]) -> Allocated | Exhausted:
        assert context.pool is not None
        spec = context.pool.spec
        for address in _addresses(spec):
            if address not in context.taken:
                gateway = ip_address(spec.gateway) if spec.gateway else None
                return Allocated(address=address, prefix=spec.prefix, gateway=gateway)
        return Exhausted(f"all addresses from {spec.first} to {spec.last} are taken")

    async def free(self, context: AddressClaimContext[RangePool]) -> Released:
        return Released()

    def report(self, pool: RangePool, keys: Mapping[IP, Key]) -> Sequence[Condition]:
        size = sum(1 for _ in _addresses(pool.spec))
        return [conditions.true("InRange", "InRange", f"{len(keys)} of {size} are taken")]


def _addresses(spec: RangePoolSpec) -> Iterator[IP]:
    last, address = ip_address(spec.last), ip_address(spec.first)
    while int(address) <= int(last):
        if str(address) != spec.gateway:
            yield address
        address += 1
