"""Stops a container as its Pod specifies: the preStop hook, then the signal, both within the grace
period."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from kapy.kube import Document
from kapy.node_agent.lifecycle_hooks import run_hook
from kapy.node_agent.runtime import Running, StartFailed

_log = logging.getLogger(__name__)

MIN_SECONDS: Final = 2.0
"""The least time after a hook until the container is killed, as a kubelet gives it."""


async def stop_container(container: Document, running: Running, seconds: float) -> None:
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
            why = await run_hook(container, hook, running, seconds)
    except (TimeoutError, StartFailed) as error:
        why = str(error) or "took too long"
    if why:
        _log.warning("the preStop hook of container %s: %s", container["name"], why)
    await running.stop(max(seconds - (clock() - begin), MIN_SECONDS))
