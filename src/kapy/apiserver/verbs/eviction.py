"""Evicting a pod: a deletion that a PodDisruptionBudget may refuse."""

from __future__ import annotations

from dataclasses import replace

from kapy.apiserver import body
from kapy.apiserver.ask import Ask
from kapy.apiserver.plane import Plane
from kapy.apiserver.refusals import not_found
from kapy.apiserver.verbs import deletion
from kapy.apiserver.verbs.checks import review
from kapy.kube import Document
from kapy.kube.errors import BadRequest, TooManyRequests
from kapy.kube.http import Reply, Request
from kapy.kube.selectors import selector_of

_BUDGETS = "poddisruptionbudgets.policy"
_OVER = ("Succeeded", "Failed", "Pending")
_BLOCKED = "Cannot evict pod as it would violate the pod's disruption budget."


async def evict(plane: Plane, ask: Ask) -> Reply:
    """Delete a pod if no budget forbids it. Raises TooManyRequests."""
    pod = plane.table(ask.kind).latest(ask.namespace, ask.name)
    if pod is None:
        raise not_found(ask.kind, ask.name)
    try:
        content = body.read(ask) or {}
    except body.NotJson as error:
        raise BadRequest(str(error)) from None
    if (pod.get("status") or {}).get("phase") not in _OVER:
        _check_budgets(plane, ask, pod)
    options = {"kind": "DeleteOptions", "apiVersion": "v1", **(content.get("deleteOptions") or {})}
    request = Request("DELETE", ask.request.path, ask.request.query, {}, options, ask.user)
    await _admit(plane, ask, content)
    ending = replace(ask, request=request, verb="delete", subresource="")
    await deletion.delete(plane, ending, admission=False)
    return Reply(
        201,
        {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201},
    )


async def _admit(plane: Plane, ask: Ask, content: Document) -> None:
    """Ask admission about the eviction; of the pod's deletion it is not asked besides."""
    dry_run = bool((content.get("deleteOptions") or {}).get("dryRun"))
    for plugin in plane.plugins(ask.kind, ask.subresource):
        asked = review(ask, "CREATE", content, None, dry_run=dry_run)
        await plugin.default(asked)
        ask.warnings.extend(await plugin.validate(asked))


def _check_budgets(plane: Plane, ask: Ask, pod: Document) -> None:
    table = plane.store.peek(_BUDGETS)
    for budget in () if table is None else table.scan(ask.namespace):
        selector = selector_of((budget.get("spec") or {}).get("selector"))
        if not selector.selects(pod):
            continue
        status = budget.get("status") or {}
        if status.get("disruptionsAllowed", 0) > 0:
            continue
        name = budget["metadata"]["name"]
        healthy, wanted = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
        cause = {
            "reason": "DisruptionBudget",
            "message": f"The disruption budget {name} needs {wanted} healthy pods and has "
            f"{healthy} currently",
        }
        raise TooManyRequests(_BLOCKED, details={"causes": [cause]})
