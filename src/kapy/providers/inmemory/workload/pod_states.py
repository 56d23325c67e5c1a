"""The status of a Pod that waits for a Node, runs, or has done its work."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from kapy.kube import Document
from kapy.providers.inmemory.workload.nodes import address_of

_CONDITIONS: Final = (
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
)


def running_pod(pod: Document, node: str, now: str) -> Document:
    """Return the status of a Pod that has been running and ready since `now`."""
    states = [
        _container(container, {"running": {"startedAt": now}}, ready=True)
        for container in pod["spec"].get("containers") or ()
    ]
    conditions = [_condition(condition, "True", now) for condition in _CONDITIONS]
    return {**_placement(pod, node, now), "phase": "Running", "conditions": conditions} | {
        "containerStatuses": states
    }


def succeeded_pod(pod: Document, node: str, now: str) -> Document:
    """Return the status of a Pod whose containers have all ended with exit code 0."""
    ended = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now}}
    ended["terminated"]["finishedAt"] = now
    states = [
        _container(container, ended, ready=False)
        for container in pod["spec"].get("containers") or ()
    ]
    conditions = [
        _condition(condition, "False" if "Ready" in condition else "True", now, "PodCompleted")
        for condition in _CONDITIONS
    ]
    return {**_placement(pod, node, now), "phase": "Succeeded", "conditions": conditions} | {
        "containerStatuses": states
    }


def stopped_pod(pod: Document, now: str) -> Document:
    """The state of a container that ended because its Pod is being deleted."""
    before = pod.get("status") or {}
    after = succeeded_pod(pod, pod["spec"]["nodeName"], before.get("startTime") or now)
    types = {condition["type"] for condition in after["conditions"]}
    more = [
        condition for condition in before.get("conditions") or () if condition["type"] not in types
    ]
    return {**before, **after, "conditions": [*after["conditions"], *more]}


def address_of_pod(uid: str) -> str:
    """Return an address in 192.168.0.0/16."""
    a, b = blake2b(uid.encode(), digest_size=2).digest()
    return f"192.168.{a}.{b}"


def _placement(pod: Document, node: str, now: str) -> Document:
    address = address_of(node)
    own = address if pod["spec"].get("hostNetwork") else address_of_pod(pod["metadata"]["uid"])
    return {
        "hostIP": address,
        "hostIPs": [{"ip": address}],
        "podIP": own,
        "podIPs": [{"ip": own}],
        "qosClass": (pod.get("status") or {}).get("qosClass", "BestEffort"),
        "startTime": now,
    }


def _container(container: Document, state: Document, *, ready: bool) -> Document:
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": ready,
        "started": ready,
        "restartCount": 0,
        "state": state,
    }


def _condition(type_: str, status: str, now: str, reason: str = "") -> Document:
    result: Document = {"type": type_, "status": status, "lastTransitionTime": now}
    if reason and status == "False":
        result["reason"] = reason
    return result
