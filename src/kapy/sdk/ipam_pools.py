"""Protect address pools while their addresses are in use.

Each pool gets a finalizer before its first address is allocated. A pool in deletion allocates no
more addresses and is deleted after its last address.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final, Generic, TypeVar

import msgspec

from kapy._aio.clock import Clock
from kapy.api.condition import Condition
from kapy.api.ip_address import IPPoolReference
from kapy.api.names import ConditionType, Reason
from kapy.client.write_locks import WriteLocks
from kapy.conditions import true
from kapy.engine.cache import Change
from kapy.engine.controller import STATUS_DEBOUNCE, Controller, own_key
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, NotYet, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.meta import read
from kapy.kube.model import decode
from kapy.kube.names import Resource
from kapy.sdk.contract_objects import ContractObject, contract_object_of
from kapy.sdk.ipam import IPAMProvider
from kapy.sdk.ipam_addresses import Addresses, pool_name
from kapy.sdk.reports import record_failures, report

P = TypeVar("P")
PROTECTION: Final = "ipam.cluster.x-k8s.io/ProtectPool"


class AddressPools(Generic[P]):
    """The pools of one kind. kind: the provider's Struct, or its Resource."""

    def __init__(
        self,
        runtime: Runtime,
        kind: type[Any] | Resource,
        provider: IPAMProvider[P],
        addresses: Addresses,
    ) -> None:
        self._resource: Resource = kind if isinstance(kind, Resource) else kind.RESOURCE
        self.kind = self._resource.kind
        self.namespaced = self._resource.namespaced
        self._type = kind
        self._contract_type = contract_object_of(self._resource, ContractObject)
        self._runtime = runtime
        self._clock: Clock = runtime.clock
        self._provider = provider
        self._addresses = addresses
        self._known = runtime.cache.informer(self._resource)
        self._turns = WriteLocks()
        self._events = runtime.events.for_component(f"{self.kind.lower()}-controller")

    def attach(self) -> Controller:
        """Add a controller for the pools."""
        controller = Controller(self.kind.lower(), self.reconcile, requeue_on_own_writes=False)
        controller.watch(self._known, own_key)
        controller.watch(self._addresses.informer, self._of_address, debounce=STATUS_DEBOUNCE)
        return self._runtime.add(controller, self._known)

    def serves(self, reference: IPPoolReference) -> bool:
        """Return whether a claim refers to a pool of this kind."""
        named = reference.api_group, reference.kind
        return named == (self._resource.group, self._resource.kind)

    def key_of(self, reference: IPPoolReference, claim: Key) -> Key:
        """Return the key of the pool that a claim refers to."""
        return Key(claim.namespace if self.namespaced else "", reference.name)

    def raw(self, key: Key) -> Document | None:
        """Return a pool, None if it does not exist."""
        return self._known.raw(key)

    def decode(self, pool: Document) -> P:
        """Return a pool in the provider's form: its Struct, or the document if the provider has
        none.
        """
        kind = self._type
        result: Any = pool if isinstance(kind, Resource) else read(pool, kind)
        return result  # type: ignore[no-any-return]

    def lock(self, key: Key) -> asyncio.Lock:
        """Return the lock of a pool, for allocating and releasing its addresses."""
        return self._turns.of(self._resource, key)

    async def protect(self, key: Key) -> None:
        """Add the finalizer to a pool. Raises NotYet if the pool does not exist any more."""
        document = self._known.raw(key)
        if document is None:
            raise NotYet(f"{self.kind} {key} is gone")
        draft = Draft(self._runtime.client, self._contract_type, document)
        if PROTECTION not in draft.object.metadata.finalizers:
            draft.object.metadata.finalizers.append(PROTECTION)
            await draft.save()

    async def reconcile(self, key: Key) -> Result:
        """Reconcile one pool: write its finalizer and its conditions."""
        async with self.lock(key):
            document = self._known.raw(key)
            if document is None:
                return DONE
            draft = Draft(self._runtime.client, self._contract_type, document)
            metadata = draft.object.metadata
            named = _reference(self._resource, key.name)
            keys = self._addresses.taken(pool_name(named, key, namespaced=self.namespaced))
            if draft.object.deleting and not keys and PROTECTION in metadata.finalizers:
                metadata.finalizers.remove(PROTECTION)
            if draft.object.deleting:
                await draft.save()
                return DONE
            if PROTECTION not in metadata.finalizers:
                metadata.finalizers.append(PROTECTION)
            if self._has_status():
                with record_failures(self._events, document, "FailedReport"):
                    conditions = self._provider.report(self.decode(document), keys)
                ready = true(ConditionType.READY, Reason.READY)
                report(draft.object, list[Condition](conditions), ready, self._clock())
            await draft.save()
        return DONE

    def _has_status(self) -> bool:
        """Return whether the kind has a status."""
        if isinstance(self._type, Resource):
            return True
        return any(field.name == "status" for field in msgspec.structs.fields(self._type))

    def _of_address(self, change: Change) -> Iterable[Key]:
        if change.old is not None and change.new is not None:
            return ()
        reference = decode(change.document["spec"]["poolRef"], IPPoolReference)
        if not self.serves(reference):
            return ()
        return (self.key_of(reference, Key.of(change.document)),)


def _reference(resource: Resource, name: str) -> IPPoolReference:
    return IPPoolReference(name=name, kind=resource.kind, api_group=resource.group)
