"""The subresource `eviction`: a pod deletion that a PodDisruptionBudget may refuse; and the budgets
that select a pod, with their condition DisruptionAllowed.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from msgspec import structs

from kapy.apiserver.errors import StorageFailure, failure_status
from kapy.apiserver.request import body
from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.resources.kind_errors import not_found
from kapy.apiserver.resources.metadata import format_time
from kapy.apiserver.verbs import delete
from kapy.apiserver.verbs.checks import run_admission
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.direct_writes import update_object
from kapy.kube import Document
from kapy.kube.errors import ApiError, BadRequest, Conflict, TooManyRequests
from kapy.kube.http import Reply, Request
from kapy.kube.selectors import NOTHING, InvalidSelector, LabelSelector, stored_selector_of

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

BUDGETS: Final = "poddisruptionbudgets.policy"
_CONDITION: Final = "DisruptionAllowed"


async def evict(server: ServerContext, context: RequestContext) -> Reply:
    """Delete a pod if its budget allows a disruption. Raises TooManyRequests."""
    content = await context.compute(partial(_parse_body, context))
    options = {"kind": "DeleteOptions", "apiVersion": "v1", **(content.get("deleteOptions") or {})}
    if context.dry_run("CreateOptions"):
        options["dryRun"] = ["All"]
    dry_run = bool(options.get("dryRun"))
    await run_admission(server, context, content, dry_run=dry_run)
    pod = server.table(context.kind).latest(context.namespace, context.name)
    if pod is None:
        raise not_found(context.kind, context.name)
    guarded = (
        None if _needs_no_budget(pod) else _check_budget(server, context, pod, dry_run=dry_run)
    )
    if guarded is not None:
        options = _require_resource_version(options, pod)
    if not dry_run:
        options = _set_disruption_target(server, context, pod, options)
    try:
        await _delete(server, context, options)
    except Conflict:
        if guarded is None or _has_version(content):
            raise
        raise _outdated_budget_error(guarded) from None
    return Reply(
        201,
        {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201},
    )


def _parse_body(context: RequestContext) -> Document:
    """Return the Eviction in the body. Raises BadRequest."""
    try:
        content: Any = body.decode_body(context) or {}
    except body.InvalidJson as error:
        raise BadRequest(str(error)) from None
    if not isinstance(content, dict):
        raise BadRequest("the body is no Eviction")
    name = (content.get("metadata") or {}).get("name")
    if name != context.name:
        raise BadRequest("name in URL does not match name in Eviction object")
    return content


def _set_disruption_target(
    server: ServerContext, context: RequestContext, pod: Document, options: Document
) -> Document:
    """Set the pod's condition DisruptionTarget and return DeleteOptions that match the new state.

    If the preconditions do not match the pod, nothing is changed: the deletion refuses it later.
    """
    meta, wanted = pod["metadata"], options.get("preconditions") or {}
    if any(value != meta.get(field) for field, value in wanted.items() if value):
        return options
    result = {**_EVICTED, "observedGeneration": meta.get("generation", 0)}
    result["lastTransitionTime"] = format_time(server.clock())
    status = pod.get("status") or {}
    others = [
        condition
        for condition in status.get("conditions") or ()
        if condition.get("type") != result["type"]
    ]
    document = {**pod, "metadata": {**meta}, "status": {**status, "conditions": [*others, result]}}
    stored = server.store.put(server.table(context.kind), context.namespace, context.name, document)
    if not wanted.get("resourceVersion"):
        return options
    version = stored["metadata"]["resourceVersion"]
    return {**options, "preconditions": {**wanted, "resourceVersion": version}}


async def _delete(server: ServerContext, context: RequestContext, options: Document) -> None:
    request = Request("DELETE", context.request.path, {}, {}, options, context.user)
    ending = structs.replace(context, request=request, verb="delete", subresource="")
    await delete.delete(server, ending, admission=False)


def _needs_no_budget(pod: Document) -> bool:
    """Report whether the pod has finished or is being deleted, so that no budget is consulted."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in _OVER or bool(pod["metadata"].get("deletionTimestamp"))


def _check_budget(
    server: ServerContext, context: RequestContext, pod: Document, *, dry_run: bool
) -> str | None:
    """Spend one disruption of the pod's budget. Raises TooManyRequests.

    Returns the budget's name if the pod may go only because it is not ready, else None.
    """
    budgets = matching_budgets(server, context.namespace, pod)
    if not budgets:
        return None
    if len(budgets) > 1:
        raise StorageFailure(_TOO_MANY, status=failure_status(_TOO_MANY))
    (budget,) = budgets
    if not is_ready(pod) and _allows_unready(budget):
        return str(budget["metadata"]["name"])
    _decrement(server, context, budget, dry_run=dry_run)
    return None


def _allows_unready(budget: Document) -> bool:
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    wanted: int = status.get("desiredHealthy", 0)
    return wanted > 0 and status.get("currentHealthy", 0) >= wanted


