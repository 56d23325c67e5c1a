"""The Pods of a plane, as `kapy status` lists them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kapy.apiserver.controllers.workloads.pod_conditions import is_ready, not_ready_reason
from kapy.client.client import Client
from kapy.clusterctl.components import PROVIDER_LABEL
from kapy.clusterctl.inventory import BUILT_IN, PROVIDERS
from kapy.kube import Document
from kapy.kube.names import DEPLOYMENTS, PODS
from kapy.node_agent.processes import records


@dataclass(frozen=True, slots=True)
class RunningPod:
    """One Pod of a plane.

    provider: the label of its provider, "" for a Pod without a provider. version: the version of
    the provider. state: the state as in `kubectl get pods`. since: the time when its container
    started, RFC 3339, "" if none runs. memory: the used memory in bytes, 0 if unknown. program: the
    local program that runs in place of its image, else the image of the running container, "" for
    none. message: the reason for which the Pod is not ready.
    """

    namespace: str
    name: str
    provider: str
    version: str
    state: str
    since: str
    restarts: int
    memory: int
    program: str
    message: str


async def running_pods(
    client: Client, folder: Path, memory: Mapping[str, int] | None = None
) -> list[RunningPod]:
    """Return the Pods of a plane, except those that represent the plane itself. folder: the folder
    of the plane. memory: bytes of memory by Pod UID. Raises ApiError, Unreachable.
    """
    versions = {
        item["metadata"]["name"]: item.get("version", "")
        for item in (await client.list(PROVIDERS)).items
    }
    providers = {
        (item["metadata"]["namespace"], item["metadata"]["name"]): label
        for item in (await client.list(DEPLOYMENTS)).items
        if (label := (item["metadata"].get("labels") or {}).get(PROVIDER_LABEL, ""))
    }
    pods = []
    for pod in (await client.list(PODS)).items:
        if BUILT_IN in (pod["metadata"].get("annotations") or {}):
            continue
        label = _provider(pod, providers)
        pods.append(_running_pod(pod, label, versions.get(label, ""), folder, memory or {}))
    return pods


def _provider(pod: Document, providers: dict[tuple[str, str], str]) -> str:
    """Return the provider whose Deployment owns a Pod, by the name of its ReplicaSet."""
    meta = pod["metadata"]
    for reference in meta.get("ownerReferences") or ():
        name = str(reference.get("name", "")).rpartition("-")[0]
        if (meta["namespace"], name) in providers:
            return providers[meta["namespace"], name]
    return str((meta.get("labels") or {}).get(PROVIDER_LABEL, ""))


def _running_pod(
    pod: Document, label: str, version: str, folder: Path, memory: Mapping[str, int]
) -> RunningPod:
    meta, status = pod["metadata"], pod.get("status") or {}
    statuses = status.get("containerStatuses") or []
    running = [(item.get("state") or {}).get("running") or {} for item in statuses]
    waiting = [(item.get("state") or {}).get("waiting") or {} for item in statuses]
    reasons = (item["reason"] for item in waiting if item.get("reason"))
    state = "Terminating" if "deletionTimestamp" in meta else next(reasons, "")
    there = (records.read(path) for path in (folder / "node" / "pods" / meta["uid"]).glob("*/"))
    alive = [record for record in there if record is not None and record.is_alive]
    return RunningPod(
        meta["namespace"],
        meta["name"],
        label,
        version,
        state or status.get("phase", "Pending"),
        max((item["startedAt"] for item in running if item.get("startedAt")), default=""),
        sum(item.get("restartCount", 0) for item in statuses),
        sum(records.memory_of(record.pid) for record in alive) + memory.get(meta["uid"], 0),
        ", ".join(record.program for record in alive) or _images(statuses),
        "" if is_ready(pod) else not_ready_reason(pod),
    )


def _images(statuses: Sequence[Document]) -> str:
    """Return the images of the running containers."""
    running = (
        status for status in statuses if status.get("containerID") and "running" in status["state"]
    )
    return ", ".join(item["image"] for item in running)
