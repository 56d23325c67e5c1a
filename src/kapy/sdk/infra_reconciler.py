"""The common steps of infrastructure controllers: credentials and owned objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

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
from kapy.sdk.provider_reconciler import ProviderReconciler, ProviderScope

L = TypeVar("L", bound=ContractObject)
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """Optional features of a controller. owns: the kinds of objects that its objects own.
    credentials: the credentials of tenants.
    """

    owns: Sequence[Resource] = ()
    credentials: TenantCredentials | None = None


class InfraReconciler(ProviderReconciler[L, C], Generic[L, C]):
    """Reconciles the objects of one kind of infrastructure."""

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

    async def begin(self, draft: Draft[L]) -> ProviderScope[L, C] | Result:
        """Return the scope of a reconcile, or the result if the object has to wait for a
        credential. An object that never had a credential has created nothing, so it gets no
        finalizer.
        """
        scope = await super().begin(draft)
        if isinstance(scope, Result) or self._credentials is None or not self.may_own(scope):
            return scope
        if draft.object.deleting or self.finalizer in draft.object.metadata.finalizers:
            return scope
        try:
            await self._credentials.of(draft.before, scope.cluster, keep=False)
        except CredentialRefused as refusal:
            result = self._set_waiting(draft, refusal.result, Reason.NOT_READY)
            self.set_status(scope)
            await draft.save()
            return result
        return scope

    def may_own(self, scope: ProviderScope[L, C]) -> bool:
        """Return whether the object may get the finalizer. It may not while it is paused and
        credentials decide, which are not read during the pause.
        """
        return self._credentials is None or not is_paused(scope.draft.object, scope.cluster)

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
