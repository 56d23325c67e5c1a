"""The shared steps of all provider controllers: call, wait, delete, write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from msgspec import structs, to_builtins

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.names import ConditionType, Reason
from kapy.conditions import false, set_condition
from kapy.conditions.paused import is_paused, paused_condition
from kapy.conditions.status_delay import StatusDelay
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, Result, requeue_if
from kapy.engine.runtime import Runtime
from kapy.kube.names import Resource
from kapy.sdk.contract_objects import ContractObject, contract_object_of
from kapy.sdk.failures import ProviderMistake, failure_condition, record_failures
from kapy.sdk.readiness import report
from kapy.sdk.results import Failed, Released, StatusFields, Waiting

L = TypeVar("L", bound=ContractObject)
Deletion: TypeAlias = Callable[[], Awaitable[Released | Waiting]]


class ProviderReconciler(Generic[L]):
    """The objects of one kind. kind: the provider's Struct, or its Resource for documents.
    contract: its contract fields. summary_condition: the condition that core reads.
    """

    summary_condition: ClassVar[str] = ConditionType.READY

    def __init__(
        self, runtime: Runtime, kind: type[Any] | Resource, contract: type[L], finalizer: str
    ) -> None:
        resource: Resource = kind if isinstance(kind, Resource) else kind.RESOURCE
        self._kind = kind
        self._contract_type = contract_object_of(resource, contract)
        self._finalizer = finalizer
        self._runtime = runtime
        self._events = runtime.events.for_component(f"{resource.kind.lower()}-controller")
        self._objects = runtime.cache.informer(resource)
        self._clusters = runtime.cache.informer(Cluster)
        self._delayed_statuses = StatusDelay()

    async def _delete_then_remove_finalizer(
        self, draft: Draft[L], cluster: Cluster | None, delete: Deletion | None
    ) -> Result:
        """Handle a deletion: release the infrastructure, then remove the finalizer.

        release: calls the provider; None if the object was never owned: nothing was created.
        """
        finalizers = draft.object.metadata.finalizers
        if self._finalizer not in finalizers:
            return DONE
        answer: Released | Waiting = Released()
        if delete is not None:
            if is_paused(draft.object, cluster):
                await self._save(draft, cluster)
                return DONE
            async with self._report_errors(draft, cluster, "FailedRelease"):
                answer = await delete()
        if isinstance(answer, Released):
            finalizers.remove(self._finalizer)
            await draft.save()
            return DONE
        result = self._set_waiting(draft, answer, Reason.DELETING)
        await self._save(draft, cluster)
        return result

    @asynccontextmanager
    async def _report_errors(
        self, draft: Draft[L], cluster: Cluster | None, reason: str
    ) -> AsyncIterator[None]:
        """Report errors of a provider in an Event (with that reason) and in the summary condition
        while it runs; they are raised through, so that the controller backs off.
        """
        try:
            with record_failures(self._events, draft.before, reason):
                yield
        except Exception as error:
            if self._report_error(draft, error):
                await self._save(draft, cluster)
            raise

    def _report_error(self, draft: Draft[L], error: Exception) -> bool:
        """Report that the provider failed; return False if the error is not worth reporting."""
        condition = failure_condition(error, self.summary_condition)
        if condition is not None:
            self._report(draft, (), condition)
        return condition is not None

    def _set_waiting(self, draft: Draft[L], answer: Waiting, reason: str) -> Result:
        self._set_status_fields(draft, answer.status)
        ready = false(self.summary_condition, reason, answer.message)
        self._report(draft, answer.conditions, ready)
        return requeue_if(after=answer.requeue_after, because=answer.message)

    def _is_failed(self, draft: Draft[L]) -> bool:
        """Return whether it has failed terminally: it is unchanged until its deletion."""
        status = draft.object.status
        return bool(status.failure_reason or status.failure_message)

    def _set_failed(self, draft: Draft[L], answer: Failed) -> Result:
        """Set a terminal failure."""
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

    async def _save_or_delay(self, draft: Draft[L], cluster: Cluster | None) -> Result:
        """Write the object as `_save` does, or return when to do so if the change is minor."""
        now = self._runtime.clock()
        set_condition(draft.object, paused_condition(draft.object, cluster), now)
        wait = self._delayed_statuses.wait(draft, now)
        if wait is DONE:
            await draft.save()
        return wait

    async def _save(self, draft: Draft[L], cluster: Cluster | None) -> None:
        paused = paused_condition(draft.object, cluster)
        set_condition(draft.object, paused, self._runtime.clock())
        await draft.save()
