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

    provider: its label, "" for a Pod without a provider; version: of the provider. state: as in
    `kubectl get pods`. since: when its container started, RFC 3339, "" if none runs. memory: bytes,
    0 if unknown. program: the local program that runs in place of its image, else the image of the
    running container, "" for none. message: why it is not ready.
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
    """Return the Pods of a plane, except those that represent the plane itself. folder: of the
    plane. memory: bytes of memory by Pod UID. Raises ApiError, Unreachable.
    """
    versions = {
        one["metadata"]["name"]: one.get("version", "")
        for one in (await client.list(PROVIDERS)).items
    }
    providers = {
        (one["metadata"]["namespace"], one["metadata"]["name"]): label
        for one in (await client.list(DEPLOYMENTS)).items
        if (label := (one["metadata"].get("labels") or {}).get(PROVIDER_LABEL, ""))
    }
    found = []
    for pod in (await client.list(PODS)).items:
        if BUILT_IN in (pod["metadata"].get("annotations") or {}):
            continue
        label = _provider(pod, providers)
        found.append(_running_pod(pod, label, versions.get(label, ""), folder, memory or {}))
    return found


def _provider(pod: Document, providers: dict[tuple[str, str], str]) -> str:
    """Return the provider whose Deployment owns a Pod, by the name of its ReplicaSet."""
    meta = pod["metadata"]
    for one in meta.get("ownerReferences") or ():
        name = str(one.get("name", "")).rpartition("-")[0]
        if (meta["namespace"], name) in providers:
            return providers[meta["namespace"], name]
    return str((meta.get("labels") or {}).get(PROVIDER_LABEL, ""))


def _running_pod(
    pod: Document, label: str, version: str, folder: Path, memory: Mapping[str, int]
) -> RunningPod:
    meta, status = pod["metadata"], pod.get("status") or {}
    statuses = status.get("containerStatuses") or []
    running = [(one.get("state") or {}).get("running") or {} for one in statuses]
    waiting = [(one.get("state") or {}).get("waiting") or {} for one in statuses]
    reasons = (one["reason"] for one in waiting if one.get("reason"))
    state = "Terminating" if "deletionTimestamp" in meta else next(reasons, "")
    there = (records.read(one) for one in (folder / "node" / "pods" / meta["uid"]).glob("*/"))
    alive = [one for one in there if one is not None and one.is_alive]
    return RunningPod(
        meta["namespace"],
        meta["name"],
        label,
        version,
        state or status.get("phase", "Pending"),
        max((one["startedAt"] for one in running if one.get("startedAt")), default=""),
        sum(one.get("restartCount", 0) for one in statuses),
        sum(records.memory_of(one.pid) for one in alive) + memory.get(meta["uid"], 0),
        ", ".join(one.program for one in alive) or _images(statuses),
        "" if is_ready(pod) else not_ready_reason(pod),
    )


def _images(statuses: Sequence[Document]) -> str:
    """Return the images of the running containers."""
    running = (one for one in statuses if one.get("containerID") and "running" in one["state"])
    return ", ".join(one["image"] for one in running)
