"""PodDisruptionBudgets: selection by pod and the condition DisruptionAllowed."""

from __future__ import annotations

from typing import Final

from kapy.apiserver.verbs.context import ServerContext
from kapy.kube import Document
from kapy.kube.selectors import NOTHING, InvalidSelector, LabelSelector, stored_selector_of

BUDGETS: Final = "poddisruptionbudgets.policy"
_CONDITION: Final = "DisruptionAllowed"


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
