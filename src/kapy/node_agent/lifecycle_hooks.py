"""Lifecycle hooks of a container: postStart, and preStop as the first part of a stop.

A hook is a command, an HTTP request, or a pause. A stop runs the preStop hook and then sends the
signal, both within the grace period of the Pod.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Final

from kapy.kube import Document
from kapy.node_agent.probes import Probe
from kapy.node_agent.runtime import Running, StartFailed

_log = logging.getLogger(__name__)
_LONGEST: Final = 86_400.0
"""Seconds that a postStart hook may take. Kubelets have no limit."""
_REQUEST_SECONDS: Final = 30
MIN_SECONDS: Final = 2.0
"""The least time after a hook until the container is killed, as a kubelet gives it."""


async def run_post_start(container: Document, running: Running) -> str:
    """Run the postStart hook; the reason for which it failed, or ""."""
    hook = (container.get("lifecycle") or {}).get("postStart")
    if not hook:
        return ""
    try:
        why = await _run_hook(container, hook, running, _LONGEST)
    except (TimeoutError, StartFailed) as error:
        why = str(error) or "it took too long"
    return f"the postStart hook failed: {why}" if why else ""


async def _run_hook(container: Document, hook: Document, running: Running, seconds: float) -> str:
    """Run a hook; the reason for which it failed, or "". Raises TimeoutError, StartFailed."""
    if "sleep" in hook:
        with suppress(TimeoutError):
            async with asyncio.timeout(float(hook["sleep"].get("seconds") or 0)):
                await running.ended()
    elif "exec" in hook:
        command = hook["exec"].get("command") or ()
        code = await running.execute(command, seconds)
        return f"{' '.join(command)} ended with code {code}" if code else ""
    elif "httpGet" in hook:
        request = {"httpGet": hook["httpGet"], "timeoutSeconds": min(_REQUEST_SECONDS, seconds)}
        outcome = await Probe(container, request).run(running)
        return "" if outcome.well else outcome.message
    return ""


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
            why = await _run_hook(container, hook, running, seconds)
    except (TimeoutError, StartFailed) as error:
        why = str(error) or "took too long"
    if why:
        _log.warning("the preStop hook of container %s: %s", container["name"], why)
    await running.stop(max(seconds - (clock() - begin), MIN_SECONDS))
