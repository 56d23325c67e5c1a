"""Phase: call an extension that updates a Machine in place, if the Machine's owner marked it for
that.

The owner (a control plane or a MachineSet) writes the desired state of the Machine and its objects,
marks them, and finally marks the hook UpdateMachine as pending. From then on the extension is
called until it is done. Then the marks are removed, the pending hook last, so that an interrupted
update continues.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Final

from kapy.api.machines import is_update_pending, is_updating_in_place, pending_hooks_annotation
from kapy.api.names import Annotation, Reason
from kapy.contract.fields import View
from kapy.contract.observed import Absent, Found, Observed, Unreadable
from kapy.core.machine.scope import InPlaceUpdater, MachineScope, Progress
from kapy.engine.result import DONE, NotYet, Result, requeue
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.meta import to_document

IN_PROGRESS: Final = "In-place update in progress"
GATE_CLOSED: Final = (
    f"{IN_PROGRESS}: nothing happens while feature gate InPlaceUpdates is off; open it again, or "
    "have the Machine replaced"
)


async def reconcile_in_place(scope: MachineScope) -> Result:
    """Update the Machine in place if its owner requested that. All objects that it waits for are
    watched.
    """
    machine, updates = scope.machine, scope.dependencies.updates
    if not is_updating_in_place(machine):
        scope.dependencies.update_progress.forget(machine.key)
        return DONE
    if updates is None:
        scope.updating = Reason.IN_PLACE_UPDATING, GATE_CLOSED
        return DONE
    annotations = machine.metadata.annotations
    if Annotation.UPDATE_IN_PROGRESS not in annotations:
        await _complete(scope)  # another controller has ended it
        return DONE
    if not is_update_pending(annotations) or not _is_provisioned(scope):
        return DONE
    desired = _desired_objects(scope)
    return DONE if desired is None else await _update(scope, updates, desired)


def _is_provisioned(scope: MachineScope) -> bool:
    status = scope.machine.status
    done = status.initialization
    return bool(
        done.infrastructure_provisioned
        and done.bootstrap_data_secret_created
        and status.node_ref is not None
    )


def _desired_objects(scope: MachineScope) -> Document | None:
    """Return the desired objects for the extension; None while they are not all marked, or are
    unreadable.
    """
    if isinstance(scope.infrastructure, Absent):
        message = "In-place update not possible: InfraMachine not found"
        scope.updating = Reason.IN_PLACE_UPDATE_FAILED, message
        raise NotYet("in-place update failed: InfraMachine not found")
    desired = {"machine": to_document(scope.machine)}
    for field, observed in (
        ("infrastructureMachine", scope.infrastructure),
        ("bootstrapConfig", scope.bootstrap),
    ):
        if isinstance(observed, Unreadable) or (
            isinstance(observed, Found) and not _is_marked(observed.view)
        ):
            return None
        if isinstance(observed, Found):
            desired[field] = observed.view.document
    return desired


def _is_marked(view: View) -> bool:
    return Annotation.UPDATE_IN_PROGRESS in (view.document["metadata"].get("annotations") or {})


async def _update(scope: MachineScope, updates: InPlaceUpdater, desired: Document) -> Result:
    machine, progress_memo = scope.machine, scope.dependencies.update_progress
    about = [
        (value["metadata"]["uid"], value["metadata"].get("generation"))
        for value in desired.values()
    ]
    progress = progress_memo.get(machine.key, about)
    if progress is None:
        progress = await _call_updater(scope, updates, desired)
        if progress.retry_after <= 0:
            await _complete(scope)
            return DONE
        progress_memo.put(machine.key, about, progress)
    message = f"{IN_PROGRESS}: {progress.message}" if progress.message else IN_PROGRESS
    scope.updating = Reason.IN_PLACE_UPDATING, message
    # A timer, because the extension has requested this delay and sends no event.
    after = timedelta(seconds=progress.retry_after)
    return requeue(after=after, because="the extension is updating the Machine")


async def _call_updater(
    scope: MachineScope, updates: InPlaceUpdater, desired: Document
) -> Progress:
    try:
        return await updates.update_machine(scope.machine.key, desired)
    except KapyError as error:
        scope.updating = Reason.IN_PLACE_UPDATE_FAILED, f"UpdateMachine hook failed: {error}"
        raise


async def _complete(scope: MachineScope) -> None:
    """Remove the marks, from the Machine first: its owner continues when the last one is gone."""
    annotations = scope.machine.metadata.annotations
    if annotations.pop(Annotation.UPDATE_IN_PROGRESS, None) is not None:
        await scope.draft.save_spec()
    for observed in (scope.infrastructure, scope.bootstrap):
        await _unmark(scope, observed)
    annotations = scope.machine.metadata.annotations
    remaining = pending_hooks_annotation(annotations, owed=False)
    if remaining is None:
        annotations.pop(Annotation.PENDING_HOOKS, None)
    else:
        annotations[Annotation.PENDING_HOOKS] = remaining
    await scope.draft.save_spec()
    scope.dependencies.update_progress.forget(scope.machine.key)


async def _unmark(scope: MachineScope, observed: Observed[View]) -> None:
    if not isinstance(observed, Found) or not _is_marked(observed.view):
        return
    document = observed.view.document
    resource = await scope.dependencies.external.resource_of(document)
    patch = {"metadata": {"annotations": {Annotation.UPDATE_IN_PROGRESS: None}}}
    with suppress(NotFound):  # deleted, including its mark
        await scope.dependencies.client.patch(resource, Key.of(document), patch)
