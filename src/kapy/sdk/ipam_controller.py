"""The controller of address claims, for any provider (IPAM contract).

Upstream's document: `contracts/ipam.md`. In this order:

* Claims of other pools, and claims whose Cluster does not exist, stay unchanged.
* A paused claim is not reconciled, which the Paused condition reports.
* The finalizers of the claim and of the pool are stored before the provider is called.
* Claims of one pool are handled one after the other, and no address is allocated twice.
* The IPAddress is stored before `status.addressRef`.
* A deletion frees the address, deletes the IPAddress, and then removes the finalizer.

`kapy.sdk.ipam_pools` protects pools with allocated addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any, Final, Generic, TypeAlias, TypeVar

from msgspec import field

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.ip_address import IPAddress, IPAddressClaim, IPAddressClaimSpec, IPAddressReference
from kapy.api.names import Annotation, ConditionType, Label, Reason
from kapy.api.status import DeprecatedConditions
from kapy.conditions import false, true, v1beta1
from kapy.conditions.paused import is_paused
from kapy.engine.controller import Controller
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.meta import read
from kapy.kube.names import Resource
from kapy.sdk.contract_objects import ContractObject, ContractStatus
from kapy.sdk.ipam import AddressClaimContext, Allocated, Exhausted, IPAMProvider
from kapy.sdk.ipam_addresses import Addresses, pool_name
from kapy.sdk.ipam_pools import AddressPools
from kapy.sdk.ipam_watches import ClaimWatches
from kapy.sdk.provider_reconciler import ProviderReconciler, ProviderScope
from kapy.sdk.reports import in_v1beta1
from kapy.sdk.results import Released, Waiting

P = TypeVar("P")
RELEASE: Final = "ipam.cluster.x-k8s.io/ReleaseAddress"
ALLOCATION_FAILED: Final = "AllocationFailed"
POOL_NOT_READY: Final = "PoolNotReady"
POOL_EXHAUSTED: Final = "PoolExhausted"


def add_ipam(
    runtime: Runtime,
    pool: type[Any] | Resource,
    provider: IPAMProvider[Any],
    *,
    finalizer: str = RELEASE,
    concurrency: int = 10,
) -> Controller:
    """Serve a kind of pools; return the controller of its claims, for further watches.

    pool: the provider's Struct, or its Resource to be given documents; namespaced or
    cluster-scoped. finalizer: the finalizer of claims; a name of the provider's own if others serve
    pools, too.
    """
    resource: Resource = pool if isinstance(pool, Resource) else pool.RESOURCE
    addresses = Addresses(runtime)
    pools = AddressPools(runtime, pool, provider, addresses)
    reconciler = ClaimReconciler(runtime, provider, finalizer, pools, addresses)
    name = f"{resource.kind.lower()}/claim"
    controller = Controller(
        name, reconciler.reconcile, concurrency=concurrency, requeue_on_own_writes=False
    )
    ClaimWatches(runtime, resource).attach(controller)
    pools.attach()
    return runtime.add(controller, runtime.cache.informer(IPAddressClaim.RESOURCE))


class ClaimStatus(ContractStatus):
    address_ref: IPAddressReference | None = None
    deprecated: DeprecatedConditions | None = None


class ClaimContractObject(ContractObject, kw_only=True):
    """A claim as this contract writes it."""

    spec: IPAddressClaimSpec
    status: ClaimStatus = field(default_factory=ClaimStatus)


Scope: TypeAlias = ProviderScope[ClaimContractObject, IPAddressClaim]


class ClaimReconciler(ProviderReconciler[ClaimContractObject, IPAddressClaim], Generic[P]):
    """Reconciles the claims of one kind of pools."""

    def __init__(
        self,
        runtime: Runtime,
        provider: IPAMProvider[P],
        finalizer: str,
        pools: AddressPools[P],
        addresses: Addresses,
    ) -> None:
        super().__init__(runtime, IPAddressClaim, ClaimContractObject, finalizer)
        self._provider = provider
        self._pools = pools
        self._addresses = addresses

    def _scope(self, draft: Draft[ClaimContractObject]) -> Scope | None:
        if not self._pools.serves(draft.object.spec.pool_ref):
            return None
        named = _cluster_of(draft.object)
        cluster = None if named is None else self._clusters.get(named)
        if named is not None and cluster is None and not draft.object.deleting:
            return None  # the Cluster is watched
        claim = read(draft.before, IPAddressClaim)
        return ProviderScope(draft, self._runtime.clock(), claim, cluster)

    def may_own(self, scope: Scope) -> bool:
        return not _is_paused(scope.draft.object, scope.cluster)

    def pause(self, scope: Scope) -> bool:
        """Return whether the claim is paused. This contract also honours the annotation of the
        Cluster.
        """
        if _is_paused(scope.draft.object, scope.cluster):
            self.set_status(scope)
            return True
        return False

    async def _reconcile_normal(self, scope: Scope) -> Result:
        draft, claim = scope.draft, scope.context
        key = self._pools.key_of(claim.spec.pool_ref, claim.key)
        async with self._pools.lock(key), self._report_errors(draft, "FailedAllocate"):
            pool = self._pools.raw(key)
            if pool is None:
                return self._set_unavailable(
                    draft, POOL_NOT_READY, f"{self._pools.kind} {key} not found"
                )
            address = self._addresses.of(claim.key)
            if address is None:
                if "deletionTimestamp" in pool["metadata"]:
                    because = f"{self._pools.kind} {key} is being deleted"
                    return self._set_unavailable(draft, POOL_NOT_READY, because)
                await self._pools.protect(key)
                answer = await self._call_provider(claim, pool, scope.cluster)
                if isinstance(answer, Exhausted):
                    return self._set_unavailable(draft, POOL_EXHAUSTED, answer.message)
                if isinstance(answer, Waiting):
                    return self._set_waiting(draft, answer, ALLOCATION_FAILED)
                address = await self._addresses.store(claim, pool, answer)
            await self._addresses.repair(address, claim, pool)
        draft.object.status.address_ref = IPAddressReference(name=address.metadata.name)
        self._report(draft, (), true(ConditionType.READY, Reason.READY))
        return DONE

    async def _call_provider(
        self, claim: IPAddressClaim, pool: Document, cluster: Cluster | None
    ) -> Allocated | Exhausted | Waiting:
        intended = self._addresses.intended(claim.key)
        if intended is not None:
            return intended
        return await self._provider.allocate(self._context(claim, pool, cluster))

    def _set_unavailable(
        self, draft: Draft[ClaimContractObject], reason: str, message: str
    ) -> Result:
        """Report the reason for which there is no address. Pools and addresses are watched, so no
        timer is needed.
        """
        self._report(draft, (), false(ConditionType.READY, reason, message))
        return DONE

    def _report(
        self,
        draft: Draft[ClaimContractObject],
        conditions: Sequence[Condition],
        ready: Condition | None,
    ) -> None:
        super()._report(draft, conditions, ready)
        legacy = v1beta1.conditions_of(draft.object)
        for beta1_condition in in_v1beta1([] if ready is None else [ready]):
            v1beta1.set_condition(legacy, beta1_condition, self._runtime.clock())

    async def _call_delete(self, scope: Scope) -> Released | Waiting:
        claim = scope.context
        pool = self._pools.raw(self._pools.key_of(claim.spec.pool_ref, claim.key))
        answer = await self._provider.free(self._context(claim, pool, scope.cluster))
        if isinstance(answer, Waiting) or await self._addresses.remove(claim):
            return answer
        return Waiting(message="the IPAddress is not gone yet", requeue_after=None)

    def _context(
        self, claim: IPAddressClaim, pool: Document | None, cluster: Cluster | None
    ) -> AddressClaimContext[P]:
        name = pool_name(claim.spec.pool_ref, claim.key, namespaced=self._pools.namespaced)
        result = self._addresses.of(claim.key)
        return AddressClaimContext(
            key=claim.key,
            uid=claim.metadata.uid,
            claim=claim,
            pool=None if pool is None else self._pools.decode(pool),
            taken=self._addresses.taken(name, claim.key),
            allocated=None if result is None else _read_allocation(result),
            cluster=cluster,
        )


def _read_allocation(value: IPAddress) -> Allocated:
    spec = value.spec
    gateway = ip_address(spec.gateway) if spec.gateway else None
    return Allocated(address=ip_address(spec.address), prefix=spec.prefix, gateway=gateway)


def _cluster_of(claim: ClaimContractObject) -> Key | None:
    metadata = claim.metadata
    name = claim.spec.cluster_name or metadata.labels.get(Label.CLUSTER_NAME)
    return Key(metadata.namespace, name) if name else None


def _is_paused(claim: ClaimContractObject, cluster: Cluster | None) -> bool:
    """Return whether the claim is paused. This contract also honours the annotation of the
    Cluster.
    """
    if cluster is not None and Annotation.PAUSED in cluster.metadata.annotations:
        return True
    return is_paused(claim, cluster)
