"""The hooks of a container: a command, an HTTP request or a pause, after its start and before its
end."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from kapy.kube import Document
from kapy.node_agent.probes import Probe
from kapy.node_agent.runtime import Running, StartFailed

LONGEST: Final = 86_400.0
"""Seconds that a postStart hook may take. Kubelets have no limit."""
REQUEST_SECONDS: Final = 30


async def run_post_start(container: Document, running: Running) -> str:
    """Run the postStart hook; the reason for which it failed, or ""."""
    hook = (container.get("lifecycle") or {}).get("postStart")
    if not hook:
        return ""
    try:
        why = await run_hook(container, hook, running, LONGEST)
    except (TimeoutError, StartFailed) as error:
        why = str(error) or "it took too long"
    return f"the postStart hook failed: {why}" if why else ""


async def run_hook(container: Document, hook: Document, running: Running, seconds: float) -> str:
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
        request = {"httpGet": hook["httpGet"], "timeoutSeconds": min(REQUEST_SECONDS, seconds)}
        outcome = await Probe(container, request).run(running)
        return "" if outcome.well else outcome.message
    return ""
