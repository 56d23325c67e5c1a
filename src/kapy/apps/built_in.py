"""Presents the plane to clusterctl as a management cluster with its built-in providers installed.

The providers run in this process. Each has a Provider object and a Deployment, both marked as built
in, so that clusterctl and tools on its library find them. The Deployment always reports one
available replica, whatever its spec says, because the provider runs as long as the plane.

The infrastructure manager also has a Pod, through which upstream's test framework reaches in-memory
clusters: it forwards the port of a cluster's endpoint. Clusters with loopback addresses of their
own share one port; then the target is ambiguous and the connection is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from kapy import CLUSTER_API, __version__
from kapy._aio.byte_streams import ByteStream, Channel
from kapy.apiserver.kubelet.port_forward import is_port_forward, port_forward
from kapy.apiserver.request.request_info import request_info
from kapy.apps.settings import ManagerName
from kapy.client.client import Client
from kapy.clusterctl.components import CLUSTERCTL_LABEL, CORE_LABEL, PROVIDER_LABEL
from kapy.clusterctl.inventory import BUILT_IN, DEFINITION, PROVIDERS, installed_of
from kapy.clusterctl.provider import Provider, ProviderType
from kapy.engine.cache import Informer
from kapy.engine.controller import Controller, own_key
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, Conflict, NotFound
from kapy.kube.http import Reply, Request
from kapy.kube.names import CRDS, DEPLOYMENTS, NAMESPACES, PODS
from kapy.providers.inmemory import InMemoryClusters

_CHUNK_BYTES: Final = 1 << 16
POD: Final = Key("capd-system", "capd-controller-manager-0")


@dataclass(frozen=True)
class _BuiltInProvider:
    """A built-in provider. prefix: the name prefix of its objects, as in upstream. manager: the
    manager whose controllers it runs."""

    provider: Provider
    prefix: str
    manager: ManagerName

    @property
    def namespace(self) -> str:
        return f"{self.prefix}-system"

    @property
    def labels(self) -> dict[str, str]:
        return labels(self.provider.label)


_NAMES: Final[tuple[tuple[str, ProviderType, str, ManagerName], ...]] = (
    ("cluster-api", ProviderType.CORE, "capi", "core"),
    ("kubeadm", ProviderType.BOOTSTRAP, "capi-kubeadm-bootstrap", "bootstrap-kubeadm"),
    ("kubeadm", ProviderType.CONTROL_PLANE, "capi-kubeadm-control-plane", "control-plane-kubeadm"),
    ("docker", ProviderType.INFRASTRUCTURE, "capd", "infrastructure-dev"),
)
_BUILT_IN: Final = tuple(
    _BuiltInProvider(Provider(name, of_type, ""), prefix, manager)
    for name, of_type, prefix, manager in _NAMES
)
_BUILT_IN_MARK: Final[Mapping[str, str]] = {BUILT_IN: __version__}
_TIME_FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"
_STATUS_MESSAGE: Final = "runs inside this management plane, as long as the plane does"


def labels(provider: str) -> dict[str, str]:
    """Return the labels that mark an object as part of a provider."""
    return {CLUSTERCTL_LABEL: "", PROVIDER_LABEL: provider}


def with_provider_labels(crd: Document) -> Document:
    """Return the CRD of one of our kinds, marked as part of its provider and of this plane."""
    metadata = crd["metadata"]
    return {
        **crd,
        "metadata": {
            **metadata,
            "labels": {**metadata["labels"], CLUSTERCTL_LABEL: ""},
            "annotations": {**metadata.get("annotations", {}), **_BUILT_IN_MARK},
        },
    }


async def install_inventory(client: Client, without: Collection[ManagerName] = frozenset()) -> None:
    """Write the Provider objects and Deployments that are missing or have another version.

    without: the managers that do not run in this process. Their built-in objects are deleted;
    objects that a user installed in their place stay.
    """
    if not (await client.list(CRDS, fields=f"metadata.name={Key.of(DEFINITION).name}")).items:
        with suppress(AlreadyExists):
            await client.create(CRDS, DEFINITION)
    there = {Key.of(item): item for item in (await client.list(PROVIDERS)).items}
    for in_provider in _BUILT_IN:
        wanted = _provider(in_provider)
        stored = there.get(Key.of(wanted))
        if in_provider.manager in without:
            await _uninstall(client, in_provider)
        elif stored is None:
            await _install(client, in_provider)
        elif installed_of(stored) != installed_of(wanted):
            await client.patch(PROVIDERS, Key.of(wanted), wanted)


async def _install(client: Client, provider: _BuiltInProvider) -> None:
    """Write the objects of a provider. The Provider object is last, so its existence means that all
    are there."""
    for resource, document in (
        (NAMESPACES, _namespace(provider)),
        (DEPLOYMENTS, _deployment(provider)),
        (PROVIDERS, _provider(provider)),
    ):
        with suppress(AlreadyExists):
            await client.create(resource, document)


async def install_pod(client: Client, now: datetime) -> None:
    """Create the infrastructure manager's Pod if it is missing; its ports are those of the
    in-memory clusters (`ManagerPod`)."""
    if (await client.list(PODS, POD.namespace, fields=f"metadata.name={POD.name}")).items:
        return
    of_infrastructure = _BUILT_IN[-1]
    selector = {"control-plane": "controller-manager", **of_infrastructure.labels}
    with suppress(AlreadyExists):
        await client.create(PODS, _pod(selector))
        status = _pod_status(now.strftime(_TIME_FORMAT))
        await client.patch(PODS, POD, {"status": status}, subresource="status")


async def _uninstall(client: Client, provider: _BuiltInProvider) -> None:
    for resource, wanted in (
        (PROVIDERS, _provider(provider)),
        (DEPLOYMENTS, _deployment(provider)),
    ):
        with suppress(NotFound):
            there = await client.get(resource, Key.of(wanted))
            if BUILT_IN in (there["metadata"].get("annotations") or {}):
                await client.delete(resource, Key.of(wanted), uid=there["metadata"]["uid"])


def add_statuses(runtime: Runtime) -> Controller:
    """Keep the statuses of the built-in Deployments, even if somebody scales them."""
    deployments = runtime.cache.informer(DEPLOYMENTS)
    controller = Controller(
        "built-in", partial(_report_status, runtime, deployments), concurrency=1
    )
    controller.watch(deployments, own_key)
    return runtime.add(controller, deployments)


async def _report_status(runtime: Runtime, deployments: Informer[Document], key: Key) -> Result:
    document = deployments.raw(key)
    if document is None or BUILT_IN not in (document["metadata"].get("annotations") or {}):
        return DONE
    now = runtime.clock().strftime(_TIME_FORMAT)
    status = _status(document["metadata"].get("generation", 0), now)
    if _strip_times(document.get("status") or {}) != _strip_times(status):
        with suppress(Conflict, NotFound):  # a concurrent change enqueues it again
            await runtime.client.patch(DEPLOYMENTS, key, {"status": status}, subresource="status")
    return DONE


def _status(generation: int, now: str) -> Document:
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 1)
    conditions = [
        {
            "type": of_type,
            "status": "True",
            "reason": reason,
            "message": _STATUS_MESSAGE,
            "lastTransitionTime": now,
            "lastUpdateTime": now,
        }
        for of_type, reason in (
            ("Available", "MinimumReplicasAvailable"),
            ("Progressing", "NewReplicaSetAvailable"),
        )
    ]
    return {"observedGeneration": generation, **counts, "conditions": conditions}


def _strip_times(status: Document) -> Document:
    conditions = status.get("conditions") or []
    documents = [
        {name: condition.get(name) for name in ("type", "status", "reason")}
        for condition in conditions
    ]
    return {**status, "conditions": documents}


def _namespace(provider: _BuiltInProvider) -> Document:
    metadata = {"name": provider.namespace, "labels": provider.labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _provider(provider: _BuiltInProvider) -> Document:
    return {
        "apiVersion": PROVIDERS.api_version,
        "kind": PROVIDERS.kind,
        "metadata": {
            "name": provider.provider.label,
            "namespace": provider.namespace,
            "labels": {**provider.labels, CORE_LABEL: "inventory"},
            "annotations": dict(_BUILT_IN_MARK),
        },
        "providerName": provider.provider.name,
        "type": provider.provider.type.value,
        "version": CLUSTER_API,
    }


def _deployment(provider: _BuiltInProvider) -> Document:
    selector = {"control-plane": "controller-manager", **provider.labels}
    manager = {"name": "manager", "image": f"kapy:{__version__}"}
    return {
        "apiVersion": DEPLOYMENTS.api_version,
        "kind": DEPLOYMENTS.kind,
        "metadata": {
            "name": f"{provider.prefix}-controller-manager",
            "namespace": provider.namespace,
            "labels": selector,
            "annotations": dict(_BUILT_IN_MARK),
        },
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": selector},
            "template": {
                "metadata": {"labels": selector},
                "spec": {"containers": [manager]},
            },
        },
    }


def _pod(labels: dict[str, str]) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": POD.name,
            "namespace": POD.namespace,
            "labels": labels,
            "annotations": dict(_BUILT_IN_MARK),
        },
        "spec": {"containers": [{"name": "manager", "image": f"kapy:{__version__}"}]},
    }


def _pod_status(now: str) -> Document:
    types = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    conditions = [{"type": item, "status": "True", "lastTransitionTime": now} for item in types]
    return {"phase": "Running", "podIP": "127.0.0.1", "startTime": now, "conditions": conditions}


class ManagerPod:
    """Forwards ports of the built-in manager's Pod, which has no kubelet. clusters: the in-memory
    clusters that serve at these ports."""

    def __init__(self, clusters: InMemoryClusters) -> None:
        self._clusters = clusters

    def __call__(self, request: Request) -> Reply | None:
        if not is_port_forward(request):
            return None
        info = request_info(request)
        if Key(info.namespace, info.name) != POD:
            return None
        return port_forward(request, self._connect)

    async def _connect(self, port: int, stream: ByteStream) -> None:
        result = self._clusters.on_port(port)
        if len(result) != 1:
            raise ConnectionRefusedError(_refusal(port, len(result)))
        assert isinstance(stream, Channel)
        reader, writer = await asyncio.open_connection(*result[0].endpoint)
        try:
            await _relay(reader, writer, stream)
        finally:
            writer.close()


def _refusal(port: int, clusters: int) -> str:
    if not clusters:
        return f"no workload cluster in memory listens on port {port}"
    return (
        f"{clusters} workload clusters share port {port}, each at an address of its own; start the "
        "plane with the environment variable POD_IP set to an address of this machine, and each "
        "cluster has a port of its own"
    )


async def _relay(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stream: Channel
) -> None:
    """Copy bytes in both directions until the cluster or the client closes the connection."""

    async def to_client() -> None:
        with suppress(OSError):
            while data := await reader.read(_CHUNK_BYTES):
                stream.write(data)
                await stream.drain()

    async def to_cluster() -> None:
        with suppress(OSError):
            while data := await stream.read():
                writer.write(data)
                await writer.drain()

    async with asyncio.TaskGroup() as group:
        ways = [group.create_task(to_client()), group.create_task(to_cluster())]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for item in ways:
            item.cancel()
