"""Logs of provider managers: the Pods of their Deployments in a management cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kapy.api.names import Label
from kapy.client.client import Client
from kapy.client.reply import failure_of
from kapy.clusterctl.debug.archive import MAX_LOG_BYTES, Archive
from kapy.clusterctl.debug.objects import list_objects
from kapy.kube.errors import KapyError
from kapy.kube.http import Request
from kapy.kube.names import PODS

_PREVIOUS_VALUES: Final = ("", "true")
"""Values of `previous`: the running container, and its predecessor."""


async def collect_manager_logs(client: Client, archive: Archive) -> int:
    """Add the logs of all provider Pods; returns the number of Pods."""
    pods = await list_objects(client, PODS, "", archive, labels=Label.PROVIDER)
    for pod in pods:
        metadata = pod["metadata"]
        place = f"{metadata['namespace']}/pods/{metadata['name']}"
        statuses = (pod.get("status") or {}).get("containerStatuses") or ()
        restarted = {status["name"] for status in statuses if status.get("restartCount")}
        for container in (pod.get("spec") or {}).get("containers") or ():
            name = container["name"]
            for previous in _PREVIOUS_VALUES if name in restarted else _PREVIOUS_VALUES[:1]:
                file = f"managers/{metadata['namespace']}/{metadata['name']}/{name}"
                file += ".previous.log" if previous else ".log"
                try:
                    await archive.log(file, _log(client, place, name, previous))
                except KapyError as error:
                    archive.missing.append(f"{file}: {error}")
    return len(pods)


async def _log(client: Client, place: str, container: str, previous: str) -> AsyncIterator[bytes]:
    query = {"container": container, "limitBytes": str(2 * MAX_LOG_BYTES), "timestamps": "true"}
    if previous:
        query["previous"] = previous
    else:
        query["tailLines"] = "20000"
    path = f"/api/v1/namespaces/{place}/log"
    reply = await client.transport(Request("GET", path, query))
    if reply.status >= 400:
        raise failure_of(reply)
    if isinstance(reply.body, bytes):
        yield reply.body
    elif isinstance(reply.body, dict):  # a log of one line that is JSON
        import json

        yield json.dumps(reply.body).encode()
    else:
        async for piece in reply.body:
            if isinstance(piece, bytes):
                yield piece
