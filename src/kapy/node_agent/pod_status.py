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
    """The whole status. address: the Pod's, "" before it has one. host: the Node's. now: RFC
    3339. trouble: why the Pod is not well though its containers run."""
    before = pod.get("status") or {}
    phase = _phase(pod, initial, containers)
    found: Document = {
        "phase": phase,
        "conditions": _conditions(before, initial, containers, phase, now, trouble),
        "containerStatuses": [one.status() for one in containers],
        "qosClass": before.get("qosClass", "BestEffort"),
        "startTime": before.get("startTime") or now,
    }
    if pod["metadata"].get("generation"):
        found["observedGeneration"] = pod["metadata"]["generation"]
    if initial:
        found["initContainerStatuses"] = [one.status() for one in initial]
    if address:
        found |= {"hostIP": host, "hostIPs": [{"ip": host}]}
        found |= {"podIP": address, "podIPs": [{"ip": address}]}
    return found


def _phase(
    pod: Document, initial: Sequence[ContainerState], containers: Sequence[ContainerState]
) -> str:
    policy: Policy = pod["spec"].get("restartPolicy") or "Always"
    if any(one.ended is not None and one.ended.code for one in initial):
        return "Failed"
    ended = [one.ended for one in containers if one.ended is not None]
    if len(ended) == len(containers) and not any(restarts(policy, one.code) for one in ended):
        return "Failed" if any(one.code for one in ended) else "Succeeded"
    if all(one.running is None and one.last is None for one in containers):
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
    unready = [one.name for one in containers if not one.ready or one.trouble]
    trouble = next((one.trouble for one in containers if one.trouble), trouble)
    incomplete = [one.name for one in initial if one.ended is None]
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
    there = {one["type"]: one for one in before.get("conditions") or ()}
    known = [_condition(one, *said[one], there.get(one, {}), now) for one in _CONDITIONS]
    return [*known, *(one for type_, one in there.items() if type_ not in _CONDITIONS)]


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
    found: Document = {"type": type_, "status": status, "lastTransitionTime": moved or now}
    if reason:
        found["reason"] = reason
    if message:
        found["message"] = message
    return found
