"""A plane of clusters in every state, in a thread of its own, so that a browser can look at it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from kapy._aio.clock import system_clock
from kapy.api.cluster import Cluster
from kapy.api.extension_config import ExtensionConfig
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.extension_server.manifest import extension_config
from kapy.apps.feature_gates import feature_gates
from kapy.apps.manifests import apply_manifests, class_sample, sample
from kapy.apps.settings import (
    EMBEDDED_GATES,
    EMBEDDED_OPTIONS,
    ControllerConfig,
    Pages,
    Serving,
    Settings,
)
from kapy.cli.planning import PagePlanner
from kapy.client.kubeconfig import with_context
from kapy.conditions import is_true
from kapy.hooks import (
    BEFORE_CLUSTER_UPGRADE,
    BeforeClusterUpgradeRequest,
    Extension,
    RetryResponse,
)
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN, User
from kapy.kube.names import Resource
from kapy.kube.yaml import dump
from kapy.testing.extension import InProcess

T = TypeVar("T")

HERD: Final = 500
"""Paused clusters that fill the table."""
HACK: Final = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"
SHEPHERD: Final = User("shepherd", ("system:authenticated",))
RBAC: Final = "rbac.authorization.k8s.io"
EVENTS: Final = Resource("", "v1", "events", "Event")
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
STARTING: Final = 120.0


class Fleet:
    """A running plane. `do` runs a coroutine on its event loop."""

    def __init__(self, plane: ManagementPlane) -> None:
        self.plane = plane
        self.stopped = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def stop(self) -> None:
        """End the plane."""
        self._loop.call_soon_threadsafe(self.stopped.set)

    def link(self, user: User = ADMIN, **properties: Any) -> str:
        """A one-time link. properties: of its Session."""
        assert self.plane.kubeconfig is not None
        assert self.plane.pages is not None
        path = self.plane.pages.login_path(user, **properties)
        return f"{self.plane.kubeconfig.server}{path}"

    def write_kubeconfig(self, path: Path) -> None:
        """Write the administrator's kubeconfig, with the context `fleet`."""
        assert self.plane.kubeconfig is not None
        path.write_text(dump(with_context({}, "fleet", self.plane.kubeconfig)))

    @property
    def url(self) -> str:
        """The address of the fleet."""
        assert self.plane.kubeconfig is not None
        return f"{self.plane.kubeconfig.server}/ui/"

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the plane's thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(STARTING)

    def apply(self, objects: Sequence[Document]) -> None:
        """Apply objects."""
        self.do(apply_manifests(self.plane.client, objects))

    def patch(self, name: str, patch: Document) -> None:
        """Patch a Cluster."""
        self.do(self.plane.client.patch(Cluster, Key("default", name), patch))

    def cut(self) -> None:
        """End all streams of the pages, as a network that fails does."""
        assert self.plane.pages is not None
        self.do(self.plane.pages.stop())


@contextmanager
def run_fleet(herd: int = HERD) -> Iterator[Fleet]:
    """Run a plane in a thread while the context is open, with its clusters in their states. herd:
    how many of them are paused."""
    started: list[Fleet | BaseException] = []
    ready = threading.Event()

    async def main() -> None:
        async with _plane() as plane:
            await _fill(plane, herd)
            fleet = Fleet(plane)
            started.append(fleet)
            ready.set()
            await fleet.stopped.wait()

    def run() -> None:
        try:
            asyncio.run(main())
        except BaseException as error:
            started.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=run, name="fleet")
    thread.start()
    assert ready.wait(STARTING)
    fleet = started[0]
    if isinstance(fleet, BaseException):
        raise fleet
    try:
        yield fleet
    finally:
        fleet.stop()
        thread.join(STARTING)


def _plane() -> Any:
    extension = Extension()

    @extension.handles(BEFORE_CLUSTER_UPGRADE, name="gate")
    async def gate(request: BeforeClusterUpgradeRequest) -> RetryResponse:
        if request.cluster["metadata"]["name"] == "heron":
            return RetryResponse.wait(300, "change freeze until Monday")
        return RetryResponse()

    gates = feature_gates(["RuntimeSDK=true"], EMBEDDED_GATES)
    controllers = ControllerConfig(manager=replace(EMBEDDED_OPTIONS, gates=gates))
    settings = Settings(
        serving=Serving(), pages=Pages(plan=PagePlanner()), controllers=controllers, inventory=True
    )
    return management_plane(settings, clock=system_clock, post=InProcess(gate=extension))


