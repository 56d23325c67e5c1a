"""Stops a container as its Pod specifies: the preStop hook, then the signal, both within the grace
period."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Final

from kapy.kube import Document
from kapy.node_agent.runtime import Running, StartFailed

_log = logging.getLogger(__name__)

LEAST_SECONDS: Final = 2.0
"""The least time after a hook until the container is killed, as a kubelet gives it."""


async def end(container: Document, running: Running, seconds: float) -> None:
    """Run the container's preStop hook and stop the container.

    seconds: the grace period of both. A hook that fails or takes longer does not delay the stop.
    """
    hook = (container.get("lifecycle") or {}).get("preStop")
    if not hook or seconds <= 0:
        await running.stop(seconds)
        return
    clock = asyncio.get_running_loop().time
    begin = clock()
    try:
        async with asyncio.timeout(seconds):
            await _run(hook, running, seconds)
    except (TimeoutError, StartFailed) as error:
        name = container["name"]
        _log.warning("the preStop hook of container %s: %s", name, str(error) or "took too long")
    await running.stop(max(seconds - (clock() - begin), LEAST_SECONDS))


async def _run(hook: Document, running: Running, seconds: float) -> None:
    """Run a hook's command, or its sleep."""
    if "sleep" in hook:
        with suppress(TimeoutError):
            async with asyncio.timeout(float(hook["sleep"].get("seconds") or 0)):
                await running.ended()
    elif "exec" in hook:
        await running.execute(hook["exec"].get("command") or (), seconds)
