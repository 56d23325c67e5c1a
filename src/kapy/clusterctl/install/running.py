"""Waits for providers whose Pods run as local processes beside the management plane.

Their webhooks refuse all objects until they run, so an installation waits for them. If nothing runs
Pods, the user is told what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.components import Components
from kapy.clusterctl.components.images import has_manager
from kapy.clusterctl.progress import Progress
from kapy.clusterctl.retry import retry
from kapy.clusterctl.waiting import has_condition, wait_until
from kapy.kube import Document, Key
from kapy.kube.names import DEPLOYMENTS, NODES

TIMEOUT: Final = 120.0
"""Time limit in seconds for a program to start on this machine."""
_PERMANENT_REASONS: Final = ("NoRuntime: ", "UnsupportedField: ")
"""Reasons that only a user can remove: waiting would not help."""


async def runs_pods(client: Client) -> bool:
    """Return whether a Node exists, so that Pods of Deployments run."""
    return bool((await retry(lambda: client.list(NODES, metadata=True))).items)


async def wait_until_running(
    client: Client, to_install: Iterable[Components], progress: Progress
) -> None:
    """Wait until the local managers run, and report the reasons that keep others from running.

    Nothing is raised after the time limit: the managers continue to start.
    """
    managers = [
        Key.of(obj) for components in to_install for obj in components.objects if has_manager(obj)
    ]
    gather = await bounded_gather(
        partial(_wait_for_pods, client, key, progress) for key in managers
    )
    for key, reason in zip(managers, gather, strict=True):
        if reason:
            progress(f"Deployment {key.name} in {key.namespace} is not up", reason=reason)


async def _wait_for_pods(client: Client, key: Key, progress: Progress) -> str:
    """Return the reason for which a Deployment is unavailable, "" if it is available."""
    reasons: list[str] = []

    def done(deployment: Document | None) -> bool:
        if deployment is None or has_condition(deployment, "Available"):
            return True
        reason = reason_of(deployment)
        if reason and reason not in reasons:
            reasons.append(reason)
            if not _is_permanent(reason):
                progress(f"Waiting for deployment {key.name}", reason=reason)
        return _is_permanent(reason)

    try:
        wait = await wait_until(client, DEPLOYMENTS, key, done, within=TIMEOUT)
    except TimeoutError:
        return reasons[-1] if reasons else f"it did not start within {TIMEOUT:.0f} s"
    return "" if wait is None or has_condition(wait, "Available") else reason_of(wait)


def _is_permanent(reason: str) -> bool:
    return any(item in reason for item in _PERMANENT_REASONS)


def reason_of(deployment: Document) -> str:
    """Return the reason for which a Deployment's Pods are not ready, from its Available
    condition.
    """
    conditions: Sequence[Document] = (deployment.get("status") or {}).get("conditions") or []
    for condition in conditions:
        if condition["type"] == "Available" and condition["status"] != "True":
            _, _, reason = str(condition.get("message", "")).partition("availability. ")
            return reason
    return ""
