"""Computes the status of a Pod from the states of its containers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kapy.kube import Document
from kapy.node_agent.container_state import ContainerState
from kapy.node_agent.restarts import Policy, restarts

_CONDITIONS: Final = (
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
)


def status_of(
    pod: Document,
    initial: Sequence[ContainerState],
    containers: Sequence[ContainerState],
    *,
    address: str,
    host: str,
    now: str,
    trouble: str = "",
) -> Document:
    """Return the whole status of a Pod.

    initial: its init containers. address: the address of the Pod, "" before it has one. host: the
    address of the Node. now: the time, RFC 3339. trouble: why the Pod is not well though its
    containers run.
    """
    before = pod.get("status") or {}
    phase = _phase(pod, initial, containers)
    result: Document = {
        "phase": phase,
        "conditions": _conditions(before, initial, containers, phase, now, trouble),
        "containerStatuses": [item.status() for item in containers],
        "qosClass": before.get("qosClass", "BestEffort"),
        "startTime": before.get("startTime") or now,
    }
    if pod["metadata"].get("generation"):
        result["observedGeneration"] = pod["metadata"]["generation"]
    if initial:
        result["initContainerStatuses"] = [item.status() for item in initial]
    if address:
        result |= {"hostIP": host, "hostIPs": [{"ip": host}]}
        result |= {"podIP": address, "podIPs": [{"ip": address}]}
    return result


def _phase(
    pod: Document, initial: Sequence[ContainerState], containers: Sequence[ContainerState]
) -> str:
    policy: Policy = pod["spec"].get("restartPolicy") or "Always"
    if any(item.ended is not None and item.ended.code for item in initial):
        return "Failed"
    ended = [item.ended for item in containers if item.ended is not None]
    if len(ended) == len(containers) and not any(restarts(policy, item.code) for item in ended):
        return "Failed" if any(item.code for item in ended) else "Succeeded"
    if all(item.running is None and item.last is None for item in containers):
        return "Pending"
    return "Running"


def _conditions(
    before: Document,
    initial: Sequence[ContainerState],
    containers: Sequence[ContainerState],
    phase: str,
    now: str,
    trouble: str,
) -> list[Document]:
    unready = [item.name for item in containers if not item.ready or item.trouble]
    trouble = next((item.trouble for item in containers if item.trouble), trouble)
    incomplete = [item.name for item in initial if item.ended is None]
    over = phase in ("Succeeded", "Failed")
    reason = (
        ("PodCompleted", "") if phase == "Succeeded" else _condition_message("unready", unready)
    )
    if phase == "Failed":
        reason = "PodFailed", ""
    elif trouble:
        reason = "ContainersNotReady", trouble
    said = {
        "PodReadyToStartContainers": ("", "") if not over else reason,
        "Initialized": _condition_message("incomplete", incomplete, "ContainersNotInitialized"),
        "Ready": reason,
        "ContainersReady": reason,
        "PodScheduled": ("", ""),
    }
    there = {item["type"]: item for item in before.get("conditions") or ()}
    main_conditions = [
        _condition(item, *said[item], there.get(item, {}), now) for item in _CONDITIONS
    ]
    return [*main_conditions, *(item for type_, item in there.items() if type_ not in _CONDITIONS)]


def _condition_message(
    subject: str, names: Iterable[str], reason: str = "ContainersNotReady"
) -> tuple[str, str]:
    listed = " ".join(names)
    kind = "init containers" if subject == "incomplete" else "containers"
    status = "incomplete" if subject == "incomplete" else "unready"
    return (reason, f"{kind} with {status} status: [{listed}]") if listed else ("", "")


def _condition(type_: str, reason: str, message: str, before: Document, now: str) -> Document:
    status = "False" if reason else "True"
    moved = before.get("lastTransitionTime") if before.get("status") == status else None
    result: Document = {"type": type_, "status": status, "lastTransitionTime": moved or now}
    if reason:
        result["reason"] = reason
    if message:
        result["message"] = message
    return result
