"""The common steps of infrastructure controllers: credentials and owned objects."""

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
from kapy.sdk.contract_objects import ContractObject
from kapy.sdk.credential_types import CREDENTIALS_AVAILABLE, Credential, CredentialRefused
from kapy.sdk.credentials_of_tenants import TenantCredentials
from kapy.sdk.owned_objects import OwnedKinds, OwnedObjects
from kapy.sdk.provider_reconciler import ProviderReconciler

L = TypeVar("L", bound=ContractObject)


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """Optional features of a controller. owns: the kinds of objects that its objects own.
    credentials: the credentials of tenants.
    """

    owns: Sequence[Resource] = ()
    credentials: TenantCredentials | None = None


class InfraReconciler(ProviderReconciler[L]):
    """The objects of one kind of infrastructure."""

    def __init__(
        self,
        runtime: Runtime,
        kind: type[Any] | Resource,
        contract: type[L],
        finalizer: str,
        options: ControllerOptions,
    ) -> None:
        super().__init__(runtime, kind, contract, finalizer)
        resource: Resource = kind if isinstance(kind, Resource) else kind.RESOURCE
        self._owned_kinds = OwnedKinds(runtime, resource, options.owns)
        self._credentials = options.credentials

    def wake_owners(self, controller: Controller) -> None:
        """Enqueue the owners of changed objects."""
        self._owned_kinds.attach(controller)

    async def _ensure_finalizer(self, draft: Draft[L], cluster: Cluster) -> Result | None:
        """Store the finalizer; return a Result if the reconcile has to end. An object that never
        had a credential created nothing, so it gets no finalizer.
        """
        finalizers = draft.object.metadata.finalizers
        if self._finalizer in finalizers:
            return None
        if self._credentials is not None:
            if is_paused(draft.object, cluster):
                return None
            try:
                await self._credentials.of(draft.before, cluster, keep=False)
            except CredentialRefused as refusal:
                result = self._set_waiting(draft, refusal.result, Reason.NOT_READY)
                await self._save(draft, cluster)
                return result
        finalizers.append(self._finalizer)
        await draft.save()
        return None

    async def _credential(self, draft: Draft[L], cluster: Cluster | None) -> Credential | None:
        """Return the credential of an object, and report it in a condition. Raises
        CredentialRefused.
        """
        if self._credentials is None:
            return None
        credential = await self._credentials.of(draft.before, cluster)
        if credential is None:
            delete_condition(draft.object, CREDENTIALS_AVAILABLE)
        else:
            condition = true(CREDENTIALS_AVAILABLE, CREDENTIALS_AVAILABLE)
            set_condition(draft.object, condition, self._runtime.clock())
        return credential

    def _owned_objects(self, document: Document, cluster: str) -> OwnedObjects:
        return self._owned_kinds.owned_by(document, cluster)
