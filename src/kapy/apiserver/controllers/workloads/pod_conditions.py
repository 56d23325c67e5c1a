"""Readers of a Pod's status: readiness, scheduling, and the reason why it does not run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from hashlib import blake2b
from typing import Final

from kapy.kube import Document

SCHEDULER: Final = "default-scheduler"
"""The name of the scheduler in Events."""


def is_ready(pod: Document) -> bool:
    """Report whether a Pod is Ready."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )


def ready_since(pod: Document) -> datetime | None:
    """Return the time since which a Pod is Ready; None if it is not, or has no such time."""
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Ready" and condition["status"] == "True":
            try:
                return datetime.fromisoformat(condition["lastTransitionTime"])
            except (KeyError, TypeError, ValueError):
                return None
    return None


def unschedulable_status(pod: Document, message: str, now: str) -> Document:
    """Return the status of a Pod that fits no Node. message: the reason."""
    before = pod.get("status") or {}
    conditions = before.get("conditions") or ()
    there: Document = next((item for item in conditions if item["type"] == "PodScheduled"), {})
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "lastTransitionTime": there.get("lastTransitionTime", now),
        "reason": "Unschedulable",
        "message": message,
    }
    return {**before, "phase": "Pending", "conditions": [condition]}


def failed_scheduling_event(pod: Document, message: str, now: str) -> Document:
    """Return the Event of a Pod that fits no Node. Equal messages give the Event the same name."""
    metadata = pod["metadata"]
    digest = blake2b(f"{metadata['uid']} {message}".encode(), digest_size=8).hexdigest()
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{metadata['name']}.{digest}", "namespace": metadata["namespace"]},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
        },
        "type": "Warning",
        "reason": "FailedScheduling",
        "action": "Scheduling",
        "message": message,
        "source": {"component": SCHEDULER},
        "reportingComponent": SCHEDULER,
        "reportingInstance": SCHEDULER,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }


def not_ready_reason(pod: Document) -> str:
    """Return the reason why a Pod is not ready, in one sentence; "" if the status has none."""
    return next(_not_ready_reasons(pod), "")


def _not_ready_reasons(pod: Document) -> Iterator[str]:
    status = pod.get("status") or {}
    name = pod["metadata"]["name"]
    for field in ("initContainerStatuses", "containerStatuses"):
        for item in status.get(field) or ():
            waiting = (item.get("state") or {}).get("waiting") or {}
            if waiting.get("message"):
                yield f"{waiting.get('reason', 'Waiting')}: {waiting['message']}"
    if status.get("message"):
        yield f"{status.get('reason', 'Failed')}: {status['message']}"
    for condition in status.get("conditions") or ():
        if condition.get("status") == "False" and condition.get("message"):
            yield f"Pod {name}: {condition['message']}"
