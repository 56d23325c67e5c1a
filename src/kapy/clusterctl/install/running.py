"""Waiting for providers whose Pods run beside the management plane itself, as local processes.

Their webhooks refuse all objects until they run, so whoever installed them waits; and where nothing
runs a Pod, is told what to do.
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
"""Seconds in which a program that runs on this machine is up."""
_LASTING: Final = ("NoRuntime: ", "UnsupportedField: ")
"""Reasons that stay until a person does something: nobody waits for them."""


async def runs_pods(client: Client) -> bool:
    """Whether there is a Node, so that Deployments get Pods that run."""
    return bool((await retry(lambda: client.list(NODES, metadata=True))).items)


async def until_running(client: Client, queued: Iterable[Components], say: Say) -> None:
    """Wait until the managers that run here are up, and tell what keeps the others from it.

    What is not up in time goes on starting; nothing is raised.
    """
    managers = [Key.of(one) for each in queued for one in each.objects if has_manager(one)]
    told = await bounded_gather(partial(_up, client, key, say) for key in managers)
    for key, why in zip(managers, told, strict=True):
        if why:
            say(f"Deployment {key.name} in {key.namespace} is not up", reason=why)


async def _up(client: Client, key: Key, say: Say) -> str:
    """The reason for which a Deployment is not up, "" if it is up."""
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
    """The reason in the Available condition of a Deployment for which its Pods are not ready."""
    conditions: Sequence[Document] = (deployment.get("status") or {}).get("conditions") or []
    for one in conditions:
        if one["type"] == "Available" and one["status"] != "True":
            _, _, why = str(one.get("message", "")).partition("availability. ")
            return why
    return ""
