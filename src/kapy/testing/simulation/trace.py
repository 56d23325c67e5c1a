"""The event trace of a run: one document for each step, the same bytes for the same seed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from kapy.kube import Document

_TOKEN: Final = re.compile(r"bootstrap-token-[a-z0-9]{6}")

Listener = Callable[[Document], None]


class Trace:
    """The recorded steps of a run. clock: returns the seconds since the start of the run."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.steps: list[Document] = []
        self._clock = clock

    def add(self, what: str, **details: Any) -> None:
        """Add one step with its time to the trace. what: the kind of step."""
        step = {"step": len(self.steps) + 1, "time": round(self._clock(), 6), "what": what}
        self.steps.append(step | {name: _public(value) for name, value in details.items()})

    def lines(self) -> bytes:
        """Return all steps as JSON lines."""
        return b"".join(map(line_of, self.steps))


def line_of(step: Document) -> bytes:
    """Return a step of a trace as a JSON line."""
    return msgspec.json.encode(step) + b"\n"


def _public(value: Any) -> Any:
    """Return a value without the random parts of bootstrap tokens."""
    return _TOKEN.sub("bootstrap-token-*", value) if isinstance(value, str) else value
