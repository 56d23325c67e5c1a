"""The order of steps in which every controller reconciles an object.

1. Read the object from the informer. Drop what was remembered of an object that is gone.
2. Read what the reconcile depends on, such as the Cluster. If something is missing, the watch event
   of its creation enqueues the object again.
3. Store the finalizer before anything is created that the finalizer has to clean up.
4. Write nothing but the Paused condition of a paused object.
5. Run the phases, or those of the deletion, each even if an earlier one failed.
6. Write metadata and spec, then the status: it refers to the generation that the first write made.
   The status of an object whose inputs have not changed is not computed again, minor changes of a
   status wait for the next one, and `status.observedGeneration` advances only if no phase failed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence, Set
from datetime import datetime
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from kapy.client.client import Client
from kapy.engine.cache import Informer
from kapy.engine.draft import Draft
from kapy.engine.reconcile_log import set_object
from kapy.engine.result import DONE, Result
from kapy.engine.status_writes import NO_COUNTERS, StatusDelay, StatusInputs, StatusMemo
from kapy.kube import Key
from kapy.kube.meta import Object

T = TypeVar("T")
O = TypeVar("O", bound=Object)  # noqa: E741
O_co = TypeVar("O_co", bound=Object, covariant=True)


class Scope(Protocol):
    """The inputs and results of one reconcile. now: the time at its start."""

    @property
    def draft(self) -> Draft[Any]: ...

    @property
    def now(self) -> datetime: ...


Phase: TypeAlias = Callable[[T], Awaitable[Result]]
S = TypeVar("S", bound=Scope)


class Reconciler(ABC, Generic[O, S]):
    """The base class of reconcilers, each of which reconciles the objects of one kind.

    kind: the Struct of the kind. finalizer: the finalizer of the controller, "" for none. normal,
    deletion: the phases for an object, and for one that is being deleted, in order.
    saves_finalizer_first: whether the finalizer is stored before the first phase; otherwise a phase
    stores it together with its own changes. minor_counters: fields of the status that no controller
    waits for, because they only sum up the state of other objects.
    """

    minor_counters: ClassVar[Set[str]] = NO_COUNTERS
    normal: Sequence[Phase[S]] = ()
    deletion: Sequence[Phase[S]] = ()
    saves_finalizer_first: ClassVar[bool] = True

    def __init__(
        self, kind: type[O], objects: Informer[Any], client: Client, finalizer: str = ""
    ) -> None:
        self.kind = kind
        self.finalizer = finalizer
        self._informer = objects
        self._client = client
        self._status_memo = StatusMemo()
        objects.when_packed(self.drop_memos)
        self._status_delay = StatusDelay(self.minor_counters)

    @abstractmethod
    async def begin(self, draft: Draft[O]) -> S | Result:
        """Return the scope of a reconcile, or a Result if the reconcile has to end here."""

    @abstractmethod
    def pause(self, scope: S) -> bool:
        """Return whether the object is paused, and set the Paused condition of one that is."""

    @abstractmethod
    def set_status(self, scope: S) -> Result:
        """Set the status from the objects that the phases read.

        Returns the time of the next update if the status changes with time, and `requeue` does not
        cover that.
        """

    def requeue(self, _scope: S) -> Result:
        """Return the time at which the status changes although no object changes."""
        return DONE

    def status_inputs(self, _scope: S) -> StatusInputs | None:
        """Return the inputs from which the status is computed.

        Returns None (the default) if it must be computed each time.
        """
        return None

    def delays_status(self, _scope: S) -> bool:
        """Return whether minor changes of the status may wait for the next ones."""
        return False

    def phases(self, scope: S) -> Sequence[Phase[S]]:
        """Return the phases to run."""
        return self.deletion if scope.draft.object.deleting else self.normal

    def may_own(self, _scope: S) -> bool:
        """Return whether the object may get the finalizer now."""
        return True

    async def save(self, scope: S) -> bool:
        """Write the changes of the object to the server. Return whether anything was written."""
        return await scope.draft.save()

    def set_observed_generation(self, scope: S) -> None:
        """Report in the status that no phase of this generation's reconcile failed."""
        obj = scope.draft.object
        obj.status.observed_generation = obj.metadata.generation

    def forget(self, key: Key) -> None:
        """Drop the remembered data about an object that is gone."""
        self._status_memo.forget(key)
        self._status_delay.forget(key)

    def drop_memos(self, key: Key) -> None:
        """Drop data that can be computed again, as nobody has read the object for a while."""
        self._status_memo.forget(key)

    async def reconcile(self, key: Key) -> Result:
        """Reconcile the object with this key."""
        document = self._informer.raw(key)
        if document is None:
            self.forget(key)
            return DONE
        set_object(document)
        draft = Draft(self._client, self.kind, document)
        scope = await self.begin(draft)
        if isinstance(scope, Result):
            return scope
        added = self._add_finalizer(scope)
        if self.pause(scope):
            await draft.save()
            return DONE
        if added and self.saves_finalizer_first:
            # A deletion could otherwise leave behind what the phases create.
            await draft.save_spec()
        try:
            result = await run_phases(self.phases(scope), scope)
        except Exception:
            await self.write(scope, failed=True)
            raise
        return result.earlier_of(await self.write(scope, failed=False))

    def _add_finalizer(self, scope: S) -> bool:
        metadata = scope.draft.object.metadata
        has_finalizer = not self.finalizer or self.finalizer in metadata.finalizers
        if has_finalizer or scope.draft.object.deleting or not self.may_own(scope):
            return False
        metadata.finalizers.append(self.finalizer)
        return True

    async def write(self, scope: S, *, failed: bool) -> Result:
        """Write the results of the phases. Returns when to reconcile again because of them.

        failed: whether a phase failed.
        """
        draft = scope.draft
        await draft.save_spec()
        obj = draft.object
        if obj.deleting and not obj.metadata.finalizers:
            return DONE
        inputs = None if failed else self.status_inputs(scope)
        if self._status_memo.is_current(obj.key, inputs) and draft.is_clean:
            return self.requeue(scope)
        again = self.set_status(scope)
        changes_with_time = again.after is not None
        again = again.earlier_of(self.requeue(scope))
        if not failed:
            self.set_observed_generation(scope)
            wait = self._status_delay.wait(draft, scope.now) if self.delays_status(scope) else DONE
            if wait is not DONE:
                return wait.earlier_of(again)
        if not await self.save(scope) and inputs is not None and not changes_with_time:
            self._status_memo.keep(obj.key, inputs)
        return again


async def run_phases(phases: Sequence[Phase[T]], scope: T) -> Result:
    """
    Run every phase in order, even after one failed, and return the earliest result.

    A later phase must not be starved by the failure of an earlier one: a
    machine whose infrastructure cannot be read still has its node observed.
    With any failure the results are dropped, because the error already causes
    a retry with back-off. Cancellation is not a failure and stops at once.
    """
    result, errors = DONE, list[Exception]()
    for phase in phases:
        try:
            result = result.earlier_of(await phase(scope))
        except Exception as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ExceptionGroup("reconcile phases failed", errors)
    return result
