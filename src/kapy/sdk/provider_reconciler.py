"""The shared steps of all provider controllers: call, wait, delete, write.

`kapy.engine.reconciler` has the order of the steps.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar

from msgspec import structs, to_builtins

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.names import ConditionType, Reason
from kapy.conditions import false, set_condition
from kapy.conditions.paused import paused_condition, report_pause
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Phase, Reconciler
from kapy.engine.result import DONE, Result, requeue_if
from kapy.engine.runtime import Runtime
from kapy.kube.names import Resource
from kapy.sdk.contract_objects import ContractObject, contract_object_of
from kapy.sdk.reports import ProviderMistake, failure_condition, record_failures, report
from kapy.sdk.results import Failed, Released, StatusFields, Waiting

L = TypeVar("L", bound=ContractObject)
C = TypeVar("C")


@dataclass(slots=True)
class ProviderScope(Generic[L, C]):
    """One object of a provider.

    context: the provider's input. cluster: None if it is gone. owned: whether core has set the
    owner reference; without it the provider was never called. blocked: whether the provider was not
    called because another object is awaited.
    """

    draft: Draft[L]
    now: datetime
    context: C
    cluster: Cluster | None
    owned: bool = True
    blocked: bool = False


class ProviderReconciler(Reconciler[L, ProviderScope[L, C]], Generic[L, C]):
    """Reconciles the objects of one kind by calls of a provider.

    kind: the provider's Struct, or its Resource for documents. contract: its contract fields.
    summary_condition: the condition that core reads.
    """

    summary_condition: ClassVar[str] = ConditionType.READY

    def __init__(
        self, runtime: Runtime, kind: type[Any] | Resource, contract: type[L], finalizer: str
    ) -> None:
        resource: Resource = kind if isinstance(kind, Resource) else kind.RESOURCE
        objects = runtime.cache.informer(resource)
        contract_type = contract_object_of(resource, contract)
        super().__init__(contract_type, objects, runtime.client, finalizer)
        self._provider_kind = kind
        self._runtime = runtime
        self._events = runtime.events.for_component(f"{resource.kind.lower()}-controller")
        self._clusters = runtime.cache.informer(Cluster)

    @abstractmethod
    def _scope(self, draft: Draft[L]) -> ProviderScope[L, C] | None:
        """Return the scope for a reconcile of an object. None if another controller serves the
        object, or if the object waits for another one, which is watched.
        """

    @abstractmethod
    async def _reconcile_normal(self, scope: ProviderScope[L, C]) -> Result:
        """Call the provider, and report its result."""

    @abstractmethod
    async def _call_delete(self, scope: ProviderScope[L, C]) -> Released | Waiting:
        """Call the provider to delete the resources that it has created."""

    async def begin(self, draft: Draft[L]) -> ProviderScope[L, C] | Result:
        if draft.object.deleting and self.finalizer not in draft.object.metadata.finalizers:
            return DONE
        return self._scope(draft) or DONE

    def pause(self, scope: ProviderScope[L, C]) -> bool:
        """Return whether the object is paused. The deletion of one that is not owned goes on:
        nothing was created for it.
        """
        if scope.draft.object.deleting and not scope.owned:
            return False
        return report_pause(scope.draft.object, scope.cluster, scope.now)

    def phases(self, scope: ProviderScope[L, C]) -> Sequence[Phase[ProviderScope[L, C]]]:
        deleting = scope.draft.object.deleting
        return (self._reconcile_delete if deleting else self._reconcile_normal,)

    async def _reconcile_delete(self, scope: ProviderScope[L, C]) -> Result:
        """Release the infrastructure, then remove the finalizer."""
        answer: Released | Waiting = Released()
        if scope.owned:
            async with self._report_errors(scope.draft, "FailedRelease"):
                answer = await self._call_delete(scope)
        if isinstance(answer, Waiting):
            return self._set_waiting(scope.draft, answer, Reason.DELETING)
        scope.draft.object.metadata.finalizers.remove(self.finalizer)
        return DONE

    def delays_status(self, scope: ProviderScope[L, C]) -> bool:
        return scope.blocked

    def set_status(self, scope: ProviderScope[L, C]) -> Result:
        obj = scope.draft.object
        set_condition(obj, paused_condition(obj, scope.cluster), scope.now)
        return DONE

    def set_observed_generation(self, _scope: ProviderScope[L, C]) -> None:
        """Do nothing: no contract has `status.observedGeneration`."""

    @asynccontextmanager
    async def _report_errors(self, draft: Draft[L], reason: str) -> AsyncIterator[None]:
        """Report errors of a provider while the context is open, in an Event (with that reason) and
        in the summary condition. The errors are raised through, so that the controller backs off.
        """
        try:
            with record_failures(self._events, draft.before, reason):
                yield
        except Exception as error:
            self._report_error(draft, error)
            raise

    def _report_error(self, draft: Draft[L], error: Exception) -> None:
        """Report that the provider failed, unless the error is not worth reporting."""
        condition = failure_condition(error, self.summary_condition)
        if condition is not None:
            self._report(draft, (), condition)

    def _set_waiting(self, draft: Draft[L], answer: Waiting, reason: str) -> Result:
        self._set_status_fields(draft, answer.status)
        ready = false(self.summary_condition, reason, answer.message)
        self._report(draft, answer.conditions, ready)
        return requeue_if(after=answer.requeue_after, because=answer.message)

    def _is_failed(self, draft: Draft[L]) -> bool:
        """Return whether the object has failed terminally. It then stays unchanged until its
        deletion.
        """
        status = draft.object.status
        return bool(status.failure_reason or status.failure_message)

    def _set_failed(self, draft: Draft[L], answer: Failed) -> Result:
        """Report a terminal failure in the conditions and the status of the object."""
        status, reason = draft.object.status, answer.reason or Reason.NOT_READY
        status.failure_reason, status.failure_message = reason, answer.message
        self._set_status_fields(draft, answer.status)
        self._report_failure(draft, answer, reason)
        self._events.warning(draft.before, reason, answer.message)
        return DONE

    def _report_failure(self, draft: Draft[L], answer: Failed, reason: str) -> None:
        condition = false(self.summary_condition, reason, answer.message)
        self._report(draft, answer.conditions, condition)
        # Whatever else is reported: nothing of that makes it work.
        set_condition(draft.object, condition, self._runtime.clock())

    def _set_status_fields(self, draft: Draft[L], fields: StatusFields) -> None:
        """Write the provider's own status fields. Raises ProviderMistake."""
        own = {field.encode_name for field in structs.fields(type(draft.object.status))}
        if names := sorted(own & fields.keys()):
            raise ProviderMistake(
                f"status.{names[0]} is a field of the contract, which the SDK writes: answer it as "
                "what it is, and leave it out of `status`"
            )
        draft.more_status |= to_builtins(dict(fields))

    def _report(
        self, draft: Draft[L], conditions: Sequence[Condition], ready: Condition | None
    ) -> None:
        """Write the reported conditions; ready: the summary condition if there are none."""
        report(draft.object, conditions, ready, self._runtime.clock(), self.summary_condition)
