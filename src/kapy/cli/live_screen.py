"""A full-screen view that is redrawn in place."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

TICK: Final = 5.0
"""The interval at which ages are updated."""


async def show_live(
    draw: Callable[[Console], RenderableType],
    *,
    change: Callable[[], Awaitable[None]],
    refresh: Callable[[], Awaitable[None]],
    pause: Callable[[], float],
) -> None:
    """Draw on the terminal until cancelled: after each change, when the size of the terminal
    changes, and as ages grow.

    change: waits for a change. refresh: reads the data that `draw` draws. pause: returns the
    minimum seconds between two redraws.
    """
    from rich.console import Console
    from rich.live import Live

    wake, is_changed = asyncio.Event(), False

    async def listen() -> None:
        nonlocal is_changed
        while True:
            await change()
            is_changed = True
            wake.set()
            await asyncio.sleep(pause())

    console = Console()
    with Live(console=console, auto_refresh=False, screen=True) as live, _resizes(wake):
        async with asyncio.TaskGroup() as group:
            group.create_task(listen())
            while True:
                live.update(draw(console), refresh=True)
                with suppress(TimeoutError):
                    async with asyncio.timeout(TICK):
                        await wake.wait()
                wake.clear()
                if is_changed:
                    is_changed = False
                    await refresh()


@contextmanager
def _resizes(event: asyncio.Event) -> Iterator[None]:
    """Set an event when the size of the terminal changes, on systems that signal it."""
    loop, number = asyncio.get_running_loop(), getattr(signal, "SIGWINCH", None)
    if number is not None:
        loop.add_signal_handler(number, event.set)
    try:
        yield
    finally:
        if number is not None:
            loop.remove_signal_handler(number)
