"""An event loop on virtual time whose order of ready tasks comes from a seed."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any

from kapy.testing.virtual_time import VirtualTimeLoop


class SimulationLoop(VirtualTimeLoop):
    """A loop that permutes the tasks that are ready at the same moment.

    The same seed gives the same order. `turns` counts the permuted iterations. `on_jump` is called
    before time jumps, with the seconds.
    """

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self._order = Random(f"{seed}/order of tasks")
        self.turns = 0
        self.is_shuffled = False
        self.on_jump: Callable[[float], None] = lambda _: None

    def jump(self, seconds: float) -> None:
        """Let time pass while every task sleeps."""
        self.on_jump(seconds)
        super().jump(seconds)

    def _run_once(self) -> None:
        ready: deque[Any] = self._ready  # type: ignore[attr-defined]
        if self.is_shuffled and len(ready) > 1:
            self.turns += 1
            handles = list(ready)
            self._order.shuffle(handles)
            ready.clear()
            ready.extend(handles)
        super()._run_once()  # type: ignore[misc]


class deterministic_collection:  # noqa: N801
    """No garbage collection while the context is open: finalizers of cycles run at a moment that
    depends on the process."""

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_enabled:
            gc.enable()
