"""Writes the status of one Pod, computed from the states of its containers, when these change."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from kapy.api.times import stamp
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, NotFound, Unreachable
from kapy.kube.names import PODS
from kapy.node_agent.container_state import ContainerState, Policy, restarts
from kapy.node_agent.host import Host

_log = logging.getLogger(__name__)

PORTS: Final = "kapy.cluster.x-k8s.io/ports"
"""The annotation with the real ports of a Pod's containers, by those that they declare."""
RETRY_SECONDS: Final = 2.0
STOPPED: Final = "PlaneStopped"
"""The reason of a waiting container that was ended together with the plane."""

_CONDITIONS: Final = (
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
)


class StatusReporter:
    """Writes the states of a Pod's containers to the Pod's status.

    pod: its last known state. address: the Pod's own, "" before it has one. trouble: why the Pod
    is not well though its containers run, "" for no reason.
    """

    def __init__(self, pod: Document, host: Host) -> None:
        self.pod = pod
        self.address = ""
        self.trouble = ""
        self._host = host
        self._changed = asyncio.Event()
        self._last = {**(pod.get("status") or {})}
        self._last.setdefault("startTime", stamp(host.clock()))
        spec = pod["spec"]
        self.initial = [self._state(item) for item in spec.get("initContainers") or ()]
        self.containers = [self._state(item) for item in spec["containers"]]

    def _state(self, container: Document) -> ContainerState:
        state = ContainerState(container, self._changed.set)
        before = self.pod.get("status") or {}
        for field in ("initContainerStatuses", "containerStatuses"):
            for item in before.get(field) or ():
                if item.get("name") == state.name:
                    state.restarts = int(item.get("restartCount") or 0)
                    states = item.get("state") or {}
                    waited = (states.get("waiting") or {}).get("reason")
                    state.ran = "running" in states or waited == STOPPED
        return state

    @property
    def states(self) -> Sequence[ContainerState]:
        """The states of all containers, those of init containers first."""
        return (*self.initial, *self.containers)

    def state(self, name: str) -> ContainerState:
        """Return the state of the container of this name."""
        return next(item for item in self.states if item.name == name)

    def wait(self, reason: str, message: str) -> None:
        """Set the state Waiting of all containers."""
        for item in self.states:
            item.set_waiting(reason, message)

    def doubt(self, trouble: str) -> None:
        """Set why the Pod is not well; "" clears it."""
        if self.trouble != trouble:
            self.trouble = trouble
            self._changed.set()

    async def run(self) -> None:
        """Write the status whenever it changes."""
        while True:
            self._changed.clear()
            try:
                status = self._status()
                if status != self._last or self._untold_ports():
                    await self._write(status)
                    self._last = status
                await self._changed.wait()
            except NotFound:
                await self._changed.wait()
            except (ApiError, Unreachable) as error:
                key = Key.of(self.pod)
                _log.warning("the status of pod %s cannot be written: %s", key, error)
                await asyncio.sleep(RETRY_SECONDS)

    async def write(self) -> None:
        """Write the status once; a server that refuses it is ignored."""
        with suppress(ApiError, Unreachable):
            await self._write(self._status())

    def _status(self) -> Document:
        now = stamp(self._host.clock())
        running = next((item.running for item in self.containers if item.running is not None), None)
        return _status_of(
            {**self.pod, "status": self._last},
            self.initial,
            self.containers,
            address=self.address if running is None else running.address,
            host=self._host.address,
            now=now,
            trouble=self.trouble,
        )

    def _untold_ports(self) -> str:
        """Return the ports of the containers that the Pod's annotation does not list yet."""
        ports = _ports_of(self.containers)
        annotation = (self.pod["metadata"].get("annotations") or {}).get(PORTS, "")
        return "" if ports == annotation else ports

    async def _write(self, status: Document) -> None:
        key, uid = Key.of(self.pod), self.pod["metadata"]["uid"]
        ports = self._untold_ports()
        if ports:
            metadata = {"uid": uid, "annotations": {PORTS: ports}}
            await self._host.client.patch(PODS, key, {"metadata": metadata})
        body = {"metadata": {"uid": uid}, "status": status}
        await self._host.client.patch(PODS, key, body, subresource="status")


def _ports_of(containers: Sequence[ContainerState]) -> str:
    """Return the actual ports of the containers as the annotation's text, "" if all are as
    declared.
    """
    result: dict[str, int] = {}
    for item in containers:
        if item.running is not None:
            result |= {str(key): value for key, value in item.running.ports.items()}
    return json.dumps(result, sort_keys=True) if result else ""


def _status_of(
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
