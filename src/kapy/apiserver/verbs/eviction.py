"""The subresource `eviction`: a pod deletion that a PodDisruptionBudget may refuse."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from msgspec import structs

from kapy.apiserver import body
from kapy.apiserver.ask import Ask
from kapy.apiserver.controllers.writing import changed
from kapy.apiserver.metadata import stamp
from kapy.apiserver.plane import Plane
from kapy.apiserver.refusals import StorageFailure, not_found, plain_failure
from kapy.apiserver.verbs import deletion
from kapy.apiserver.verbs.budgets import budgets_of, is_ready, with_judgement
from kapy.apiserver.verbs.checks import judged
from kapy.kube import Document
from kapy.kube.errors import ApiError, BadRequest, Conflict, TooManyRequests
from kapy.kube.http import Reply, Request

_OVER: Final = ("Succeeded", "Failed", "Pending")
_BLOCKED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_TOO_MANY: Final = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
    "support."
)
_EVICTED: Final[Document] = {
    "type": "DisruptionTarget",
    "status": "True",
    "lastProbeTime": None,
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}
_PATIENCE: Final = 10  # seconds to wait, sent to the client while the budget's status is outdated


async def evict(plane: Plane, ask: Ask) -> Reply:
    """Delete a pod if its budget allows a disruption. Raises TooManyRequests."""
    content = await ask.compute(partial(_content, ask))
    options = {"kind": "DeleteOptions", "apiVersion": "v1", **(content.get("deleteOptions") or {})}
    if ask.dry_run("CreateOptions"):
        options["dryRun"] = ["All"]
    dry_run = bool(options.get("dryRun"))
    await judged(plane, ask, content, dry_run=dry_run)
    pod = plane.table(ask.kind).latest(ask.namespace, ask.name)
    if pod is None:
        raise not_found(ask.kind, ask.name)
    guarded = None if _ends_anyway(pod) else _guard(plane, ask, pod, dry_run=dry_run)
    if guarded is not None:
        options = _only_as_it_is(options, pod)
    if not dry_run:
        options = _marked(plane, ask, pod, options)
    try:
        await _delete(plane, ask, options)
    except Conflict:
        if guarded is None or _says_version(content):
            raise
        raise _unsettled(guarded) from None
    return Reply(
        201,
        {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201},
    )


def _content(ask: Ask) -> Document:
    """Return the Eviction in the body. Raises BadRequest."""
    try:
        content: Any = body.read(ask) or {}
    except body.NotJson as error:
        raise BadRequest(str(error)) from None
    if not isinstance(content, dict):
        raise BadRequest("the body is no Eviction")
    name = (content.get("metadata") or {}).get("name")
    if name != ask.name:
        raise BadRequest("name in URL does not match name in Eviction object")
    return content


def _marked(plane: Plane, ask: Ask, pod: Document, options: Document) -> Document:
    """Set the pod's condition DisruptionTarget and return DeleteOptions that match the new state.

    If the preconditions do not match the pod, nothing is changed: the deletion refuses it later.
    """
    meta, wanted = pod["metadata"], options.get("preconditions") or {}
    if any(value != meta.get(field) for field, value in wanted.items() if value):
        return options
    said = {**_EVICTED, "observedGeneration": meta.get("generation", 0)}
    said["lastTransitionTime"] = stamp(plane.clock())
    status = pod.get("status") or {}
    others = [one for one in status.get("conditions") or () if one.get("type") != said["type"]]
    document = {**pod, "metadata": {**meta}, "status": {**status, "conditions": [*others, said]}}
    stored = plane.store.put(plane.table(ask.kind), ask.namespace, ask.name, document)
    if not wanted.get("resourceVersion"):
        return options
    version = stored["metadata"]["resourceVersion"]
    return {**options, "preconditions": {**wanted, "resourceVersion": version}}


async def _delete(plane: Plane, ask: Ask, options: Document) -> None:
    request = Request("DELETE", ask.request.path, {}, {}, options, ask.user)
    ending = structs.replace(ask, request=request, verb="delete", subresource="")
    await deletion.delete(plane, ending, admission=False)


def _ends_anyway(pod: Document) -> bool:
    """Report whether the pod has finished or is being deleted, so that no budget is consulted."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in _OVER or bool(pod["metadata"].get("deletionTimestamp"))


def _guard(plane: Plane, ask: Ask, pod: Document, *, dry_run: bool) -> str | None:
    """Spend one disruption of the pod's budget. Raises TooManyRequests.

    Returns the budget's name if the pod may go only because it is not ready, else None.
    """
    budgets = budgets_of(plane, ask.namespace, pod)
    if not budgets:
        return None
    if len(budgets) > 1:
        raise StorageFailure(_TOO_MANY, status=plain_failure(_TOO_MANY))
    (budget,) = budgets
    if not is_ready(pod) and _lets_unready_go(budget):
        return str(budget["metadata"]["name"])
    _spend(plane, ask, budget, dry_run=dry_run)
    return None


def _lets_unready_go(budget: Document) -> bool:
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    wanted: int = status.get("desiredHealthy", 0)
    return wanted > 0 and status.get("currentHealthy", 0) >= wanted


def _spend(plane: Plane, ask: Ask, budget: Document, *, dry_run: bool) -> None:
    """Decrement disruptionsAllowed and record the pod in the budget. Raises TooManyRequests."""
    allowed = _allowed(budget)
    if dry_run:
        return
    kind = plane.registry.find("policy", "v1", "poddisruptionbudgets")
    assert kind is not None
    now, status = stamp(plane.clock()), budget["status"]
    noted = {**(status.get("disruptedPods") or {}), ask.name: now}
    left = {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": noted}
    after = {**budget, "status": with_judgement(left, now) if allowed == 1 else left}
    changed(plane, kind, budget, after, "status", manager="kube-apiserver")


def _allowed(budget: Document) -> int:
    """Return disruptionsAllowed, at least 1. Raises TooManyRequests if it is 0 or outdated."""
    status, name = budget.get("status") or {}, budget["metadata"]["name"]
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _unsettled(name)
    allowed: int = status.get("disruptionsAllowed", 0)
    if allowed <= 0:
        healthy, wanted = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
        why = f"needs {wanted} healthy pods and has {healthy} currently"
        raise _blocked(f"The disruption budget {name} {why}")
    return allowed


def _only_as_it_is(options: Document, pod: Document) -> Document:
    """Return options that delete the pod only if its resourceVersion has not changed."""
    conditions = options.get("preconditions") or {}
    version = pod["metadata"]["resourceVersion"]
    return {**options, "preconditions": {"resourceVersion": version, **conditions}}


def _says_version(content: Document) -> bool:
    options = content.get("deleteOptions") or {}
    return bool((options.get("preconditions") or {}).get("resourceVersion"))


def _unsettled(name: str) -> ApiError:
    why = f"The disruption budget {name} is still being processed by the server."
    return _blocked(why, retry_after=_PATIENCE)


def _blocked(why: str, retry_after: int | None = None) -> ApiError:
    causes = [{"reason": "DisruptionBudget", "message": why}]
    details: Document = {"causes": causes}
    if retry_after:
        details["retryAfterSeconds"] = retry_after
    return TooManyRequests(_BLOCKED, details=details, retry_after=retry_after)
