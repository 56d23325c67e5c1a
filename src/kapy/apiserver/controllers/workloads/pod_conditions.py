"""Readers of the status of a Pod: is it ready, is it scheduled, and why does it not run."""

from __future__ import annotations

from collections.abc import Iterator

from kapy.kube import Document


def is_ready(pod: Document) -> bool:
    """Whether a Pod is Ready."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def unschedulable(pod: Document, nodes: int, now: str) -> Document:
    """The status of a Pod for which no Node fits."""
    before = pod.get("status") or {}
    conditions = before.get("conditions") or ()
    there: Document = next((one for one in conditions if one["type"] == "PodScheduled"), {})
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "lastTransitionTime": there.get("lastTransitionTime", now),
        "reason": "Unschedulable",
        "message": f"0/{nodes} nodes are available to this Pod",
    }
    return {**before, "phase": "Pending", "conditions": [condition]}


def trouble(pod: Document) -> str:
    """Why a Pod is not ready, in one sentence; "" where nothing tells."""
    return next(_troubles(pod), "")


def _troubles(pod: Document) -> Iterator[str]:
    status = pod.get("status") or {}
    name = pod["metadata"]["name"]
    for field in ("initContainerStatuses", "containerStatuses"):
        for one in status.get(field) or ():
            waiting = (one.get("state") or {}).get("waiting") or {}
            if waiting.get("message"):
                yield f"{waiting.get('reason', 'Waiting')}: {waiting['message']}"
    if status.get("message"):
        yield f"{status.get('reason', 'Failed')}: {status['message']}"
    for one in status.get("conditions") or ():
        if one.get("status") == "False" and one.get("message"):
            yield f"Pod {name}: {one['message']}"
