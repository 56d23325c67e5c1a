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
from kapy.clusterctl.progress import Say
from kapy.clusterctl.retry import retry
from kapy.clusterctl.waiting import holds, until
from kapy.kube import Document, Key
from kapy.kube.names import DEPLOYMENTS, NODES

WITHIN: Final = 120.0
"""Time limit in seconds for a program to start on this machine."""
_LASTING: Final = ("NoRuntime: ", "UnsupportedField: ")
"""Reasons that only a user can remove: waiting would not help."""


async def runs_pods(client: Client) -> bool:
    """Whether a Node exists, so that Pods of Deployments run."""
    return bool((await retry(lambda: client.list(NODES, metadata=True))).items)


async def until_running(client: Client, queued: Iterable[Components], say: Say) -> None:
    """Wait until the local managers run, and report the reasons that keep others from running.

    Nothing is raised after the time limit: the managers continue to start.
    """
    managers = [Key.of(one) for each in queued for one in each.objects if has_manager(one)]
    told = await bounded_gather(partial(_up, client, key, say) for key in managers)
    for key, why in zip(managers, told, strict=True):
        if why:
            say(f"Deployment {key.name} in {key.namespace} is not up", reason=why)


async def _up(client: Client, key: Key, say: Say) -> str:
    """The reason for which a Deployment is unavailable, "" if it is available."""
    seen: list[str] = []

    def done(deployment: Document | None) -> bool:
        if deployment is None or holds(deployment, "Available"):
            return True
        why = reason_of(deployment)
        if why and why not in seen:
            seen.append(why)
            if not _is_lasting(why):
                say(f"Waiting for deployment {key.name}", reason=why)
        return _is_lasting(why)

    try:
        found = await until(client, DEPLOYMENTS, key, done, within=WITHIN)
    except TimeoutError:
        return seen[-1] if seen else f"it did not start within {WITHIN:.0f} s"
    return "" if found is None or holds(found, "Available") else reason_of(found)


def _is_lasting(why: str) -> bool:
    return any(one in why for one in _LASTING)


def reason_of(deployment: Document) -> str:
    """The reason for which a Deployment's Pods are not ready, from its Available condition."""
    conditions: Sequence[Document] = (deployment.get("status") or {}).get("conditions") or []
    for one in conditions:
        if one["type"] == "Available" and one["status"] != "True":
            _, _, why = str(one.get("message", "")).partition("availability. ")
            return why
    return ""