async def _fill(plane: ManagementPlane, herd: int) -> None:
    client = plane.client
    await client.create(ExtensionConfig.RESOURCE, extension_config("gate", "https://gate", b""))
    for name in ("north", "south"):
        metadata = {"name": name}
        await client.create(NAMESPACES, _object(NAMESPACES, metadata))
    await apply_manifests(client, class_sample())
    await apply_manifests(client, [managed("heron"), *_without_infrastructure("otter")])
    await apply_manifests(client, _slow_workers("ibis"))
    for number in range(herd):
        namespace = "north" if number % 2 else "south"
        await client.create(Cluster.RESOURCE, herd_member(f"goat-{number:03}", namespace))
    await _grant(plane)
    await until_available(plane, "capybara", "heron")
    upgrade = {"spec": {"topology": {"version": "v1.35.0"}}}
    await client.patch(Cluster, Key("default", "heron"), upgrade)
    await _add_hostile(plane)


def managed(name: str) -> Document:
    """The Cluster of the sample class, by another name."""
    cluster = deepcopy(class_sample()[-1])
    cluster["metadata"]["name"] = name
    return cluster


def herd_member(name: str, namespace: str) -> Document:
    """A Cluster that is paused: nobody works on it."""
    cluster = managed(name)
    cluster["metadata"] |= {"namespace": namespace, "labels": {"tier": "herd"}}
    cluster["spec"] |= {"paused": True}
    cluster["spec"]["topology"]["classRef"]["namespace"] = "default"
    return cluster


def _without_infrastructure(name: str) -> list[Document]:
    return [item for item in _renamed(name) if item["kind"] != "DevCluster"]


def _slow_workers(name: str) -> list[Document]:
    """A cluster whose workers' machines do not start within an hour."""
    objects = _renamed(name)
    for item in objects:
        if item["kind"] == "DevMachineTemplate" and "md" in item["metadata"]["name"]:
            memory = item["spec"]["template"]["spec"]["backend"]["inMemory"]
            memory["vm"] = {"provisioning": {"startupDuration": "1h"}}
    return objects


def _renamed(name: str) -> list[Document]:
    items: list[Document] = json.loads(json.dumps(list(sample())).replace("capybara", name))
    return items


async def _grant(plane: ManagementPlane) -> None:
    """The shepherd may read clusters in `south`."""
    roles = Resource(RBAC, "v1", "roles", "Role")
    bindings = Resource(RBAC, "v1", "rolebindings", "RoleBinding")
    metadata = {"name": "looker", "namespace": "south"}
    rule = {"apiGroups": ["cluster.x-k8s.io"], "resources": ["clusters"],
            "verbs": ["get", "list", "watch"]}  # fmt: skip
    subject = {"kind": "User", "name": SHEPHERD.name, "apiGroup": RBAC}
    reference = {"apiGroup": RBAC, "kind": "Role", "name": "looker"}
    await plane.client.create(roles, {**_object(roles, metadata), "rules": [rule]})
    await plane.client.create(
        bindings, {**_object(bindings, metadata), "subjects": [subject], "roleRef": reference}
    )


async def _add_hostile(plane: ManagementPlane) -> None:
    """A cluster whose texts try to be a page of their own."""
    hostile = herd_member("viper", "south")
    hostile["spec"]["topology"]["variables"] = [{"name": "nodeLabels", "value": {"a": HACK}}]
    cluster = await plane.client.create(Cluster.RESOURCE, hostile)
    condition = {
        "type": "Available", "status": "False", "reason": "Odd", "message": HACK,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    await plane.client.patch(
        Cluster,
        Key("south", "viper"),
        {"status": {"conditions": [condition]}},
        subresource="status",
    )
    about = {"kind": "Cluster", "namespace": "south", "name": "viper", "apiVersion": "x/v1",
             "uid": cluster["metadata"]["uid"]}  # fmt: skip
    metadata = {"name": "viper.1", "namespace": "south"}
    event = {**_object(EVENTS, metadata), "involvedObject": about, "reason": HACK[:60],
             "message": HACK, "type": "Warning", "firstTimestamp": "2026-01-01T00:00:00Z",
             "lastTimestamp": "2026-01-01T00:00:00Z"}  # fmt: skip
    await plane.client.create(EVENTS, event)


async def until_available(plane: ManagementPlane, *names: str) -> None:
    """Wait until clusters are available."""
    async with asyncio.timeout(STARTING):
        for name in names:
            while True:
                cluster = await plane.client.get(Cluster, Key("default", name))
                if is_true(cluster.status.conditions, "Available"):
                    break
                await asyncio.sleep(0.1)


def _object(resource: Resource, metadata: Document) -> Document:
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
