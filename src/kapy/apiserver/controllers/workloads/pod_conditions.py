"""Readers of the status of a Pod: is it ready, is it scheduled, and why does it not run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from hashlib import blake2b
from typing import Final

from kapy.kube import Document

SCHEDULER: Final = "default-scheduler"
"""The name of the scheduler in Events."""


def is_ready(pod: Document) -> bool:
    """Whether a Pod is Ready."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def ready_since(pod: Document) -> datetime | None:
    """The moment since which a Pod is Ready; None where it is not, or nobody told when."""
    for one in (pod.get("status") or {}).get("conditions") or ():
        if one["type"] == "Ready" and one["status"] == "True":
            try:
                return datetime.fromisoformat(one["lastTransitionTime"])
            except (KeyError, TypeError, ValueError):
                return None
    return None


def unschedulable(pod: Document, message: str, now: str) -> Document:
    """The status of a Pod for which no Node fits. message: why."""
    before = pod.get("status") or {}
    conditions = before.get("conditions") or ()
    there: Document = next((one for one in conditions if one["type"] == "PodScheduled"), {})
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "lastTransitionTime": there.get("lastTransitionTime", now),
        "reason": "Unschedulable",
        "message": message,
    }
    return {**before, "phase": "Pending", "conditions": [condition]}


def failed_scheduling(pod: Document, message: str, now: str) -> Document:
    """The Event of a Pod for which no Node fits; its name is the same for the same message."""
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
