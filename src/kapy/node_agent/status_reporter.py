"""Writes the status of one Pod whenever the states of its containers change."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from kapy.api.times import stamp
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, NotFound, Unreachable
from kapy.kube.names import PODS
from kapy.node_agent.container_state import ContainerState
from kapy.node_agent.host import Host
from kapy.node_agent.pod_status import status_of

_log = logging.getLogger(__name__)

PORTS: Final = "kapy.cluster.x-k8s.io/ports"
"""The annotation with the real ports of a Pod's containers, by those that they declare."""
RETRY_SECONDS: Final = 2.0
STOPPED: Final = "PlaneStopped"
"""The reason of a waiting container that was ended together with the plane."""


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
        return status_of(
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
