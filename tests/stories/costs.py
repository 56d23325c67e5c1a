"""The costs of a small story, in counts that do not depend on the machine.

The story: a cluster of one control plane machine and three workers is created, scaled to five
workers and back to one, and deleted. It runs on virtual time, so that requests, reconciles and
bytes are the same in each run. `costs.json` has the figures; to write them anew, type
`python -m tests.stories.costs` and commit the difference with the change that explains it.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine_deployment import MachineDeployment
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.cluster_progress import is_complete
from kapy.apps.settings import Settings
from kapy.client.intercept import Interceptor, RequestCounter
from kapy.kube import Document, Key
from kapy.kube.http import Reply, Request, Transport
from kapy.kube.model import encode
from kapy.testing.story import Story
from kapy.testing.virtual_time import VirtualTimeLoop
from tests.stories.plane import own_kinds, sample

FIGURES: Final = Path(__file__).with_name("costs.json")
CLUSTER: Final = "capybara"
WORKERS: Final = f"{CLUSTER}-md-0"
QUIET: Final = 20.0
Costs = dict[str, dict[str, dict[str, int]]]
"""By step: `requests` by verb and resource, `bytes` of their bodies, `reconciles` by controller."""

UNSTEADY: Final = (" secrets", " events")
"""Requests whose bodies are not measured: lengths of signatures and process names differ."""


class Meter(Interceptor):
    """Counts requests and the bytes of their bodies, by verb and resource."""

    __slots__ = ("bytes", "requests")

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.requests: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()

    async def __call__(self, request: Request) -> Reply:
        name = resource_of(request)
        self.requests[name] += 1
        if request.body is not None and not name.endswith(UNSTEADY):
            body = request.body
            size = len(body) if isinstance(body, bytes) else len(msgspec.json.encode(body))
            self.bytes[name] += size
        return await self.transport(request)


def resource_of(request: Request) -> str:
    """Verb, resource and subresource."""
    parts = request.path.strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    if parts[0] == "namespaces" and len(parts) > 2:
        parts = parts[2:]
    verb = "WATCH" if "watch" in request.query else request.method
    return " ".join([verb, "/".join([parts[0], *parts[2:]])])


async def measure() -> Costs:
    """Play the story."""
    async with management_plane(Settings(), clock=loop_clock(), random=Random(0)) as plane:
        meter = _metered(plane)
        story = Story(plane.client, own_kinds())
        steps: dict[str, Callable[[], Awaitable[None]]] = {
            "create a cluster with 3 workers": lambda: create_cluster(story),
            "scale to 5 workers": lambda: _scale(story, 5),
            "scale to 1 worker": lambda: _scale(story, 1),
            "delete the cluster": lambda: delete_cluster(story),
        }
        await asyncio.sleep(QUIET)
        costs: Costs = {}
        for name, step in steps.items():
            before = _counts(meter, plane)
            await step()
            await asyncio.sleep(QUIET)
            after = _counts(meter, plane)
            costs[name] = {
                item: dict(sorted((count - before[item]).items())) for item, count in after.items()
            }
        return costs


def _counts(meter: Meter, plane: ManagementPlane) -> dict[str, Counter[str]]:
    controllers = plane.runtime.controllers
    return {
        "requests": Counter(meter.requests),
        "bytes": Counter(meter.bytes),
        "reconciles": Counter(
            {item.name: sum(item.counters.outcomes.values()) for item in controllers}
        ),
    }


def _objects() -> list[Document]:
    objects = sample()
    for document in objects:
        if document["kind"] == MachineDeployment.RESOURCE.kind:
            document["spec"]["replicas"] = 3
        elif document["kind"] == KubeadmControlPlane.RESOURCE.kind:
            configuration = document["spec"]["kubeadmConfigSpec"].setdefault(
                "clusterConfiguration", {}
            )
            configuration["encryptionAlgorithm"] = "ECDSA-P256"
    return objects


async def create_cluster(story: Story) -> None:
    """Create the cluster and wait until it is complete."""
    await story.create(_objects())
    await story.until(Cluster, CLUSTER, lambda cluster: is_complete(encode(cluster)))


async def _scale(story: Story, number: int) -> None:
    await story.client.patch(
        MachineDeployment, Key("default", WORKERS), {"spec": {"replicas": number}}
    )

    def is_settled(deployment: MachineDeployment) -> bool:
        status = deployment.status
        return {status.replicas, status.available_replicas} == {number}

    await story.until(MachineDeployment, WORKERS, is_settled)


async def delete_cluster(story: Story) -> None:
    """Delete the cluster and wait until it is gone."""
    await story.client.delete(Cluster, Key("default", CLUSTER))
    await story.until_gone(Cluster, CLUSTER)


def _metered(plane: ManagementPlane) -> Meter:
    """Measure what the controllers of a plane send from now on."""
    counter: Any = plane.runtime.client.transport
    while not isinstance(counter, RequestCounter):  # tracing is around it, where it is enabled
        counter = counter.transport
    counter.transport = meter = Meter(counter.transport)
    return meter


def _write() -> None:
    """Play the story and write its figures."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        costs = runner.run(measure())
    FIGURES.write_text(json.dumps(costs, indent=2) + "\n")


if __name__ == "__main__":
    _write()
