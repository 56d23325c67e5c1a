"""What the status of a PodDisruptionBudget says, to whoever evicts and to whoever counts."""

from __future__ import annotations

from typing import Final

from kapy.apiserver.plane import Plane
from kapy.kube import Document
from kapy.kube.selectors import NOTHING, InvalidSelector, LabelSelector, stored_selector_of

BUDGETS: Final = "poddisruptionbudgets.policy"
_CONDITION: Final = "DisruptionAllowed"


def budgets_of(plane: Plane, namespace: str, *pods: Document | None) -> list[Document]:
    """The budgets of a namespace that select one of these pods (or states of one), each as it was
    written last: what was allowed a moment ago is spent."""
    table = plane.store.peek(BUDGETS)
    if table is None:
        return []
    there = [pod for pod in pods if pod is not None]
    stored = [table.latest(namespace, one["metadata"]["name"]) for one in table.scan(namespace)]
    return [one for one in stored if one and any(selects(one, pod) for pod in there)]


def selects(budget: Document, pod: Document) -> bool:
    """Whether a budget is about a pod; one with an invalid selector is about none."""
    return _selector(budget).selects(pod)


_SELECTORS: dict[str, tuple[str, LabelSelector]] = {}
_MOST_SELECTORS: Final = 1024


def _selector(budget: Document) -> LabelSelector:
    """The selector of a budget, kept for the state that the budget is in: a large one is read once,
    and not for each pod."""
    meta = budget["metadata"]
    key = f"{meta['uid']}/{meta.get('generation', 0)}"
    known = _SELECTORS.get(meta["uid"])
    if known is not None and known[0] == key:
        return known[1]
    try:
        found = stored_selector_of((budget.get("spec") or {}).get("selector"))
    except InvalidSelector:
        found = NOTHING
    if len(_SELECTORS) >= _MOST_SELECTORS:
        _SELECTORS.clear()
    _SELECTORS[meta["uid"]] = key, found
    return found


def is_ready(pod: Document) -> bool:
    """Whether a pod's condition Ready is True."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def with_judgement(status: Document, now: str) -> Document:
    """The status with the condition DisruptionAllowed that its numbers ask for."""
    if status.get("disruptionsAllowed", 0) > 0:
        return with_condition(status, now, "True", "SufficientPods")
    return with_condition(status, now, "False", "InsufficientPods")


def with_condition(
    status: Document, now: str, state: str, reason: str, message: str = ""
) -> Document:
    """The status with another condition DisruptionAllowed. now: when it changes, if it does."""
    conditions = status.get("conditions") or []
    before: Document = next((one for one in conditions if one.get("type") == _CONDITION), {})
    since = before.get("lastTransitionTime") if before.get("status") == state else None
    said = {
        "type": _CONDITION,
        "status": state,
        "observedGeneration": status.get("observedGeneration", 0),
        "lastTransitionTime": since or now,
        "reason": reason,
        "message": message,
    }
    if not before:
        return {**status, "conditions": [*conditions, said]}
    return {**status, "conditions": [said if one is before else one for one in conditions]}
