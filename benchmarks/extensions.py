"""The CPU time of an extension server, of the calls to extensions without transport and handlers,
and of a look at a settled topology with extensions."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from random import Random
from typing import Any, Final

import msgspec

from benchmarks.extension_server import served
from kapy._aio.clock import system_clock
from kapy.api.cluster import Cluster
from kapy.api.extension_config import ClientConfig, ExtensionConfig
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.manifests import class_sample
from kapy.apps.settings import EMBEDDED_GATES, ControllerConfig, Settings
from kapy.client.kinds import Kinds
from kapy.conditions.lookup import is_true
from kapy.engine.options import ManagerOptions
from kapy.hooks.caller import Caller, Subject
from kapy.hooks.hook import GROUP
from kapy.hooks.messages.lifecycle import BEFORE_CLUSTER_CREATE
from kapy.hooks.transport import Answer
from kapy.kube import Document, Key

Row = dict[str, Any]
ROUNDS: Final = 15
CALLS: Final = 200
LOOKS: Final = 40
HANDLERS: Final = (
    "BeforeClusterCreate",
    "AfterControlPlaneInitialized",
    "BeforeClusterUpgrade",
    "AfterClusterUpgrade",
    "BeforeClusterDelete",
    "GeneratePatches",
    "ValidateTopology",
)
HERD: Final = Subject("Cluster", Key("default", "capybara"))


class Agreeing:
    """A transport to an extension that agrees to everything, at no cost."""

    async def __call__(self, client: ClientConfig, url: str, body: bytes) -> Answer:  # noqa: ARG002
        if "/discovery?" in url:
            return Answer(200, msgspec.json.encode({"status": "Success", "handlers": _handlers()}))
        return Answer(200, b'{"status":"Success","retryAfterSeconds":0}')

    async def aclose(self) -> None:
        """Nothing is open."""


async def measured() -> list[Row]:
    """Measure both sides: the server of an extension, and its client."""
    return [*await served(), *await asked()]


async def asked() -> list[Row]:
    """Measure one call of one handler, and a look at a settled topology with five lifecycle
    handlers and an external patch."""
    gates = replace(EMBEDDED_GATES, runtime_sdk=True)
    settings = Settings(controllers=ControllerConfig(manager=ManagerOptions(gates=gates)))
    async with management_plane(
        settings, clock=system_clock, random=Random(0), post=Agreeing()
    ) as plane:
        await _prepared(plane)
        (caller,) = (obj for obj in gc.get_objects() if isinstance(obj, Caller))
        request: Document = {"cluster": await plane.client.get(Cluster.RESOURCE, HERD.key)}

        async def call() -> None:
            await caller.call(BEFORE_CLUSTER_CREATE, "beforeclustercreate.ext", HERD, request)

        topology = next(
            controller
            for controller in plane.runtime.controllers
            if controller.name == "topology/cluster"
        )

        async def look() -> None:
            await topology.reconcile_once(HERD.key)

        return [
            await _measured("call a handler", call, CALLS),
            await _measured("look at a topology", look, LOOKS),
        ]


async def _prepared(plane: ManagementPlane) -> None:
    """A Cluster of the sample's class, which has an external patch, settled."""
    kinds = Kinds(plane.client)
    for document in (_registered(), *class_sample()):
        if document["kind"] == "ClusterClass":
            external = {
                "generatePatchesExtension": "generatepatches.ext",
                "validateTopologyExtension": "validatetopology.ext",
            }
            document["spec"].setdefault("patches", []).append(
                {"name": "external", "external": external}
            )
        if document["kind"] == "Cluster":
            document["metadata"]["name"] = HERD.key.name
        await plane.client.create(await kinds.of(document), document)
    while True:
        cluster = await plane.client.get(Cluster, HERD.key)
        if is_true(cluster.status.conditions, "Available"):
            break
        await asyncio.sleep(0.05)
    await asyncio.sleep(5)  # no event tells that all work is done


def _handlers() -> list[Document]:
    version = f"{GROUP}/v1alpha1"
    return [
        {"name": hook.lower(), "requestHook": {"apiVersion": version, "hook": hook}}
        for hook in HANDLERS
    ]


def _registered() -> Document:
    return {
        "apiVersion": ExtensionConfig.RESOURCE.api_version,
        "kind": "ExtensionConfig",
        "metadata": {"name": "ext"},
        "spec": {"clientConfig": {"url": "https://ext"}, "namespaceSelector": {}},
    }


async def _measured(step: str, do: Callable[[], Awaitable[None]], times: int) -> Row:
    """Microseconds of CPU; the best round is the one that nobody else disturbed."""
    rounds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(times):
            await do()
        rounds.append((time.process_time() - began) / times * 1e6)
    rounds.sort()
    return {"step": step, "us": round(rounds[0], 1), "median_us": round(rounds[ROUNDS // 2], 1)}
