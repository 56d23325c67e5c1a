"""Restarts of a container that ended: restart policies, and the back-off of kubelets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Policy = Literal["Always", "OnFailure", "Never"]

FIRST_PAUSE: Final = 10.0
MAX_PAUSE: Final = 300.0
"""Seconds between two starts, at first and at last."""
RESET_AFTER: Final = 600.0
"""Seconds of a run after which a container is well: the next pause is short again."""


def restarts(policy: Policy, code: int) -> bool:
    """Return whether the restart policy restarts a container after this exit code."""
    return policy == "Always" or (policy == "OnFailure" and code != 0)


@dataclass(slots=True)
class Backoff:
    """The pauses before a container is started again: none, then 10 s, doubled up to 5 minutes."""

    _next: float = 0.0

    def pause(self, ran: float) -> float:
        """Seconds to wait after a run of so many seconds."""
        if ran >= RESET_AFTER:
            self._next = 0.0
        now, self._next = self._next, min(max(self._next * 2, FIRST_PAUSE), MAX_PAUSE)
        return now
