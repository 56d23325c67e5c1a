"""What the controllers of infrastructure do besides: credentials, and what objects make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from kapy.api.cluster import Cluster
from kapy.api.names import Reason
from kapy.conditions import delete_condition, set_condition, true
from kapy.conditions.paused import is_paused
from kapy.engine.controller import Controller
from kapy.engine.draft import Draft
from kapy.engine.result import Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.names import Resource
from kapy.sdk.credentials import CREDENTIALS_AVAILABLE, Credential, Refused
from kapy.sdk.credentials_tenants import Tenants
from kapy.sdk.lens import Lens
from kapy.sdk.owned import Makes, Owned
from kapy.sdk.provider_objects import ProviderObjects

L = TypeVar("L", bound=Lens)


@dataclass(frozen=True, slots=True)
class Extras:
    """What a provider brings besides its answers. makes: kinds that its objects make.
    credentials: whose accounts it acts for."""

    makes: Sequence[Resource] = ()
    credentials: Tenants | None = None


class InfraObjects(ProviderObjects[L]):
    """The objects of one kind of infrastructure."""

    def __init__(
        self,
        runtime: Runtime,
        kind: type[Any] | Resource,
        lens: type[L],
        finalizer: str,
        extras: Extras,
    ) -> None:
        super().__init__(runtime, kind, lens, finalizer)
        resource: Resource = kind if isinstance(kind, Resource) else kind.RESOURCE
        self._makes = Makes(runtime, resource, extras.makes)
        self._tenants = extras.credentials

    def wake_owners(self, controller: Controller) -> None:
        """Wake objects by what they made."""
        self._makes.attach(controller)

    async def _hold(self, draft: Draft[L], cluster: Cluster) -> Result | None:
        """Store the finalizer. Where no credential may be used, nothing can be made, and nothing
        has to be kept: then what to do instead."""
        finalizers = draft.object.metadata.finalizers
        if self._finalizer in finalizers:
            return None
        if self._tenants is not None:
            if is_paused(draft.object, cluster):
                return None
            try:
                await self._tenants.of(draft.before, cluster, keep=False)
            except Refused as refusal:
                result = self._waiting(draft, refusal.answer, Reason.NOT_READY)
                await self._save(draft, cluster)
                return result
        finalizers.append(self._finalizer)
        await draft.save()
        return None

    async def _credential(self, draft: Draft[L], cluster: Cluster | None) -> Credential | None:
        """What the provider may use for an object, said in a condition. Raises Refused."""
        if self._tenants is None:
            return None
        found = await self._tenants.of(draft.before, cluster)
        if found is None:
            delete_condition(draft.object, CREDENTIALS_AVAILABLE)
        else:
            said = true(CREDENTIALS_AVAILABLE, CREDENTIALS_AVAILABLE)
            set_condition(draft.object, said, self._runtime.clock())
        return found

    def _owned(self, document: Document, cluster: str) -> Owned:
        return self._makes.of(document, cluster)
