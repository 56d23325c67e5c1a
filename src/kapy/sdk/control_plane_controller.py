"""The controller of hosted control planes, which have no Machines.

`kapy.sdk.control_plane_reconciler` has the parts that all control planes share.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from kapy.api.embedded import StatusVersion
from kapy.api.names import ConditionType, Label, Reason
from kapy.conditions import true
from kapy.engine.controller import Controller
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, Result, requeue_if
from kapy.engine.runtime import Runtime
from kapy.kube.names import Resource
from kapy.kube.version import InvalidVersion, parse_tolerant
from kapy.sdk.control_plane import ControlPlaneContext, ControlPlaneProvider
from kapy.sdk.control_plane_kinds import ControlPlaneContractObject, ControlPlaneStatus
from kapy.sdk.control_plane_reconciler import ControlPlaneReconciler, Scope, unavailable
from kapy.sdk.reports import ProviderMistake
from kapy.sdk.results import ControlPlaneProvisioned, Failed, Released, Waiting

T = TypeVar("T")


def add_control_plane(
    runtime: Runtime,
    kind: type[Any] | Resource,
    provider: ControlPlaneProvider[Any],
    *,
    finalizer: str,
    concurrency: int = 10,
) -> Controller:
    """Serve a kind of control planes without Machines; returns its controller, for further watches.

    kind: the provider's Struct, or its Resource to be given documents. finalizer: a qualified name
    of the provider's own.
    """
    resource: Resource = kind if isinstance(kind, Resource) else kind.RESOURCE
    reconciler = HostedControlPlaneReconciler(runtime, kind, provider, finalizer)
    controller = Controller(
        resource.kind.lower(),
        reconciler.reconcile,
        concurrency=concurrency,
        requeue_on_own_writes=False,
    )
    reconciler.watches.attach(controller)
    return runtime.add(controller, runtime.cache.informer(resource))


class HostedControlPlaneReconciler(ControlPlaneReconciler[T], Generic[T]):
    """Reconciles the objects of one kind of control planes that have no Machines."""

    def __init__(
        self,
        runtime: Runtime,
        kind: type[Any] | Resource,
        provider: ControlPlaneProvider[T],
        finalizer: str,
    ) -> None:
        super().__init__(runtime, kind, provider, finalizer)
        self._provider = provider

    async def _reconcile_control_plane(self, scope: Scope[T]) -> Result:
        answer = await self._provider.reconcile_normal(scope.context)
        if isinstance(answer, Waiting):
            return self._set_waiting(scope.draft, answer, Reason.NOT_AVAILABLE)
        if isinstance(answer, Failed):
            return self._set_failed(scope.draft, answer)
        return await self._set_provisioned(scope.draft, scope.context, answer)

    async def _delete_control_plane(self, scope: Scope[T]) -> Released | Waiting:
        return await self._provider.reconcile_delete(scope.context)

    async def _set_provisioned(
        self,
        draft: Draft[ControlPlaneContractObject],
        context: ControlPlaneContext[T],
        answer: ControlPlaneProvisioned,
    ) -> Result:
        _check(answer, context)
        self._set_status_fields(draft, answer.status)
        await self._set_endpoint(draft, answer.endpoint)
        result = DONE
        if answer.initialized or answer.kubeconfig or answer.authority is not None:
            result = await self._keep_kubeconfig(
                draft, context, kubeconfig=answer.kubeconfig, authority=answer.authority
            )
        status = draft.object.status
        if answer.initialized:
            status.initialization.control_plane_initialized = True
        status.external_managed_control_plane = self._provider.external or None
        _set_replicas(status, context, answer)
        ready = unavailable("Waiting for the control plane to be initialized")
        if status.initialization.control_plane_initialized:
            ready = true(ConditionType.AVAILABLE, Reason.AVAILABLE)
        self._report(draft, answer.conditions, ready)
        return result.earlier_of(
            requeue_if(after=answer.requeue_after, because=answer.requeue_reason)
        )


def _check(answer: ControlPlaneProvisioned, context: ControlPlaneContext[Any]) -> None:
    if answer.initialized and (answer.endpoint or context.endpoint) is None:
        raise ProviderMistake(
            "a control plane that is initialized has an endpoint: answer one, or set"
            " provides_endpoint = False to wait for the Cluster's"
        )
    if answer.version:
        try:
            parse_tolerant(answer.version)
        except InvalidVersion:
            raise ProviderMistake(
                f"the version that runs must be a semantic version as v1.34.1 is: {answer.version}"
            ) from None


def _set_replicas(
    status: ControlPlaneStatus, context: ControlPlaneContext[Any], answer: ControlPlaneProvisioned
) -> None:
    replicas, version = answer.replicas, answer.version
    if version:
        total = 0 if replicas is None else replicas.total
        status.version = version
        status.versions = [StatusVersion(version=version, replicas=total)]
    if replicas is not None:
        status.selector = f"{Label.CLUSTER_NAME}={context.cluster.name},{Label.CONTROL_PLANE}"
        status.replicas, status.ready_replicas = replicas.total, replicas.ready
        status.available_replicas = replicas.available
        status.up_to_date_replicas = replicas.up_to_date