def _decrement(
    server: ServerContext, context: RequestContext, budget: Document, *, dry_run: bool
) -> None:
    """Decrement disruptionsAllowed and record the pod in the budget. Raises TooManyRequests."""
    allowed = _disruptions_allowed(budget)
    if dry_run:
        return
    kind = server.registry.find("policy", "v1", "poddisruptionbudgets")
    assert kind is not None
    now, status = format_time(server.clock()), budget["status"]
    noted = {**(status.get("disruptedPods") or {}), context.name: now}
    new_status = {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": noted}
    after = {
        **budget,
        "status": with_computed_condition(new_status, now) if allowed == 1 else new_status,
    }
    update_object(server, kind, budget, after, "status", manager="kube-apiserver")


def _disruptions_allowed(budget: Document) -> int:
    """Return disruptionsAllowed, at least 1. Raises TooManyRequests if it is 0 or outdated."""
    status, name = budget.get("status") or {}, budget["metadata"]["name"]
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _outdated_budget_error(name)
    allowed: int = status.get("disruptionsAllowed", 0)
    if allowed <= 0:
        healthy, wanted = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
        why = f"needs {wanted} healthy pods and has {healthy} currently"
        raise _too_many_disruptions(f"The disruption budget {name} {why}")
    return allowed


def _require_resource_version(options: Document, pod: Document) -> Document:
    """Return options that delete the pod only if its resourceVersion has not changed."""
    conditions = options.get("preconditions") or {}
    version = pod["metadata"]["resourceVersion"]
    return {**options, "preconditions": {"resourceVersion": version, **conditions}}


def _has_version(content: Document) -> bool:
    options = content.get("deleteOptions") or {}
    return bool((options.get("preconditions") or {}).get("resourceVersion"))


def _outdated_budget_error(name: str) -> ApiError:
    why = f"The disruption budget {name} is still being processed by the server."
    return _too_many_disruptions(why, retry_after=_PATIENCE)


def _too_many_disruptions(why: str, retry_after: int | None = None) -> ApiError:
    causes = [{"reason": "DisruptionBudget", "message": why}]
    details: Document = {"causes": causes}
    if retry_after:
        details["retryAfterSeconds"] = retry_after
    return TooManyRequests(_BLOCKED, details=details, retry_after=retry_after)


def matching_budgets(
    server: ServerContext, namespace: str, *pods: Document | None
) -> list[Document]:
    """Return the budgets of a namespace that select one of these pods (or pod states).

    Staged writes are included, so that a disruption that was just spent is not spent twice.
    """
    table = server.store.peek(BUDGETS)
    if table is None:
        return []
    there = [pod for pod in pods if pod is not None]
    stored = [table.latest(namespace, item["metadata"]["name"]) for item in table.scan(namespace)]
    return [item for item in stored if item and any(selects(item, pod) for pod in there)]


def selects(budget: Document, pod: Document) -> bool:
    """Report whether a budget selects a pod. A budget with an invalid selector selects no pod."""
    return _selector(budget).selects(pod)


_SELECTORS: dict[str, tuple[str, LabelSelector]] = {}
_MOST_SELECTORS: Final = 1024


def _selector(budget: Document) -> LabelSelector:
    """Return the parsed selector of a budget, cached by uid and generation."""
    meta = budget["metadata"]
    key = f"{meta['uid']}/{meta.get('generation', 0)}"
    entry = _SELECTORS.get(meta["uid"])
    if entry is not None and entry[0] == key:
        return entry[1]
    try:
        selector = stored_selector_of((budget.get("spec") or {}).get("selector"))
    except InvalidSelector:
        selector = NOTHING
    if len(_SELECTORS) >= _MOST_SELECTORS:
        _SELECTORS.clear()
    _SELECTORS[meta["uid"]] = key, selector
    return selector


def is_ready(pod: Document) -> bool:
    """Report whether the pod's condition Ready is True."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in conditions
    )


def with_computed_condition(status: Document, now: str) -> Document:
    """Return a budget's status with the condition DisruptionAllowed that its numbers imply."""
    if status.get("disruptionsAllowed", 0) > 0:
        return with_condition(status, now, "True", "SufficientPods")
    return with_condition(status, now, "False", "InsufficientPods")


def with_condition(
    status: Document, now: str, state: str, reason: str, message: str = ""
) -> Document:
    """Return a budget's status with its condition DisruptionAllowed replaced.

    now: the lastTransitionTime if the condition's status changes.
    """
    conditions = status.get("conditions") or []
    before: Document = next(
        (condition for condition in conditions if condition.get("type") == _CONDITION), {}
    )
    since = before.get("lastTransitionTime") if before.get("status") == state else None
    result = {
        "type": _CONDITION,
        "status": state,
        "observedGeneration": status.get("observedGeneration", 0),
        "lastTransitionTime": since or now,
        "reason": reason,
        "message": message,
    }
    if not before:
        return {**status, "conditions": [*conditions, result]}
    return {
        **status,
        "conditions": [result if condition is before else condition for condition in conditions],
    }
