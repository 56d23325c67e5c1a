"""The IPAddresses of one kind of pools.

An IPAddress has the name of its claim, so that a retry after a lost response finds the same object.
While the result of a creation is unknown, its address counts as taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Final

from kapy.api.ip_address import (
    IPAddress,
    IPAddressClaim,
    IPAddressClaimReference,
    IPAddressSpec,
    IPPoolReference,
)
from kapy.api.names import Label
from kapy.engine.draft import Draft
from kapy.engine.result import NotYet
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, ApiError, NotFound, ServerError
from kapy.kube.meta import ObjectMeta, OwnerReference, owner_reference, read
from kapy.kube.model import decode
from kapy.kube.names import GroupKind
from kapy.sdk.ipam import IP, Allocated
from kapy.sdk.reports import ProviderMistake

PROTECTION: Final = "ipam.cluster.x-k8s.io/ProtectAddress"
"""The finalizer that protects an IPAddress from deletion while its claim exists."""
BY_POOL: Final = "sdk/ip-pool"


class Addresses:
    """Reads and writes the IPAddresses of one kind of pools. Reads come from the cache, which
    contains the program's own writes.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._client = runtime.client
        self.informer = runtime.cache.informer(IPAddress)
        self.informer.add_index(BY_POOL, pool_of)
        self._intended: dict[Key, tuple[str, Allocated]] = {}

    def of(self, claim: Key) -> IPAddress | None:
        """Return the address of a claim."""
        return self.informer.get(claim)

    def taken(self, pool: str, besides: Key | None = None) -> Mapping[IP, Key]:
        """Return the addresses of a pool that are or may be allocated to claims other than
        `besides`.
        """
        result: dict[IP, Key] = {
            allocated.address: claim
            for claim, (where, allocated) in self._intended.items()
            if where == pool and claim != besides
        }
        for item in self.informer.list_by_index(BY_POOL, pool):
            claim = Key(item.metadata.namespace, item.spec.claim_ref.name)
            if claim != besides:
                result[ip_address(item.spec.address)] = claim
        return result

    def intended(self, claim: Key) -> Allocated | None:
        """Return the address whose creation for a claim got no response."""
        results = self._intended.get(claim)
        return None if results is None else results[1]

    async def store(self, claim: IPAddressClaim, pool: Document, allocated: Allocated) -> IPAddress:
        """Return the address of a claim, after creating it if needed. Raises NotYet,
        ProviderMistake.
        """
        where = pool_name(claim.spec.pool_ref, claim.key, namespaced=_is_namespaced(pool))
        if (others := self.taken(where, claim.key).get(allocated.address)) is not None:
            raise ProviderMistake(
                f"an address must not be given out twice: {allocated.address} is that of {others}"
            )
        self._intended[claim.key] = where, allocated
        try:
            result = await self._create(claim, pool, allocated)
        except ApiError as error:
            if not isinstance(error, ServerError):  # a client error proves that nothing was stored
                self._intended.pop(claim.key, None)
            raise
        self._intended.pop(claim.key, None)
        return result

    async def repair(self, address: IPAddress, claim: IPAddressClaim, pool: Document) -> None:
        """Restore the owners and the finalizer of an address."""
        document = self.informer.raw(address.key)
        if document is None or address.deleting:
            return
        draft = Draft(self._client, IPAddress, document)
        metadata = draft.object.metadata
        if PROTECTION not in metadata.finalizers:
            metadata.finalizers.append(PROTECTION)
        uids = {reference.uid for reference in metadata.owner_references}
        metadata.owner_references += [
            owner for owner in _owners(claim, pool) if owner.uid not in uids
        ]
        await draft.save()

    async def remove(self, claim: IPAddressClaim) -> bool:
        """Delete the address of a claim; return whether it is gone."""
        try:
            document = await self._client.get(IPAddress.RESOURCE, claim.key)
        except NotFound:
            self._intended.pop(claim.key, None)
            return True
        draft = Draft(self._client, IPAddress, document)
        if draft.object.spec.pool_ref != claim.spec.pool_ref:
            return True  # the address of another claim
        if not draft.object.deleting:
            await self._client.delete(IPAddress, claim.key, uid=draft.object.metadata.uid)
            document = await self._client.get(IPAddress.RESOURCE, claim.key)
            draft = Draft(self._client, IPAddress, document)
        if PROTECTION in draft.object.metadata.finalizers:
            draft.object.metadata.finalizers.remove(PROTECTION)
            await draft.save()
        return self.informer.raw(claim.key) is None

    async def _create(
        self, claim: IPAddressClaim, pool: Document, allocated: Allocated
    ) -> IPAddress:
        new = _new(claim, pool, allocated)
        try:
            return await self._client.create(new)
        except AlreadyExists:
            there = read(await self._client.get(IPAddress.RESOURCE, claim.key), IPAddress)
        if there.deleting:
            raise NotYet(f"IPAddress {there.key} of an earlier claim is not gone yet")
        if there.spec.pool_ref != claim.spec.pool_ref:
            raise ProviderMistake(
                f"IPAddress {there.key} is there already, of another pool; delete it, or use "
                "another name for the claim"
            )
        return there


def pool_of(address: Document) -> Iterable[str]:
    """Index an IPAddress by its pool, both as a namespaced and as a cluster-scoped pool."""
    reference, key = decode(address["spec"]["poolRef"], IPPoolReference), Key.of(address)
    yield pool_name(reference, key, namespaced=True)
    yield pool_name(reference, key, namespaced=False)


def pool_name(reference: IPPoolReference, claim: Key, *, namespaced: bool) -> str:
    """Return a unique name of a pool. claim: the key of the claim that refers to it."""
    kind = GroupKind(reference.api_group, reference.kind)
    return f"{kind} {claim.namespace if namespaced else ''}/{reference.name}"


def _is_namespaced(pool: Document) -> bool:
    return bool(pool["metadata"].get("namespace"))


def _owners(claim: IPAddressClaim, pool: Document) -> list[OwnerReference]:
    return [
        owner_reference(claim, controller=True, block_deletion=True),
        owner_reference(pool, block_deletion=True),
    ]


def _new(claim: IPAddressClaim, pool: Document, allocated: Allocated) -> IPAddress:
    cluster = claim.spec.cluster_name or claim.metadata.labels.get(Label.CLUSTER_NAME)
    owners = _owners(claim, pool)
    owners[1].controller = False
    return IPAddress(
        metadata=ObjectMeta(
            name=claim.metadata.name,
            namespace=claim.metadata.namespace,
            labels={Label.CLUSTER_NAME: cluster} if cluster else {},
            finalizers=[PROTECTION],
            owner_references=owners,
        ),
        spec=IPAddressSpec(
            claim_ref=IPAddressClaimReference(name=claim.metadata.name),
            pool_ref=claim.spec.pool_ref,
            address=str(allocated.address),
            prefix=allocated.prefix,
            gateway="" if allocated.gateway is None else str(allocated.gateway),
        ),
    )
