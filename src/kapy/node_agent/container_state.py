"""The state of one container, its entry in the status of its Pod, and the back-off of its restarts.

Restart policies and pauses are those of a kubelet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from kapy.api.times import stamp
from kapy.kube import Document
from kapy.node_agent.runtime import Exit, Running

Policy = Literal["Always", "OnFailure", "Never"]
_FIRST_PAUSE: Final = 10.0
_MAX_PAUSE: Final = 300.0
"""Seconds between two starts, at first and at last."""
_RESET_AFTER: Final = 600.0
"""Seconds of a run after which a container is well: the next pause is short again."""


@dataclass(slots=True)
class ContainerState:
    """The state of one container of a Pod. changed: called after any change of the state.

    reason, message: why the container does not run. last: its previous termination. ended: its
    final termination. ran: whether an earlier agent ran it. trouble: why the state of a running
    container is unknown. ports: the actual ports by requested ones, if they differ.
    """

    container: Document
    changed: Callable[[], None]
    running: Running | None = None
    reason: str = "ContainerCreating"
    message: str = ""
    last: Exit | None = None
    last_started: datetime | None = None
    last_identity: str = ""
    ended: Exit | None = None
    restarts: int = 0
    ran: bool = False
    trouble: str = ""
    started: bool = False
    ready: bool = False
    ports: dict[int, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.container["name"])

    def set_waiting(self, reason: str, message: str = "") -> None:
        """Set the state Waiting, with a reason."""
        if (self.running, self.reason, self.message) != (None, reason, message):
            self.running, self.reason, self.message = None, reason, message
            self.started = self.ready = False
            self.trouble = ""
            self.changed()

    def set_running(self, running: Running) -> None:
        """Set the state Running."""
        self.running, self.reason, self.message = running, "", ""
        self.changed()

    def set_trouble(self, trouble: str) -> None:
        """Record why the state of the running container is unknown; "" clears the reason."""
        if self.trouble != trouble:
            self.trouble = trouble
            self.changed()

    def set_ports(self, ports: Mapping[int, int]) -> None:
        """Store the ports on which it listens."""
        if self.ports != ports:
            self.ports = dict(ports)
            self.changed()

    def set_health(self, *, started: bool, ready: bool) -> None:
        """Store the results of its probes."""
        if (self.started, self.ready) != (started, ready):
            self.started, self.ready = started, ready
            self.changed()

    def set_terminated(self, exit_: Exit, *, for_good: bool) -> None:
        """Set the state Terminated."""
        running, self.running = self.running, None
        self.trouble = ""
        self.started = self.ready = False
        self.last = exit_
        self.last_started = running.started if running is not None else exit_.at
        self.last_identity = running.identity if running is not None else ""
        if for_good:
            self.ended = exit_
        self.changed()

    def status(self) -> Document:
        """Return the container's entry in `containerStatuses`."""
        result: Document = {
            "name": self.name,
            "image": self.container.get("image", ""),
            "imageID": self.running.image if self.running is not None else "",
            "ready": self.ready and not self.trouble,
            "started": self.started,
            "restartCount": self.restarts,
            "state": self._state(),
            "lastState": {},
        }
        if self.running is not None:
            result["containerID"] = self.running.identity
        if self.last is not None and self.ended is None:
            result["lastState"] = {"terminated": self._terminated_state(self.last)}
        return result

    def _state(self) -> Document:
        if self.running is not None:
            return {"running": {"startedAt": stamp(self.running.started)}}
        if self.ended is not None:
            return {"terminated": self._terminated_state(self.ended)}
        waiting = {"reason": self.reason, "message": self.message}
        return {"waiting": {key: value for key, value in waiting.items() if value}}

    def _terminated_state(self, exit_: Exit) -> Document:
        result: Document = {
            "exitCode": exit_.code,
            "reason": exit_.reason,
            "startedAt": stamp(self.last_started or exit_.at),
            "finishedAt": stamp(exit_.at),
        }
        if exit_.message:
            result["message"] = exit_.message
        if self.last_identity:
            result["containerID"] = self.last_identity
        return result


def restarts(policy: Policy, code: int) -> bool:
    """Return whether the restart policy restarts a container after this exit code."""
    return policy == "Always" or (policy == "OnFailure" and code != 0)


@dataclass(slots=True)
class Backoff:
    """The pauses before a container is started again: none, then 10 s, doubled up to 5 minutes."""

    _next: float = 0.0

    def pause(self, ran: float) -> float:
        """Seconds to wait after a run of so many seconds."""
        if ran >= _RESET_AFTER:
            self._next = 0.0
        now, self._next = self._next, min(max(self._next * 2, _FIRST_PAUSE), _MAX_PAUSE)
        return now
